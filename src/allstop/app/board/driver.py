"""Prepares a board run and drives it in this process until it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from allstop.app.board import board_spec, commands
from allstop.app.board.ended_sprints import write_sprints
from allstop.app.board.forecast import record_forecast
from allstop.app.board.hooks import run_hooks
from allstop.app.runs.status import RunRecord, record_of, runs_below
from allstop.app.runtime import Runtime, start_runtime
from allstop.board.attempt_limits import limits_of_attempt
from allstop.board.state import BoardState
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import AtLimit, Limits, Tally
from allstop.core.commands import Command, Equip, Raise, Resume, Retry
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, AgentName, RunId, child_of
from allstop.core.moves import Wait
from allstop.core.run import RunState
from allstop.core.tasks import OVER
from allstop.engine.send import send_command
from allstop.ports import Clock, Entry, HeldError, Live

if TYPE_CHECKING:
    from allstop.app.project import Project

Decide = Callable[[BoardState], Sequence[Command]]

NOTHING_MORE = Limits(at_limit=AtLimit.PAUSE)
"""No allowance: there is no limit."""


def cost_allowance(budget_usd: float | None) -> Limits:
    """An allowance of so much money."""
    if budget_usd is None:
        return NOTHING_MORE
    return Limits(cost_microusd=int(budget_usd * 1_000_000), at_limit=AtLimit.PAUSE)


class BoardSession(NamedTuple):
    """The board while this process drives it."""

    runtime: Runtime
    since: datetime
    before: BoardState
    seqs: dict[RunId, int]  # the last event of each run before the session
    clock: Clock

    def run(self) -> RunState[BoardState]:
        state = self.runtime.engine.state(BOARD)
        assert state is not None, "a board is never over"
        return state

    def child(self, run: RunId) -> RunState[Any] | None:
        return self.runtime.engine.state(run)

    def children(self) -> list[tuple[str, RunState[Any]]]:
        """The open runs below the board, with their tasks."""
        found = [(task_id, self.child(run)) for run, task_id in self._refs()]
        return [(task_id, state) for task_id, state in found if state is not None]

    def under_way(self) -> dict[RunId, Tally]:
        """The usage of each open run."""
        found = [(run, self.child(run)) for run, _ in self._refs()]
        return {run: state.tally for run, state in found if state is not None}

    def _refs(self) -> list[tuple[RunId, str]]:
        return [(child_of(BOARD, ref), task_id) for ref, task_id in self.run().pilot.refs.items()]


async def prepare(
    project: Project,
    spec: BoardSpec,
    decide: Decide,
    *,
    allowance: Limits = NOTHING_MORE,
    known: commands.BoardSnapshot | None = None,
) -> commands.BoardSnapshot:
    """Record the board's spec and the commands of `decide`, and lift a pause.

    Raises HeldError if another process drives the board, and AllstopError if the board refuses a
    command.
    """
    holders = project.journal.holders()
    if BOARD in holders:
        raise HeldError(BOARD, holders[BOARD])
    read = known or await commands.read(project)
    return await equip(project, spec, decide, read, limits_at_start(read), allowance=allowance)


def limits_at_start(read: commands.BoardSnapshot) -> Limits:
    """The board's limits when it is started: none, but a running sprint keeps its budget."""
    is_in_sprint = read.state.sprint is not None
    return read.run.limits if is_in_sprint else Limits(at_limit=AtLimit.PAUSE)


async def equip(
    project: Project,
    spec: BoardSpec,
    decide: Decide,
    read: commands.BoardSnapshot,
    limits: Limits,
    *,
    allowance: Limits = NOTHING_MORE,
) -> commands.BoardSnapshot:
    """The same, also if a process drives the board.

    If the spec names tasks, the other tasks stay as they are. An `allowance` is added to what the
    board has used so far, and replaces `limits`.

    Raises AllstopError if the board is stopped, or refuses a command.
    """
    if read.run.hold is Hold.STOPPED:
        hint = "`allstop resume board` continues it"
        raise AllstopError("the board is stopped", hint, code="board_stopped")
    children = await runs_below(project, read.state)
    if allowance != NOTHING_MORE:
        used = [read.run.tally, *(run.tally for run in children.values())]
        opened_at = read.run.opened.at
        limits = _on_top(allowance, used, (project.clock.now() - opened_at).total_seconds())
    sent = await commands.send_commands(
        project, lambda state: [Equip(spec=spec), Raise(limits=limits), *decide(state)], read
    )
    others = {child_of(BOARD, ref) for ref in sent.state.others()}
    if read.run.hold is not Hold.NONE:
        await _resume(project, children, others)
    waking = [
        child_of(BOARD, ref) for ref in read.state.others() if child_of(BOARD, ref) not in others
    ]
    for run in waking:  # the process that drives the board may have parked them
        await send_command(project.journal, project.clock, run, Retry(), "allstop run")
    if sent.state.merging:  # a merge that waits for the person's own changes tries again
        merging = child_of(BOARD, sent.state.merging)
        await send_command(project.journal, project.clock, merging, Retry(), "allstop run")
    for run, child in children.items():  # attempts that wait at a limit get the current limits
        if child.opened.kind != "task" or run in others:
            continue
        if child.opened.ref not in sent.state.refs:
            continue  # a worker has ended it since the list was read
        task = sent.state.board[sent.state.refs[child.opened.ref]]
        limits = limits_of_attempt(spec, task, len(task.attempts) - 1)
        if child.limit_reached or child.limits != limits:
            raised = Raise(limits=limits)
            await send_command(project.journal, project.clock, run, raised, "allstop run")
    under_way = {run: child.tally for run, child in children.items()}
    return await record_forecast(project, sent, under_way)


