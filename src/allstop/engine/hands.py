"""The hands: perform one move. They know neither pilots nor journals."""

import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar, assert_never

import anyio
from msgspec.structs import replace as with_

from allstop.core.context_window import CHARS_PER_TOKEN, estimate
from allstop.core.ids import RunId
from allstop.core.moves import (
    Commit,
    Committed,
    Compaction,
    Deliver,
    Discard,
    EndSprint,
    Failed,
    FailureKind,
    Integrate,
    Integrated,
    Item,
    Land,
    MakeCheckpoint,
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
    checked_usage,
)
from allstop.core.text import last_line
from allstop.engine.call_account import TurnAccount
from allstop.engine.cancel_scope import CancelHandle
from allstop.engine.change_notes import SettingsProblem, no_problem
from allstop.engine.checks import CheckRunner
from allstop.engine.deadlines import ActivityWatch, Deadlines, DeadlineTimer
from allstop.engine.disk_watch import DiskWatch
from allstop.engine.move_watch import TextStream
from allstop.engine.tool_adviser import ToolAdviser
from allstop.ports import (
    Agents,
    Box,
    Checks,
    Gates,
    HeldOut,
    Launcher,
    Receipts,
    Reports,
    TokenCap,
    Turn,
    Unready,
    Watch,
    Workspaces,
)

T = TypeVar("T")


class Cleaner(Protocol):
    """Removes secrets from outside values before they are shown or stored."""

    def __call__(self, value: T) -> T: ...


