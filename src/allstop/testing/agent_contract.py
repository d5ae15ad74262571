"""The contract tests that every agent driver must pass.

Subclass `AgentContract` and define two fixtures. `agents` is a function from a `Behaviour` to an
agent that behaves so. `place` is the box it works in, or None for an agent without a workspace.
Tests skip what a driver's abilities exclude.
"""

from collections import deque
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.core.asks import Answer, Ask, Permission
from allstop.core.ids import RunId
from allstop.core.moves import LIMITED, Failed, FailureKind, Item, TurnDone
from allstop.core.prompt import prompt
from allstop.ports import Agent, Box, Live, Turn


class Behaviour(StrEnum):
    SAYS_WORD = "replies zebra"
    ECHOES_LENGTH = "replies with the number of characters in the prompt"
    WRITES_FILE = "writes made.txt in its workspace"
    FAILS = "fails with the message: out of cheese"
    LIMITED = "is at its rate limit"
    LIMITED_FOR_HOURS = "is at its limit, which it says ends in two hours"
    HANGS = "prints begun, starts a process that keeps writing to beat.txt, and never ends"
    FLOODS = "replies 20 MB, then zebra"
    GARBLES = "replies invalid UTF-8, then zebra"
    COUNTS = "replies turn 1, turn 2, … in one conversation"
    ASKS = "asks whether it may run `make install`, and replies allowed or denied"
    HEARS = "prints begun, waits for heard.txt, and replies with the messages it got meanwhile"
    USES = "uses 100 tokens of input and 20 of output"


Agents = Callable[[Behaviour], Agent]

LIMIT, MINUTE = timedelta(hours=2), timedelta(minutes=1)


class RecordingWatch:
    """A watch that records every call."""

    def __init__(
        self, *, allows: bool = False, answers: tuple[str, ...] = (), message: str = ""
    ) -> None:
        leave = Permission.ALLOW if allows else Permission.DENY
        self.answer = Answer(leave=leave, answers=answers, message=message, by="an onlooker")
        self.lives: list[Live] = []
        self.items: list[Item] = []
        self.asks: list[Ask] = []
        self.threads: list[str] = []
        self.live_seen = anyio.Event()
        self.delivered: list[str] = []  # messages that reached the agent during the turn
        self._messages: deque[str] = deque()
        self._message_added = anyio.Event()

    def say(self, *words: str) -> None:
        """Send messages to the agent during its turn."""
        self._messages += words
        self._message_added.set()

    def live(self, live: Live) -> None:
        if len(self.lives) < 10_000:
            self.lives.append(live)
        self.live_seen.set()

    async def opened(self, thread: str) -> None:
        self.threads.append(thread)

    async def saw(self, item: Item) -> None:
        self.items.append(item)

    async def words(self) -> str:
        while not self._messages:
            self._message_added = anyio.Event()
            await self._message_added.wait()
        return self._messages[0]

    async def reached(self) -> None:
        self.delivered.append(self._messages.popleft())

    async def ask(self, ask: Ask) -> Answer:
        self.asks.append(ask)
        return self.answer


def turn(
    place: Box | None, text: str = "hello", thread: str | None = None, *, fork: bool = False
) -> Turn:
    return Turn(run=RunId("contract"), prompt=prompt(text), place=place, thread=thread, fork=fork)


