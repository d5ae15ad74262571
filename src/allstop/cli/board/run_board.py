"""Drives the board in this terminal: shows events, handles Ctrl-C, prints a summary."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio

from allstop.app.agents.registry import require_usable
from allstop.app.agents.token_caps import describe_budgets
from allstop.app.board import board_spec, commands, driver, overview
from allstop.app.board.cleanup import remove_due
from allstop.app.runs.commands import refuse_if_stopped
from allstop.app.runs.follow import follow_tree
from allstop.app.stop.in_process import stop_all
from allstop.board import graph
from allstop.board.dependencies import cancelled_needs
from allstop.board.sprint_states import Phase
from allstop.board.state import BoardState
from allstop.board.statistics import Period, shares_in, statistics
from allstop.cli.board.screen import BoardScreen, make_board_screen
from allstop.cli.board.typed_answers import TypedAnswers
from allstop.cli.interrupts import handle_signals
from allstop.cli.output import LIMIT, STOPPED, code_of, echo
from allstop.core import brakes
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec, Mode
from allstop.core.brakes import BrakeLevel, Limits
from allstop.core.commands import Pause
from allstop.core.helm import Hold
from allstop.core.ids import BOARD
from allstop.core.moves import Outcome
from allstop.core.run import RunState
from allstop.core.tasks import Status, Task
from allstop.core.text import one_line
from allstop.engine.send import send_command
from allstop.kinds.board import outcome_of
from allstop.open_files import raise_limit
from allstop.views.inbox import review_note, suggested_command
from allstop.views.log import receipt
from allstop.views.sprints import stats_of, summary

if TYPE_CHECKING:
    from allstop.app.project import Project

ENDED_BADLY = frozenset({Status.FAILED, Status.TIMEOUT, Status.BLOCKED})


async def run_board(
    project: Project,
    spec: BoardSpec,
    decide: driver.Decide,
    *,
    only: Collection[str] = (),
    allowance: Limits = driver.NOTHING_MORE,
    known: commands.BoardSnapshot | None = None,
    as_json: bool = False,
) -> int:
    """Drive the board until only a person can continue it; return the exit code.

    With `only`, the exit code is that of these tasks. A board that was paused with other tasks at
    work is paused again at the end.

    Raises HeldError if another process drives the board. Nothing was written.
    """
    await refuse_if_stopped(project)
    raise_limit()
    known = known or await commands.read(project)
    _require_agents(project, spec, known)
    await remove_due(project, known.state.board)
    async with AsyncExitStack() as claim:
        await claim.enter_async_context(project.journal.claim(BOARD))
        limits = driver.limits_at_start(known)
        was_held = known.run.hold is not Hold.NONE
        known = await driver.equip(project, spec, decide, known, limits, allowance=allowance)
        pauses_others = was_held and bool(known.state.others())
        _print_notes(project, allowance)
        code = await _drive(project, spec, known, claim, only, as_json=as_json)
    if pauses_others:
        await send_command(project.journal, project.clock, BOARD, Pause(), "allstop run")
    return code


async def take_over(
    project: Project, only: Collection[str], since: datetime, *, as_json: bool
) -> int:
    """Drive a board whose process has ended. No command is written, so its limits stay.

    The exit code is that of the tasks in `only`, since that time.

    Raises HeldError if another process drives the board.
    """
    await refuse_if_stopped(project)
    raise_limit()
    async with AsyncExitStack() as claim:
        await claim.enter_async_context(project.journal.claim(BOARD))
        known = await driver.apply_settings(project, await commands.read(project))
        spec = known.state.spec
        _require_agents(project, spec, known)
        return await _drive(project, spec, known, claim, only, since=since, as_json=as_json)


def _require_agents(project: Project, spec: BoardSpec, known: commands.BoardSnapshot) -> None:
    """In a fleet, the machines of workers have the agents."""
    if not project.shared_remote:
        require_usable(project, driver.needed_agents(spec, known.state))


def _print_notes(project: Project, allowance: Limits) -> None:
    notes = [*map(str, project.loaded.untrusted), *board_spec.start_note_texts(project)]
    if brakes.limits_spending(allowance):
        notes.append(f"Budgets of tokens and cost {describe_budgets(project)}.")
    for note in dict.fromkeys(notes):
        echo(f"note: {note}", err=True)


async def _drive(
    project: Project,
    spec: BoardSpec,
    known: commands.BoardSnapshot,
    claim: AsyncExitStack,
    only: Collection[str],
    *,
    as_json: bool,
    since: datetime | None = None,
) -> int:
    with make_board_screen(as_json=as_json) as screen:
        async with driver.drive_board(project, spec, known, claim, screen.note, since) as session:
            isolation = session.runtime.launcher.isolation
            screen.note("" if isolation.boxed else isolation.how)
            screen.begin(session)
            session.runtime.engine.view(screen.live)
            answers = TypedAnswers(session, is_on=screen.takes_answers)
            screen.prompt = answers.prompt
            stopped, left = False, True
            async with anyio.create_task_group() as group:
                group.start_soon(_handle_signals, session, screen, group.cancel_scope.cancel)
                group.start_soon(_show, project, screen, answers)
                group.start_soon(answers.read)
                await session.runtime.engine.idle()
                await answers.wait_until_given()
                await _show_rest(project, screen)
                stopped, left = session.runtime.engine.was_stopped, False
                if stopped:
                    screen.note(receipt(await session.runtime.engine.halted()))
                group.cancel_scope.cancel()
        return _print_summary(project, session, screen, only, stopped=stopped, left=left)


async def _show(project: Project, screen: BoardScreen, answers: TypedAnswers) -> None:
    async with follow_tree(project.journal, BOARD, screen.seqs) as batches:
        async for batch in batches:
            screen.records(batch)
            answers.wake()


async def _show_rest(project: Project, screen: BoardScreen) -> None:
    """Show the last records: the board may rest before the follower has read them."""
    for head in await project.journal.heads():
        if head.run == BOARD or head.parent == BOARD:
            screen.records(await project.journal.read(head.run, after=screen.seqs.get(head.run, 0)))


async def _handle_signals(
    session: driver.BoardSession, screen: BoardScreen, leave: Callable[[], None]
) -> None:
    async def pause(by: str) -> None:
        await session.runtime.engine.command(BOARD, Pause(), by=by)

    async def stop(by: str) -> None:
        screen.note("■ ALLSTOP")
        await stop_all(session.runtime, by)

    pausing = "pausing: agents finish their current turn; Ctrl-C again is Allstop"
    await handle_signals(pause, stop, leave, screen.note, pausing=pausing)


# --- the end ----------------------------------------------------------------------------------


def _print_summary(
    project: Project,
    session: driver.BoardSession,
    screen: BoardScreen,
    only: Collection[str],
    *,
    stopped: bool,
    left: bool,
) -> int:
    run = session.run()
    state = run.pilot
    tasks = state.board.tasks()
    touched = overview.changed_since(tasks, session.since)
    before = session.before
    period = Period(session.since)
    stats = statistics(
        shares_in(tasks, period, session.under_way()),
        period,
        runtime_s=(project.clock.now() - session.since).total_seconds(),
    )
    screen.end(stats)
    for line in [*next_steps(tasks, touched), *_assignable(state)]:
        screen.note(line)
    everything = session.runtime.engine.helm.hold
    held = stopped or left or run.hold is not Hold.NONE or everything is not Hold.NONE
    for line in _hold_lines(session, stopped=stopped, held=held):
        screen.note(line)
    if state.is_braked:
        screen.note(f"{state.brake_reason}. Look at these tasks, then: allstop run")
    at_limit = limit_of(run, project.clock.now())
    for task_id, child in session.children():
        if (not only or task_id in only) and (reason := limit_of(child, project.clock.now())):
            at_limit = reason
    for line in sprint_lines(state, before, project.clock.now()):
        screen.note(line)
    if at_limit:
        raise_it = "Raise it if needed ([budget], [limits], --budget), then: allstop run"
        screen.note(f"limit reached: {at_limit}. {raise_it}")
    own = None if only else sprint_tasks(state, before)
    if own is not None:
        asked = touched = [task for task in tasks if task.id in own]
    else:
        asked = [task for task in tasks if not only or task.id in only]
        touched = [task for task in touched if not only or task.id in only]
    return exit_code(asked, touched, held=held, at_limit=bool(at_limit))


def _hold_lines(session: driver.BoardSession, *, stopped: bool, held: bool) -> list[str]:
    everything = session.runtime.engine.helm.hold
    if stopped:
        return ["Stopped. Continue: allstop resume && allstop run"]
    if everything is not Hold.NONE:
        return [f"Everything is {everything}. Continue: allstop resume && allstop run"]
    return ["Paused. Continue: allstop run"] if held else _held_tasks(session)


def sprint_lines(state: BoardState, before: BoardState, now: datetime) -> list[str]:
    """Lines about the sprints that have ended since then, and the running one."""
    lines = [
        f"{sprint.id} has ended: {sprint.reason}. {summary(stats_of(sprint))}."
        for sprint in state.sprints[len(before.sprints) :]
    ]
    if state.sprint is not None:
        phase = state.sprint.phase_at(now)
        why = f": {state.sprint.note}" if state.sprint.note else ""
        do = "allstop sprint resume" if phase is Phase.PAUSED else "allstop run"
        lines.append(
            f"{state.sprint.id} is {phase}{why}. Continue: {do}; or: allstop sprint cancel"
        )
    return lines


def sprint_tasks(state: BoardState, before: BoardState) -> tuple[str, ...] | None:
    """The tasks of the sprint that ran since then: the exit code is about these. None: no sprint."""
    if state.sprint is not None:
        return state.sprint.taken
    return state.sprints[-1].taken if len(state.sprints) > len(before.sprints) else None


def _assignable(state: BoardState) -> list[str]:
    """A line about ready tasks that the board doesn't start by itself."""
    ready = graph.best(state.board) if state.spec.mode is Mode.SEMI else None
    if ready is None or state.named is not None:
        return []
    what = f"In semi mode only assigned tasks start: allstop assign {ready.id} && allstop run"
    return [f"○ {what}; or let the loop pick: allstop mode autopilot"]