class Hands:
    def __init__(
        self,
        agents: Agents,
        *,
        checks: Checks | None = None,
        workspaces: Workspaces | None = None,  # None without a repository
        launcher: Launcher,
        gates: Gates | None = None,  # None if a run's gate never changes
        clean: Cleaner = lambda value: value,
        unverified: Callable[[], str] = str,  # the warning if there are no checks
        words: Callable[[], TextStream] | None = None,  # removes secrets from streamed text
        settings_problem: SettingsProblem = no_problem,
        receipts: Receipts | None = None,
        reports: Reports | None = None,
        held_out: HeldOut | None = None,
        compares: bool = True,  # work with the target's tests, where the test runner is known
    ) -> None:
        self.clean = clean
        self.words = words
        self._agents = agents
        self._optional_workspaces = workspaces
        self._disk_watch = DiskWatch(workspaces) if workspaces else None
        self._gate = (
            CheckRunner(
                checks,
                workspaces,
                launcher,
                unverified,
                self._disk_watch,
                settings_problem,
                receipts,
                reports,
                held_out,
                compares=compares,
            )
            if checks and workspaces and self._disk_watch
            else None
        )
        self._gates = gates
        self._launcher = launcher
        self._timer = DeadlineTimer()
        self._deadlines: dict[RunId, Deadlines] = {}
        self._frozen: set[RunId] = set()
        self._held_s: dict[RunId, float] = {}  # how long each run's last move was held
        self._advice: dict[RunId, ToolAdviser] = {}  # of running and cut turns
        self._accounts: dict[RunId, TurnAccount] = {}  # of each run's last turn

    async def perform(
        self,
        run: RunId,
        move: Work,
        watch: Watch,
        within_s: float,
        cancel_handle: CancelHandle | None = None,
        most: Usage | None = None,
    ) -> Result | None:
        """Perform a move within the run's remaining time; None if it was cut.

                `most` is the usage charged if the move times out and its usage is unknown. Cancelling ends all
        started work. A caller with many moves passes its own cancel handle.
        """
        result: Result | None = None
        with cancel_handle or anyio.CancelScope() as scope:
            most_s, idle_s = _limits_of(move, within_s)
            deadlines = self._deadlines[run] = self._timer.begin(most_s, idle_s, scope)
            if run in self._frozen:
                deadlines.hold()
            try:
                result = self._space_shortage(move) or await self._do(
                    run, move, ActivityWatch(watch, deadlines)
                )
                if isinstance(result, Failed):
                    result = self._with_cause(run, result)
            finally:
                self._timer.end(deadlines)
                if deadlines.was_held:
                    self._held_s[run] = round(deadlines.held_s, 3)
                del self._deadlines[run]
        if result is None and not deadlines.was_cut:
            used = self.known_usage(run) if most is None else most
            return await self._after_time(run, move, deadlines, within_s, used)
        return result

    def capped(self, move: TakeTurn, tokens: int | None) -> TakeTurn:
        """The turn, ended after the model call that uses up the budget, if its agent can do that."""
        agent = self._agents.get(move.agent) if tokens is not None else None
        if agent is None or agent.abilities.token_cap is not TokenCap.AFTER:
            return move
        return with_(move, max_tokens=max(1, tokens or 0))

    def give_account(self, run: RunId, account: TurnAccount) -> None:
        """Give the run's next turn the account that pays for its model calls."""
        self._accounts[run] = account

    def known_usage(self, run: RunId) -> Usage:
        """What a turn that was cut is known to have used, the advice for it included."""
        tool_adviser, account = self._advice.pop(run, None), self._accounts.get(run)
        used = tool_adviser.used if tool_adviser else Usage()
        return used.plus(account.calls.most) if account else used

    def held_s(self, run: RunId) -> float:
        """Seconds for which the last move was frozen or waited for a person."""
        return self._held_s.pop(run, 0.0)

    async def keep_time(self) -> None:
        """Call off moves that exceed their time, disk space or memory, until cancelled."""
        async with anyio.create_task_group() as group:
            if self._disk_watch is not None:
                group.start_soon(self._disk_watch.keep)
            group.start_soon(self._watch_memory)
            await self._timer.keep()

    async def _watch_memory(self) -> None:
        while True:
            label, why = await self._launcher.memory_exceeded()
            if (deadlines := self._deadlines.get(RunId(label))) is not None:
                deadlines.call_off(FailureKind.OUT_OF_MEMORY, why)

    def cut(self, run: RunId) -> None:
        """Cancel the run's current move now."""
        if run in self._deadlines:
            self._deadlines[run].cut()

    @property
    def _workspaces(self) -> Workspaces:
        assert self._optional_workspaces is not None, (
            "a run without a repository has no workspace moves"
        )
        return self._optional_workspaces

    @property
    def _check_runner(self) -> CheckRunner:
        assert self._gate is not None, "a run without a repository has no checks"
        return self._gate

    def _space_shortage(self, move: Work) -> Failed | None:
        """A failure if the disk has no space for the move."""
        match move:
            case TakeTurn(workspace=None):
                return None
            case TakeTurn() | OpenWorkspace():
                why = self._workspaces.shortage()
                return Failed(kind=FailureKind.OUT_OF_ROOM, message=why) if why else None
            case _:
                return None

    def _with_cause(self, run: RunId, failed: Failed) -> Failed:
        """Add the launcher's reason for killing a program, which the agent doesn't know."""
        why = self._launcher.out_of_memory(run)
        return with_(failed, kind=FailureKind.OUT_OF_MEMORY, message=why) if why else failed

    def _do(  # noqa: C901 - one case for each kind of move
        self, run: RunId, move: Work, watch: ActivityWatch
    ) -> Awaitable[Result]:
        match move:
            case TakeTurn():
                return self._take_turn(run, move, watch)
            case RunChecks():
                return self._check_runner.run(run, move, watch)
            case OpenWorkspace():
                return self._open(run, move, watch)
            case Commit():
                return self._commit(run, move)
            case Integrate():
                made = self._workspaces.integrate(
                    move.workspace, move.target, move.message, run, onto=move.onto
                )
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
            case Discard():
                return self._workspaces.discard(move.workspace)
            case MakeCheckpoint():
                return self._workspaces.make_checkpoint(move.checkpoint, move.target)
            case Spawn() | EndSprint():
                raise AssertionError("the drive records such moves itself")
        assert_never(move)

    async def _open(self, run: RunId, move: OpenWorkspace, watch: ActivityWatch) -> Result:
        opening = self._workspaces.open(
            move.workspace,
            move.target,
            run,
            onto=move.onto,
            stash=move.stash,
            given=move.given,
        )
        with self._disk_watched(move.workspace, watch):
            return await self._with_gate(move.target, opening)

    def _disk_watched(
        self, workspace: str | None, watch: ActivityWatch, *, in_copy: bool = False
    ) -> AbstractContextManager[None]:
        if self._disk_watch is None or workspace is None:
            return nullcontext()
        spaces = self._workspaces
        look = spaces.candidate_over_limit if in_copy else spaces.over_limit
        return self._disk_watch.watched(workspace, watch.deadlines, look)

    async def _with_gate(
        self, target: str, asked: Awaitable[WorkspaceOpen | Integrated | Failed]
    ) -> Result:
        """Add the target branch's current gate, which other merges may have changed."""
        result = await asked
        if self._gates is None or isinstance(result, Failed):
            return result
        return with_(result, gate=await self._gates(target))

    async def _after_time(
        self, run: RunId, move: Work, deadlines: Deadlines, within_s: float, used: Usage
    ) -> Result | None:
        """Save the work of a turn that ran out of time."""
        failed = _ran_out(deadlines, move, within_s, used)
        if not isinstance(move, TakeTurn) or move.workspace is None:
            return failed
        if move.discards or move.in_copy:
            return failed
        with anyio.CancelScope() as scope:
            self._deadlines[run] = Deadlines(self._timer, math.inf, math.inf, scope)
            try:
                return await self._save_work(run, move, move.workspace, failed)
            finally:
                del self._deadlines[run]
        return None

    def forget_killed(self, run: RunId) -> None:
        """Drop the killed programs of a run, so that no receipt lists them."""
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

    async def _take_turn(self, run: RunId, move: TakeTurn, watch: ActivityWatch) -> Result:
        if (agent := self._agents.get(move.agent)) is None:
            return Failed(kind=FailureKind.BAD_REQUEST, message=f"no agent named {move.agent!r}")
        place = await self._place_of(run, move)
        if isinstance(place, Failed):
            return place
        turn = Turn(
            run=run,
            prompt=move.prompt,
            place=place,
            thread=move.thread,
            asks_first=move.asks_first,
            idle_s=move.idle_s,
            max_tokens=move.max_tokens,
            account=self._accounts.get(run),
            compacts=move.compacts > 0,
        )
        tool_adviser = self._tool_adviser(run, move, watch) if move.adviser else None
        if tool_adviser is not None:
            self._advice[run] = tool_adviser
        with self._disk_watched(move.workspace, watch, in_copy=move.in_copy):
            result = await agent.take_turn(turn, tool_adviser or watch)
        usage = checked_usage(result.usage)
        if usage is not result.usage:
            await watch.saw(Item(kind="warning", text=nonsense(move.agent, result.usage, usage)))
            result = with_(result, usage=usage)
        if tool_adviser is not None:
            result = tool_adviser.charged(result)
            del self._advice[run]
        if move.compacts and isinstance(result, TurnDone):
            result = _with_sizes(result, move.compacts, is_summary=not agent.abilities.compact)
        if move.workspace is None or move.discards:
            return result
        watch.deadlines.clear()  # saving the work has no deadline
        if move.in_copy:
            await self._workspaces.drop_candidate(move.workspace)
            return result
        return await self._save_work(run, move, move.workspace, result)

    async def _place_of(self, run: RunId, move: TakeTurn) -> Box | Failed | None:
        """The box of a turn: its workspace, or a clean clone of the work in it."""
        if move.workspace is None:
            return None
        if not move.in_copy:
            return self._workspaces.box_of(move.workspace)
        clone = await self._workspaces.candidate(move.workspace, run)
        if isinstance(clone, Unready):
            message = f"the clone could not be set up: {last_line(clone.result.output)}"
            return Failed(kind=FailureKind.BAD_REQUEST, message=message, notes=clone.notes)
        return clone if isinstance(clone, Failed) else clone.agent_box or clone.box

    def _tool_adviser(self, run: RunId, move: TakeTurn, watch: ActivityWatch) -> ToolAdviser | None:
        adviser = self._agents.get(move.adviser.agent) if move.adviser else None
        return ToolAdviser(watch, adviser, run, move) if adviser else None

    async def _commit(self, run: RunId, move: Commit) -> Result:
        change = await self._workspaces.keep(move.workspace, run, message=move.message)
        return change if isinstance(change, Failed) else Committed(change=change)

    async def _save_work(
        self, run: RunId, move: TakeTurn, workspace: str, result: TurnDone | Failed
    ) -> Result:
        """Fetch the agent's changes, also after a failure."""
        change = await self._workspaces.keep(workspace, run, uncommitted=move.uncommitted)
        if isinstance(change, Failed):
            return result if isinstance(result, Failed) else with_(change, usage=result.usage)
        return with_(result, change=change)


def _with_sizes(turn: TurnDone, before: int, *, is_summary: bool) -> TurnDone:
    """Add the size of the conversation before and after it was compacted."""
    after = estimate(len(turn.text), CHARS_PER_TOKEN) if is_summary else turn.context
    return with_(turn, compacted=Compaction(before=before, after=after, summary=is_summary))


def nonsense(agent: str, reported: Usage, counted: Usage) -> str:
    """Say that an agent reported usage that can't be."""
    return (
        f"{agent} reported impossible usage ({_figures(reported)}); "
        f"it counts as {_figures(counted)}"
    )


def _figures(usage: Usage) -> str:
    cost = usage.cost_microusd / 1_000_000
    return (
        f"{usage.input:,} input, {usage.cached:,} cached, {usage.output:,} output, {cost:,.2f} USD"
    )


def _limits_of(move: Work, within_s: float) -> tuple[float, float]:
    """The total and the idle limit of a move, in seconds."""
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
