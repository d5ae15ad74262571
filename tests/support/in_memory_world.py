"""An engine in memory: listed agents, fake launcher, workspaces and checks, virtual time."""

import math
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
import anyio.lowlevel

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.core import run as runs
from allstop.core.asks import Ask
from allstop.core.events import Closed, MoveStarted
from allstop.core.moves import (
    Change,
    CheckpointMade,
    CheckResult,
    Delivered,
    Discarded,
    Failed,
    FailureKind,
    Integrated,
    Item,
    Landed,
    Surveyed,
    TakeTurn,
    TurnDone,
    Usage,
    WorkspaceOpen,
)
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import PILOTS
from allstop.ports import Abilities, Box, Candidate, Isolation, Live, MemoryExceeded, Subject
from allstop.testing.virtual_clock import LoopClock

DONE = "<promise>COMPLETE</promise>"


class ReceivesMessage(NamedTuple):
    """Waits for a person's message during the turn."""

    takes: bool = True
    after_s: float = 0.0


class ListedAgent:
    """Plays entries: a string is the answer, a number a sleep; failures, items and asks as given."""

    abilities = Abilities()

    def __init__(self, entries, then=None, tokens=10):
        self._entries = iter(entries)
        self._then = then
        self._tokens = tokens
        self.heard = []
        self.told = []

    async def take_turn(self, turn, watch):  # noqa: C901 - one case for each kind of entry
        self.heard.append(turn)
        for entry in self._entries:
            match entry:
                case str():
                    return self._said(turn, entry)
                case TurnDone() | Failed():
                    return entry
                case Item():
                    await watch.saw(entry)
                case Live():
                    watch.live(entry)
                case Ask():
                    answer = await watch.ask(entry)
                    await watch.saw(Item(kind="answer", text=f"{entry.id}: {answer.allows}"))
                case ReceivesMessage():
                    self.told.append(await watch.words())
                    await anyio.sleep(entry.after_s)
                    if entry.takes:
                        await watch.reached()
                case BaseException():
                    raise entry
                case _:
                    await anyio.sleep(entry)
        if self._then is None:
            raise AssertionError("the list is over")
        return self._said(turn, self._then(turn))

    def _said(self, turn, text):
        tokens = min(self._tokens, turn.max_tokens or self._tokens)
        return TurnDone(text=text, thread=turn.thread or "t1", usage=Usage(output=tokens))

    async def close(self):
        pass


class FakeLauncher:
    """Starts no programs; records its calls."""

    isolation = Isolation(boxed=True, allowed=True, how="on paper")

    def __init__(self):
        self.frozen = set()
        self.ended = {}  # programs ended by the kernel: reason by label
        self.put_down = []
        self._heavy = []
        self._called = anyio.Event()

    def report_memory(self, label, why):
        self._heavy.append(MemoryExceeded(label, why))
        self._called.set()

    def out_of_memory(self, label):
        return self.ended.pop(label, "")

    async def memory_exceeded(self):
        if not self._heavy:
            self._called = anyio.Event()
            await self._called.wait()
        return self._heavy.pop()

    async def freeze(self, label):
        self.frozen.add(label)

    async def thaw(self, label):
        self.frozen.discard(label)

    def kill(self, label):
        pass

    def killed(self, label=""):
        told = tuple(each for each in self.put_down if each.label.startswith(label))
        self.put_down = [each for each in self.put_down if each not in told]
        return told