def _on_top(allowance: Limits, used: Sequence[Tally], elapsed_s: float) -> Limits:
    """The allowance on top of this usage. A limit pauses the board and never closes it."""
    total = Tally()
    for each in used:
        total = total.plus(each)

    def more(most: int | None, have: int) -> int | None:
        return None if most is None else most + have

    return Limits(
        turns=more(allowance.turns, total.turns),
        tokens=more(allowance.tokens, total.tokens),
        cost_microusd=more(allowance.cost_microusd, total.cost_microusd),
        time_s=None if allowance.time_s is None else allowance.time_s + elapsed_s,
        at_limit=AtLimit.PAUSE,
    )


async def _resume(project: Project, children: Collection[RunId], others: Collection[RunId]) -> None:
    """Lift the hold of the board and of its open runs, except `others`."""
    if not others:
        await send_command(project.journal, project.clock, BOARD, Resume(), "allstop run")
        return
    resumed = Commanded(at=project.clock.now(), command=Resume(), by="allstop run")
    told = [BOARD, *(run for run in children if run not in others)]
    await project.journal.append(*(Entry(run, resumed) for run in told))


async def apply_settings(project: Project, read: commands.BoardSnapshot) -> commands.BoardSnapshot:
    """Apply the current settings to a board that has been started.

    A person's choices and holds stay. A running attempt gets new limits only if the settings
    changed them and no person has set its own.

    Raises AllstopError if the settings lack an agent, a branch or a required check.
    """
    before = read.state.spec
    spec = board_spec.with_current_settings(project, before)
    if spec == before:
        return read
    sent = await commands.send_commands(
        project,
        lambda state: [
            Equip(spec=board_spec.with_current_settings(project, state.spec), anew=False)
        ],
        read,
    )
    for run, child in (await runs_below(project, sent.state)).items():
        if child.opened.kind != "task":
            continue
        task = sent.state.board[sent.state.refs[child.opened.ref]]
        earlier = len(task.attempts) - 1
        limits = limits_of_attempt(spec, task, earlier)
        is_as_before = child.limits == limits_of_attempt(before, task, earlier)
        if is_as_before and child.limits != limits:
            await send_command(
                project.journal, project.clock, run, Raise(limits=limits), "allstop.toml"
            )
    return sent


async def was_interrupted(project: Project, known: commands.BoardSnapshot) -> bool:
    """Whether a run of the undriven board could continue without a person: its process ended.

    A sprint continues, too, if the process ended between two of its tasks.
    """
    now, state = project.clock.now(), known.state
    if state.sprint is not None and state.named is None:
        move = runs.expected_move(commands.PILOT, known.run, now)
        if known.run.open_move is not None or not isinstance(move, Wait):
            return True
    for ref in state.refs:
        if _would_go_on(await record_of(project, child_of(BOARD, ref)), now):
            return True
    return False


def _would_go_on(recorded: RunRecord, now: datetime) -> bool:
    state = runs.fold(recorded.pilot, recorded.events)
    if state.open_move is not None:
        return state.hold is Hold.NONE
    move = runs.expected_move(recorded.pilot, state, now)
    return not isinstance(move, Wait) or (move.until is not None and not move.for_person)


def needed_agents(spec: BoardSpec, state: BoardState) -> tuple[AgentName, ...]:
    """The agents that the board and its open tasks may call."""
    named = [task.agent for task in state.board.tasks() if task.agent and task.status not in OVER]
    return tuple(dict.fromkeys([*spec.agents, *named, *spec.reviewers()]))


@asynccontextmanager
async def drive_board(
    project: Project,
    spec: BoardSpec,
    known: commands.BoardSnapshot,
    claim: AsyncExitStack,
    show: Callable[[str], None],
    since: datetime | None = None,
) -> AsyncIterator[BoardSession]:
    """Drive the board until the block ends. `claim` is the caller's claim on it.

    `known` saves reading and folding a big board again. The summary covers the time from `since`,
    by default from now.

    Raises AllstopError if another process drives the board, and acts on the recorded commands.
    """
    since = since or project.clock.now()
    seqs = {head.run: head.seq for head in await project.journal.heads()}
    async with (
        run_hooks(project, known, show) as hurry,
        start_runtime(
            project, needed_agents(spec, known.state), slots=spec.slots, note=show
        ) as runtime,
    ):
        runtime.engine.view(lambda run, live: _show_trouble(live, show))
        runtime.engine.adopt(BOARD, claim.pop_all())
        try:
            parked = [child_of(BOARD, ref) for ref in known.state.others()]
            await runtime.engine.take(BOARD, known.folded, parked)
        except HeldError as error:  # unlike a HeldError of `prepare`: commands are recorded
            raise AllstopError(error.message, error.hint, code="board_taken_over") from error
        yield BoardSession(runtime, since, known.state, seqs, project.clock)
        state = runtime.engine.state(BOARD)
        if state is not None and state.pilot.sprints is not known.state.sprints:
            last = await commands.read(project)
            await write_sprints(project, last.state, last.cursor.seq)
        if runtime.engine.was_stopped:
            hurry()


def _show_trouble(live: Live, show: Callable[[str], None]) -> None:
    if live.kind == "trouble":
        show(live.text)
    elif live.kind in ("budget", "near"):
        show(f"nearly at a limit: {live.text}")
