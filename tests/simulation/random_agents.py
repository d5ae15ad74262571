"""Random agents, checks and a freezing launcher for the simulation."""

from datetime import timedelta

import anyio

from allstop.core.asks import Ask
from allstop.core.moves import CheckResult, Failed, FailureKind, Item, TurnDone, Usage
from allstop.ports import Abilities
from allstop.testing.virtual_clock import LoopClock
from simulation.auditor import rule
from support.in_memory_world import FakeLauncher

STUBBORN_S = 8.0
SIGNALS = (
    *["going on"] * 8,
    *["<promise>COMPLETE</promise>"] * 4,
    "<questions>\n1. which?\n2. where?\n</questions>",
    "<plan>\n# A\n\n## B\n\n- c\n  - [ ] d\n  - check: e\n</plan>",
    *["<promise>PROGRESS: 50% half</promise>"] * 2,
    *["<promise>PENDING: which one?</promise>"] * 2,
    "<promise>BLOCKED: no key</promise>",
)
ENVELOPES = (
    *['{"message": "Let us go on."}', '{"message": "Another thought."}'] * 2,
    *(
        f'{{"message": "Over to you.", "handoff": {{"to": "{name}", "task": "edit"}}}}'
        for name in ("anna", "ben", "cleo", "nobody")
    ),
    '{"message": "Done.", "final": true}',
    "no envelope at all",
    " ",
)
REVIEWS = (
    '{"findings": []}',
    '{"findings": [{"severity": "serious", "file": "a.py", "line": 3, "claim": "It crashes."}]}',
    '{"findings": [{"severity": "note", "claim": "Hm."}], "summary": "Good."}',
    "It is fine.",
)
FAILURES = (
    *[FailureKind.NETWORK, FailureKind.RATE_LIMITED, FailureKind.OVERLOADED] * 3,
    FailureKind.USAGE_LIMITED,
    FailureKind.EXITED,
    FailureKind.CONTEXT,
)


class FreezingLauncher(FakeLauncher):
    """Starts no programs; work under a frozen label stops until it is thawed."""

    def __init__(self):
        super().__init__()
        self._thawed = anyio.Event()

    async def thaw(self, label):
        await super().thaw(label)
        self._thawed.set()
        self._thawed = anyio.Event()

    async def stand_still(self, label):
        while label in self.frozen:
            await self._thawed.wait()


class TurnRegistry:
    """The running turns of one process; checks the number of slots."""

    def __init__(self, slots, auditor):
        self._slots = slots
        self._auditor = auditor
        self._at_work = set()

    def was_answered(self, run, ask, allowed):
        self._auditor.was_answered(run, ask, allowed)

    async def take(self, turn, act, watch):
        rule(turn.run not in self._at_work, "one turn at a time in a run", turn.run)
        self._at_work.add(turn.run)
        works = [run for run in self._at_work if not run.startswith("room")]  # rooms need no slot
        rule(len(works) <= (self._slots or 10**9), "no more turns than slots", turn.run)
        result = Failed(kind=FailureKind.CRASHED, usage=Usage(input=turn.max_tokens))
        try:
            result = await act(turn, watch)
        finally:
            self._at_work.discard(turn.run)
            self._auditor.came_back(turn.run, result)
        return result


class RandomAgent:
    """Behaves randomly in each turn."""

    abilities = Abilities(resume=True, steer=True, asks=True, usage=True)

    def __init__(self, chance, launcher, hands):
        self._chance = chance
        self._launcher = launcher
        self._hands = hands

    async def take_turn(self, turn, watch):
        return await self._hands.take(turn, self._turn, watch)

    async def _turn(self, turn, watch):
        chance = self._chance
        if turn.thread is None and chance.random() < 0.5:
            await watch.opened(f"thread-{chance.randrange(10**6)}")
        mood = chance.choice(self.MOODS)
        done = await mood(self, turn, watch)
        return done or self._reply(turn)

    def _reply(self, turn):
        tokens = self._chance.randint(0, turn.max_tokens)
        used = Usage(input=tokens // 2, output=tokens - tokens // 2)
        sayings = SIGNALS if turn.prompt.talk is None else ENVELOPES
        if "Another agent has done the task" in turn.prompt.text:
            sayings = REVIEWS
        return TurnDone(text=self._chance.choice(sayings), thread=turn.thread or "t", usage=used)

    async def _sleep(self, turn, seconds):
        await anyio.sleep(seconds)
        await self._launcher.stand_still(turn.run)

    async def _is_quick(self, turn, watch):
        return None

    async def _is_slow(self, turn, watch):
        await self._sleep(turn, self._chance.uniform(1, 100))

    async def _listens(self, turn, watch):
        with anyio.move_on_after(self._chance.uniform(1, 300)):
            while True:
                await watch.words()
                await self._sleep(turn, self._chance.choice([0, 2]))
                await watch.reached()

    async def _crashes(self, turn, watch):
        await self._sleep(turn, self._chance.choice([0, 5]))
        raise RuntimeError("boom")

    async def _fails(self, turn, watch):
        await self._sleep(turn, self._chance.choice([0, 5]))
        used = Usage(input=self._chance.randint(0, turn.max_tokens))
        retry_at = None
        if self._chance.random() < 0.5:
            retry_at = LoopClock().now() + timedelta(seconds=self._chance.choice([-60, 30, 900]))
        kind = self._chance.choice(FAILURES)
        return Failed(kind=kind, message="it failed", retry_at=retry_at, usage=used)

    async def _asks(self, turn, watch):
        for _ in range(self._chance.choice([1, 1, 3])):
            ask = Ask(id=self._chance.choice("12"), argv=("rm", str(self._chance.random())))
            allowed = (await watch.ask(ask)).allows
            self._hands.was_answered(turn.run, ask, allowed)
            await watch.saw(self._item(f"allowed: {allowed}"))

    async def _is_silent(self, turn, watch):
        await anyio.sleep_forever()

    async def _talks(self, turn, watch):
        for number in range(self._chance.randint(1, 30)):
            await watch.saw(self._item(f"word {number}"))
            await self._sleep(turn, self._chance.choice([0, 0, 0.3, 5]))

    async def _talks_at_once(self, turn, watch):
        async with anyio.create_task_group() as group:
            for number in range(self._chance.randint(2, 5)):
                group.start_soon(watch.saw, self._item(f"voice {number}"))

    async def _is_stubborn(self, turn, watch):
        """Delays its cancellation and keeps sending messages."""
        await self._sleep(turn, self._chance.uniform(1, 40))
        with anyio.CancelScope(shield=True):
            await anyio.sleep(self._chance.uniform(0, STUBBORN_S))
            await watch.saw(self._item("stubborn word"))
        return self._reply(turn)

    def _item(self, text):
        return Item(kind="x", text=f"{text} at {anyio.current_time()}")

    MOODS = (
        *[_is_quick] * 4,
        *[_is_slow] * 4,
        *[_talks] * 2,
        *[_fails] * 2,
        _crashes,
        _asks,
        *[_listens] * 2,
        _is_silent,
        _talks_at_once,
        *[_is_stubborn] * 3,
    )

    async def close(self):
        pass


class RandomChecks:
    def __init__(self, chance, launcher):
        self._chance = chance
        self._launcher = launcher

    async def run(self, check, place, label, progress):
        await anyio.sleep(self._chance.uniform(0, 30))
        await self._launcher.stand_still(label)
        passed = self._chance.random() < 0.7
        return CheckResult(
            name=check.name,
            run=check.run,
            passed=passed,
            required=check.required,
            code=0 if passed else 1,
            output="all is well" if passed else "E  assert 1 == 2",
        )