class FakeWorkspaces:
    def __init__(self):
        self.opened = {}
        self.commits = {}
        self.delivered = {}
        self.tips = {}
        self.seen = {}  # the target's tip in each workspace
        self.landed = []
        self.checkpoints = {}
        self.trouble = {}
        self.check_every_s = math.inf
        self.short = ""
        self.grown = {}  # reason by workspace
        self.candidate_grown = {}  # the same for the clone of the checks
        self.dropped = []
        self.discarded = []

    async def open(self, workspace, target, label, *, onto="", stash=False, given=""):
        if self.trouble.get("open"):
            return self.trouble["open"].pop(0)
        if onto or workspace not in self.opened:
            self.seen[workspace] = self.tips.get(target, "base")
        self.opened[workspace] = target
        return WorkspaceOpen(base="base", conflicts=("same.txt",) if onto else (), stashed=stash)

    def box_of(self, workspace):
        return Box(home="/home", workspace=f"/w/{workspace}")

    def shortage(self):
        return self.short

    async def over_limit(self, workspace):
        return self.grown.get(workspace, "")

    async def candidate_over_limit(self, workspace):
        return self.candidate_grown.get(workspace, "")

    async def drop_candidate(self, workspace):
        self.candidate_grown.pop(workspace, None)
        self.dropped.append(workspace)

    async def keep(self, workspace, label, *, message="", uncommitted=False):
        number = self.commits[workspace] = self.commits.get(workspace, 0) + 1
        return Change(head=f"c{number}", commits=number, files=1)

    async def subject(self, workspace, label, *, commit="", base="", follows=""):
        if follows and self.tips.get(follows, "base") != self.seen.get(workspace, "base"):
            return Failed(kind=FailureKind.MOVED)
        made = commit or f"{workspace}-{self.commits.get(workspace, 0)}"
        return Subject("base", made, f"tree of {made}")

    async def candidate(self, workspace, label, *, commit="", base="", follows="", restore=()):
        box = Box(home="/clean", workspace=f"/clean/{workspace}")
        work = await self.subject(workspace, label, commit=commit, follows=follows)
        return work if isinstance(work, Failed) else Candidate(box, *work)

    async def contents(self, work):
        return ()

    async def changes(self, work):
        return ()

    async def integrate(self, workspace, target, message, label, *, onto=""):
        if self.trouble.get("integrate"):
            return self.trouble["integrate"].pop(0)
        tip = onto or self.tips.get(target, "base")
        made = f"{tip}+{workspace}"
        return Integrated(tip=tip, commit=made, tree=f"tree of {made}")

    async def survey(self, workspace, target):
        if self.trouble.get("survey"):
            return self.trouble["survey"].pop(0)
        commit = f"c{self.commits[workspace]}" if workspace in self.commits else "base"
        return Surveyed(commit=commit, paths=("README.md",))

    async def discard(self, workspace):
        self.discarded.append(workspace)
        return Discarded()

    async def make_checkpoint(self, name, target):
        if self.trouble.get("make_checkpoint"):
            return self.trouble["make_checkpoint"].pop(0)
        self.checkpoints[name] = self.tips.get(target, "base")
        return CheckpointMade(checkpoint=name, commit=self.checkpoints[name])

    async def revert(self, commit, target, message):
        tip = self.tips[target]
        return Integrated(tip=tip, commit=f"{tip}-{commit}", tree=f"tree of {tip}-{commit}")

    async def land(self, target, tip, commit):
        if self.trouble.get("land"):
            return self.trouble["land"].pop(0)
        if commit in self.landed:
            return Landed(commit=commit)
        if self.tips.get(target, "base") != tip:
            return Failed(kind=FailureKind.MOVED)
        self.tips[target] = commit
        self.landed.append(commit)
        return Landed(commit=commit)

    async def deliver(self, workspace, branch, label):
        assert branch not in self.delivered, "delivered twice"
        self.delivered[branch] = f"c{self.commits[workspace]}"
        return Delivered(branch=branch, commit=self.delivered[branch])


class FakeChecks:
    def __init__(self):
        self.codes = {}
        self.ran = []
        self.takes_s = 1.0

    async def run(self, check, place, label, progress):
        self.ran.append(check.run)
        await anyio.sleep(self.takes_s)
        code = self.codes[check.run].pop(0) if self.codes.get(check.run) else 0
        return CheckResult(
            name=check.name, run=check.run, passed=code == 0, required=check.required, code=code
        )


class InMemoryWorld:
    def __init__(self, journal=None, pilots=PILOTS, slots=None):
        self.journal = journal or MemoryJournal()
        self.pilots = pilots
        self.slots = slots
        self.agents = {}
        self.launcher = FakeLauncher()
        self.workspaces = FakeWorkspaces()
        self.checks = FakeChecks()
        self.shown = []

    def agent(self, name, *entries, then=None, tokens=10):
        self.agents[name] = ListedAgent(entries, then, tokens)
        return self.agents[name]

    def engine(self):
        hands = Hands(
            self.agents, checks=self.checks, workspaces=self.workspaces, launcher=self.launcher
        )
        engine = LocalEngine(
            journal=self.journal,
            hands=hands,
            clock=LoopClock(),
            pilots=self.pilots,
            launcher=self.launcher,
            slots=self.slots,
        )
        engine.view(lambda run, live: self.shown.append((run, live)))
        return engine

    @asynccontextmanager
    async def running(self):
        async with self.engine().serving() as engine:
            yield engine

    async def resume_all(self, engine):
        for head in await self.journal.heads():
            if not head.closed and head.parent is None:
                await engine.take(head.run)

    async def events(self, run):
        return [record.event for record in await self.journal.read(run)]

    async def outcome(self, run):
        return [e.outcome for e in await self.events(run) if isinstance(e, Closed)]

    async def state(self, run):
        events = await self.events(run)
        return runs.fold(self.pilots[events[0].kind], events)


def task(goal="do it", agents=("cli",), **more):
    """The spec of a task without a repository."""
    return {"task": "t", "goal": goal, "agents": list(agents), **more}


def turns(events):
    return [
        e.move.agent for e in events if isinstance(e, MoveStarted) and isinstance(e.move, TakeTurn)
    ]


def moves(events):
    return [type(e.move).__name__ for e in events if isinstance(e, MoveStarted)]