class AgentContract:
    async def test_k10_it_answers_and_is_shown_while_it_happens(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10: a successful turn is TurnDone with the agent's text, which was shown live before."""
        watch = RecordingWatch()

        result = await agents(Behaviour.SAYS_WORD).take_turn(turn(place), watch)

        assert isinstance(result, TurnDone)
        assert result.text.strip() == "zebra"
        assert "zebra" in "".join(live.text for live in watch.lives)

    async def test_the_whole_prompt_arrives(self, agents: Agents, place: Box | None) -> None:
        text = "é" * 70_000 + "\n'\"$(x)`\\"

        result = await agents(Behaviour.ECHOES_LENGTH).take_turn(
            turn(place, text), RecordingWatch()
        )

        assert isinstance(result, TurnDone), result
        assert str(len(text)) in result.text

    async def test_its_work_is_in_the_workspace(self, agents: Agents, place: Box | None) -> None:
        if place is None:
            return
        result = await agents(Behaviour.WRITES_FILE).take_turn(turn(place), RecordingWatch())

        assert isinstance(result, TurnDone), result
        assert place.workspace is not None
        assert (Path(place.workspace) / "made.txt").exists()

    async def test_k10_a_failure_is_a_value_with_its_reason(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10: an end is completed, interrupted, failed or limited, with a class."""
        result = await agents(Behaviour.FAILS).take_turn(turn(place), RecordingWatch())

        assert isinstance(result, Failed)
        assert result.kind not in LIMITED
        assert "out of cheese" in result.message

    async def test_k10_a_limit_is_told_from_other_failures(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10, P5: a limited agent is not a broken one."""
        result = await agents(Behaviour.LIMITED).take_turn(turn(place), RecordingWatch())

        assert isinstance(result, Failed)
        assert result.kind in LIMITED

    async def test_k10_a_limit_tells_when_it_ends(self, agents: Agents, place: Box | None) -> None:
        """K10, K13: to the minute, if the agent says when."""
        agent, clock = agents(Behaviour.LIMITED_FOR_HOURS), SystemClock()
        before = clock.now()

        result = await agent.take_turn(turn(place), RecordingWatch())

        assert isinstance(result, Failed)
        assert result.kind in LIMITED
        assert result.retry_at is not None
        earliest, latest = before - MINUTE + LIMIT, clock.now() + LIMIT + MINUTE
        assert earliest <= result.retry_at <= latest

    async def test_k10_cancelling_ends_it_and_all_it_started(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10, K2: every process has ended when the cancelled turn returns."""
        if place is None:
            return
        assert place.workspace is not None
        beat = Path(place.workspace) / "beat.txt"
        async with anyio.create_task_group() as group:
            group.start_soon(agents(Behaviour.HANGS).take_turn, turn(place), RecordingWatch())
            with anyio.fail_after(60):
                while not (beat.exists() and beat.stat().st_size):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

        with anyio.CancelScope(shield=True):
            size = beat.stat().st_size
            await anyio.sleep(0.3)
            assert beat.stat().st_size == size

    async def test_k10_cancelling_ends_it_at_once(self, agents: Agents, place: Box | None) -> None:
        """K10, K2: in the middle of its output."""
        watch = RecordingWatch()
        agent = agents(Behaviour.HANGS)
        async with anyio.create_task_group() as group:
            group.start_soon(agent.take_turn, turn(place), watch)
            with anyio.fail_after(60):
                await watch.live_seen.wait()
            began = anyio.current_time()
            group.cancel_scope.cancel()

        assert anyio.current_time() - began < 2

    async def test_k12_a_flood_neither_hangs_nor_bloats(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K12: the kept part of any output is bounded."""
        with anyio.fail_after(60):
            result = await agents(Behaviour.FLOODS).take_turn(turn(place), RecordingWatch())

        assert isinstance(result, TurnDone), result
        assert len(result.text) < 200_000
        assert result.text.rstrip().endswith("zebra")

    async def test_k12_bytes_that_are_no_text_are_survived(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K12: invalid UTF-8 is replaced, and the text around it is kept.

        From an API, it is an invalid reply.
        """
        result = await agents(Behaviour.GARBLES).take_turn(turn(place), RecordingWatch())

        if place is None and isinstance(result, Failed):
            assert result.kind is FailureKind.NETWORK
            return
        assert isinstance(result, TurnDone), result
        assert result.text.rstrip().endswith("zebra")

    async def test_k10_a_conversation_goes_on(self, agents: Agents, place: Box | None) -> None:
        """K10: resumed by another object, as after a restart."""
        if not agents(Behaviour.COUNTS).abilities.resume:
            return
        first = await agents(Behaviour.COUNTS).take_turn(turn(place), RecordingWatch())
        assert isinstance(first, TurnDone)
        second = await agents(Behaviour.COUNTS).take_turn(
            turn(place, thread=first.thread), RecordingWatch()
        )

        assert isinstance(second, TurnDone)
        assert (first.text.strip(), second.text.strip()) == ("turn 1", "turn 2")

    async def test_k10_a_copy_of_a_conversation_leaves_it_as_it_was(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10: both continue from the fork."""
        agent = agents(Behaviour.COUNTS)
        if not agent.abilities.fork:
            return
        first = await agent.take_turn(turn(place), RecordingWatch())
        assert isinstance(first, TurnDone), first
        copy = await agent.take_turn(turn(place, thread=first.thread, fork=True), RecordingWatch())
        assert isinstance(copy, TurnDone), copy
        results = [
            await agent.take_turn(turn(place, thread=thread), RecordingWatch())
            for thread in (first.thread, copy.thread)
        ]

        said = [each.text.strip() if isinstance(each, TurnDone) else each for each in results]
        assert copy.text.strip() == "turn 2"
        assert copy.thread != first.thread
        assert said == ["turn 2", "turn 3"]

    async def test_k10_a_driver_without_conversations_cannot_fork(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10: it neither starts another conversation nor continues the given one."""
        agent = agents(Behaviour.SAYS_WORD)
        if agent.abilities.fork:
            return

        result = await agent.take_turn(turn(place, thread="any", fork=True), RecordingWatch())

        assert isinstance(result, Failed)
        assert result.kind is FailureKind.BAD_REQUEST
        assert "can't fork a conversation" in result.message

    @pytest.mark.parametrize("word", ["allowed", "denied"])
    async def test_f5_it_asks_before_it_does(
        self, agents: Agents, place: Box | None, word: str
    ) -> None:
        """F5, K10: the answer reaches the agent."""
        agent = agents(Behaviour.ASKS)
        if not agent.abilities.asks:
            return
        watch = RecordingWatch(allows=word == "allowed")

        result = await agent.take_turn(turn(place), watch)

        assert isinstance(result, TurnDone)
        assert word in result.text
        assert [ask.argv for ask in watch.asks] == [("make", "install")]

    async def test_k10_a_message_reaches_it_at_once_and_only_once(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10, B20: a person's message during a turn reaches the agent, if the driver supports it."""
        agent = agents(Behaviour.HEARS)
        if not agent.abilities.steer or place is None:
            return
        assert place.workspace is not None
        watch, results = RecordingWatch(), list[TurnDone | Failed]()

        async def take() -> None:
            results.append(await agent.take_turn(turn(place), watch))

        async with anyio.create_task_group() as group:
            group.start_soon(take)
            with anyio.fail_after(30):
                await watch.live_seen.wait()
                watch.say("aardvark")
                while not (watch.delivered or results):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            (Path(place.workspace) / "heard.txt").touch()

        (result,) = results
        assert isinstance(result, TurnDone), result
        assert "aardvark" in result.text
        assert watch.delivered == ["aardvark"]

    async def test_k10_a_driver_that_cannot_be_steered_leaves_the_messages(
        self, agents: Agents, place: Box | None
    ) -> None:
        """K10, B20: the messages don't count as delivered, so the next prompt contains them."""
        agent = agents(Behaviour.SAYS_WORD)
        if agent.abilities.steer:
            return
        watch = RecordingWatch()
        watch.say("aardvark")

        await agent.take_turn(turn(place), watch)

        assert watch.delivered == []

    async def test_k10_what_it_used_is_reported(self, agents: Agents, place: Box | None) -> None:
        """K10: the usage is that of this turn."""
        agent = agents(Behaviour.USES)
        if not agent.abilities.usage:
            return

        result = await agent.take_turn(turn(place), RecordingWatch())

        assert isinstance(result, TurnDone)
        assert (result.usage.input, result.usage.output) == (100, 20)

    async def test_it_can_be_closed_twice(self, agents: Agents) -> None:
        agent = agents(Behaviour.SAYS_WORD)

        await agent.close()
        await agent.close()