def limit_of(run: RunState[Any], now: datetime) -> str:
    """The limit at which a run waits."""
    verdict = brakes.check(run.limits, run.tally, run.opened.at, now)
    if runs.waits_for_budget(run, now):
        return run.waits.removeprefix("limit reached: ")
    return verdict.reason if verdict.level is BrakeLevel.HARD else run.limit_reached


def exit_code(tasks: list[Task], touched: list[Task], *, held: bool, at_limit: bool) -> int:
    """The exit code: held, failed, at a limit, waiting or finished, whichever applies first."""
    if held:
        return STOPPED
    outcome = outcome_of(tasks, touched)
    return LIMIT if at_limit and outcome is not Outcome.FAILED else code_of(outcome)


def _held_tasks(session: driver.BoardSession) -> list[str]:
    """Lines about tasks that were stopped or paused one by one."""
    return [
        f"■ {task_id} is {child.hold}: allstop resume {task_id}"
        for task_id, child in session.children()
        if child.hold is not Hold.NONE
    ]


def next_steps(tasks: list[Task], touched: list[Task]) -> list[str]:
    """Lines that name the next command for each task that needs a person."""
    lines = [] if tasks else ['The board is empty. Add a task: allstop add "TITLE"']
    for task in tasks:
        match task.status:
            case Status.REVIEW:
                lines.append(f"◆ {task.id} waits for your review: allstop approve {task.id}")
                lines += [f"! {task.id} {note}"] if (note := review_note(task)) else []
            case Status.WAITING if task.asks and task.note.startswith("asks: "):
                lines.append(
                    f'? {task.id} {task.note}: allstop answer {task.id} "…" && allstop run'
                )
            case Status.MERGING if not task.note:
                lines.append(f"? {task.id} waits to be merged: allstop run")
            case Status.WAITING | Status.MERGING:
                lines.append(
                    f"? {task.id} waits: {task.note.rstrip('.')}. Then: {suggested_command(task)}"
                )
            case Status.PENDING if task.held:
                lines.append(f"○ {task.id} is held until you start it: allstop retry {task.id}")
            case Status.FAILED | Status.TIMEOUT | Status.BLOCKED if task in touched:
                lines.append(_ending(task))
            case Status.PENDING if task in touched and task.has_crashed:
                lines.append(
                    f"✗ {task.id} {task.note}. Why: allstop log {task.id}; what it did is kept:"
                    f" allstop diff {task.id}; again: allstop run {task.id}"
                )
            case _:
                pass
    lines += [*_from_earlier_runs(tasks, touched), *_blocked_by_cancelled(tasks)]
    if any(task.status is Status.REVIEW for task in tasks):
        lines.append("See the changes: allstop diff ID; see the findings: allstop show ID")
    return lines


