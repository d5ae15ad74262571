"""Carries out one move. Knows nothing of pilots or journals."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar, assert_never

import anyio
from msgspec.structs import replace as with_

from allstop.core.ids import RunId
from allstop.core.moves import (
    Deliver,
    Failed,
    FailureKind,
    Integrate,
    Integrated,
    Land,
    OpenWorkspace,
    Result,
    Revert,
    RunChecks,
    Spawn,
    Survey,
    TakeTurn,
    TurnDone,
    Usage,
    Work,
    WorkspaceOpen,
)
from allstop.engine.activity_watch import Heard
from allstop.engine.cancel_scope import CancelHandle
from allstop.engine.checks import Checking
from allstop.engine.deadlines import Deadlines, Timekeeper
from allstop.engine.disk_watch import Space
from allstop.engine.move_watch import Words
from allstop.engine.tool_adviser import Advising
from allstop.ports import Agents, Checks, Gates, Launcher, Turn, Watch, Workspaces

T = TypeVar("T")


class Cleaner(Protocol):
    """Takes secrets out of what comes from outside, before anybody sees or keeps it."""

    def __call__(self, value: T) -> T: ...


class Hands:
    def __init__(
        self,
        agents: Agents,
        *,
        checks: Checks | None = None,
        workspaces: Workspaces | None = None,  # where there is no repository
        launcher: Launcher,
        gates: Gates | None = None,  # where whoever starts a run knows its gate for good
        clean: Cleaner = lambda value: value,
        unverified: Callable[[], str] = str,  # what is said where there is nothing to check by
        words: Callable[[], Words] | None = None,  # the same for what is shown as it comes
    ) -> None:
        self.clean = clean
        self.words = words
        self._agents = agents
        self._trees = workspaces
        self._space = Space(workspaces) if workspaces else None
        self._gate = (
            Checking(checks, workspaces, launcher, unverified, self._space)
            if checks and workspaces and self._space
            else None
        )
        self._gates = gates
        self._launcher = launcher
        self._times = Timekeeper()
        self._deadlines: dict[RunId, Deadlines] = {}
        self._frozen: set[RunId] = set()
        self._held_s: dict[RunId, float] = {}  # how long the last move of a run was held, if it was
        self._advice: dict[RunId, Advising] = {}  # of turns that are under way or were cut

    async def perform(
        self,
        run: RunId,
        move: Work,
        watch: Watch,
        within_s: float,
        cancel_handle: CancelHandle | None = None,
        most: Usage | None = None,
    ) -> Result | None:
        """Do it, within a time that the run's own limits give; None when it was cut.

        Where it runs out of time and nobody knows what it used, `most` counts.

        Cancelling ends what was started. Whoever has many moves done gives a leash of their own.
        """
        result: Result | None = None
        with cancel_handle or anyio.CancelScope() as scope:
            most_s, idle_s = _times_of(move, within_s)
            deadlines = self._deadlines[run] = self._times.begin(most_s, idle_s, scope)
            if run in self._frozen:
                deadlines.hold()
            try:
                result = self._short(move) or await self._do(run, move, Heard(watch, deadlines))
                if isinstance(result, Failed):
                    result = self._with_cause(run, result)
            finally:
                self._times.end(deadlines)
                if deadlines.was_held:
                    self._held_s[run] = round(deadlines.held_s, 3)
                del self._deadlines[run]
        if result is None and not deadlines.was_cut:
            used = self.advised(run) if most is None else most
            return await self._after_time(run, move, deadlines, within_s, used)
        return result

    def advised(self, run: RunId) -> Usage:
        """What the advice for a turn used that was cut."""
        advising = self._advice.pop(run, None)
        return advising.used if advising else Usage()

    def held_s(self, run: RunId) -> float:
        """How long the move that was just done was frozen or waited for a person."""
        return self._held_s.pop(run, 0.0)

    async def keep_time(self) -> None:
        """Runs until cancelled: while it does, moves that take too long, or too much room or
        memory, are cut off.
        """
        async with anyio.create_task_group() as group:
            if self._space is not None:
                group.start_soon(self._space.keep)
            group.start_soon(self._mind_memory)
            await self._times.keep()

    async def _mind_memory(self) -> None:
        while True:
            label, why = await self._launcher.memory_exceeded()
            if (deadlines := self._deadlines.get(RunId(label))) is not None:
                deadlines.call_off(FailureKind.OUT_OF_MEMORY, why)

    def cut(self, run: RunId) -> None:
        """End what is being done for this run, now."""
        if run in self._deadlines:
            self._deadlines[run].cut()

    @property
    def _workspaces(self) -> Workspaces:
        assert self._trees is not None, "who has no repository is asked for no work in one"
        return self._trees

    @property
    def _checking(self) -> Checking:
        assert self._gate is not None, "nor to have it checked"
        return self._gate

    def _short(self, move: Work) -> Failed | None:
        """No work begins where there is no room for it."""
        match move:
            case TakeTurn(workspace=None):
                return None
            case TakeTurn() | OpenWorkspace():
                why = self._workspaces.shortage()
                return Failed(kind=FailureKind.OUT_OF_ROOM, message=why) if why else None
            case _:
                return None

    def _with_cause(self, run: RunId, failed: Failed) -> Failed:
        """Whoever was told only that its program was killed can't know why."""
        why = self._launcher.out_of_memory(run)
        return with_(failed, kind=FailureKind.OUT_OF_MEMORY, message=why) if why else failed

    def _do(self, run: RunId, move: Work, watch: Heard) -> Awaitable[Result]:
        match move:
            case TakeTurn():
                return self._take_turn(run, move, watch)
            case RunChecks():
                return self._checking.run(run, move, watch)
            case OpenWorkspace():
                return self._open(run, move, watch)
            case Integrate():
                made = self._workspaces.integrate(move.workspace, move.target, move.message, run)
                return self._with_gate(move.target, made)
            case Revert():
                made = self._workspaces.revert(move.commit, move.target, move.message)
                return self._with_gate(move.target, made)
            case Land():
                return self._workspaces.land(move.target, move.tip, move.commit)
            case Deliver():
                return self._workspaces.deliver(move.workspace, move.branch, run)
            case Survey():
                return self._workspaces.survey(move.workspace, move.target)
            case Spawn():
                raise AssertionError("the drive itself opens child runs")
        assert_never(move)

    async def _open(self, run: RunId, move: OpenWorkspace, watch: Heard) -> Result:
        opening = self._workspaces.open(
            move.workspace,
            move.target,
            run,
            onto=move.onto,
            stash=move.stash,
            given=move.given,
        )
        with self._room_watched(run, move.workspace, watch):
            return await self._with_gate(move.target, opening)

    def _room_watched(
        self, run: RunId, workspace: str | None, watch: Heard
    ) -> AbstractContextManager[None]:
        if self._space is None or workspace is None:
            return nullcontext()
        look = self._workspaces.over_limit
        return self._space.watched(run, workspace, watch.deadlines, look)

    async def _with_gate(
        self, target: str, asked: Awaitable[WorkspaceOpen | Integrated | Failed]
    ) -> Result:
        """Work is held to the gate of the branch it goes to, as that is by now: what has landed
        since the run began may have changed it.
        """
        result = await asked
        if self._gates is None or isinstance(result, Failed):
            return result
        return with_(result, gate=await self._gates(target))

    async def _after_time(
        self, run: RunId, move: Work, deadlines: Deadlines, within_s: float, used: Usage
    ) -> Result | None:
        """A turn that ran out of time may have left work behind."""
        failed = _ran_out(deadlines, move, within_s, used)
        if not isinstance(move, TakeTurn) or move.workspace is None:
            return failed
        with anyio.CancelScope() as scope:
            self._deadlines[run] = Deadlines(self._times, math.inf, math.inf, scope)
            try:
                return await self._keep(run, move.workspace, failed)
            finally:
                del self._deadlines[run]
        return None

    def forget_killed(self, run: RunId) -> None:
        """What was put down of it belongs to no receipt."""
        self._launcher.killed(run)

    async def freeze(self, run: RunId) -> None:
        self._frozen.add(run)
        if run in self._deadlines:
            self._deadlines[run].hold()
        await self._launcher.freeze(run)

    async def thaw(self, run: RunId) -> None:
        self._frozen.discard(run)
        held = self._deadlines.get(run)
        await self._launcher.thaw(run)
        if held is not None:
            held.release()

    async def _take_turn(self, run: RunId, move: TakeTurn, watch: Heard) -> Result:
        if (agent := self._agents.get(move.agent)) is None:
            return Failed(kind=FailureKind.BAD_REQUEST, message=f"no agent named {move.agent!r}")
        turn = Turn(
            run=run,
            prompt=move.prompt,
            place=self._workspaces.box_of(move.workspace) if move.workspace else None,
            thread=move.thread,
            asks_first=move.asks_first,
            idle_s=move.idle_s,
            max_tokens=move.max_tokens,
        )
        advising = self._advising(run, move, watch) if move.adviser else None
        if advising is not None:
            self._advice[run] = advising
        with self._room_watched(run, move.workspace, watch):
            result = await agent.take_turn(turn, advising or watch)
        if advising is not None:
            result = advising.charged(result)
            del self._advice[run]
        if move.workspace is None:
            return result
        watch.deadlines.relax()  # the agent's time is over
        return await self._keep(run, move.workspace, result)

    def _advising(self, run: RunId, move: TakeTurn, watch: Heard) -> Advising | None:
        adviser = self._agents.get(move.adviser.agent) if move.adviser else None
        return Advising(watch, adviser, run, move) if adviser else None

    async def _keep(self, run: RunId, workspace: str, result: TurnDone | Failed) -> Result:
        """What the agent left uncommitted is its work too, also when it failed."""
        change = await self._workspaces.keep(workspace, run)
        if isinstance(change, Failed):
            return result if isinstance(result, Failed) else with_(change, usage=result.usage)
        return with_(result, change=change)


def _times_of(move: Work, within_s: float) -> tuple[float, float]:
    """How long it may last, and how long it may be silent."""
    if isinstance(move, TakeTurn):
        return min(move.timeout_s, within_s), move.idle_s
    if isinstance(move, RunChecks) and move.timeout_s is not None:
        return min(move.timeout_s, within_s), math.inf
    return within_s, math.inf


def _ran_out(deadlines: Deadlines, move: Work, within_s: float, used: Usage) -> Failed:
    if deadlines.why:
        return Failed(kind=deadlines.kind, message=deadlines.why, usage=used)
    if isinstance(move, RunChecks) and move.timeout_s is not None and move.timeout_s <= within_s:
        message = f"the checks were not done after {move.timeout_s:g} s"
        return Failed(kind=FailureKind.TIMED_OUT, message=message)
    if not isinstance(move, TakeTurn):
        return Failed(kind=FailureKind.TIMED_OUT, message="the run's time was up")
    if deadlines.stalled:
        message = f"no sign of life for {move.idle_s:g} s"
        return Failed(kind=FailureKind.STALLED, message=message, usage=used)
    seconds = min(move.timeout_s, within_s)
    message = f"not done after {seconds:g} s"
    return Failed(kind=FailureKind.TIMED_OUT, message=message, usage=used)