def _ending(task: Task) -> str:
    helps = f"Why: allstop log {task.id}"
    if task.status is Status.TIMEOUT:
        helps = f"Raise its limit: allstop limit {task.id} --times 2"
    return f"✗ {task.id} {task.status}: {task.note}. {helps}; again: allstop retry {task.id}"


def _from_earlier_runs(tasks: list[Task], touched: list[Task]) -> list[str]:
    """One line about the tasks that failed in earlier runs and still remain."""
    known = {task.id for task in touched}
    ended = [task for task in tasks if task.status in ENDED_BADLY or task.has_crashed]
    stalled = [task for task in ended if task.id not in known]
    if not stalled:
        return []
    named = ", ".join(f"{task.id} {_how_it_ended(task)}" for task in stalled[:5])
    more = f" and {len(stalled) - 5} more" if stalled[5:] else ""
    return [f"✗ From earlier runs: {named}{more}. See: allstop status"]


def _how_it_ended(task: Task) -> str:
    return "crashed" if task.has_crashed else task.status.value


def _blocked_by_cancelled(tasks: list[Task]) -> list[str]:
    return [
        f"○ {one_line(', '.join(waiting), 60)} can't start: {need} is cancelled. Do it:"
        f" allstop retry {need}; or without it: allstop edit {waiting[0]} --needs …"
        for need, waiting in cancelled_needs(tasks).items()
    ]
