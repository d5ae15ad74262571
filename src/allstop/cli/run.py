"""The commands `run` and `resume`: drive runs in this terminal."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from allstop.cli.argument_types import DOLLARS, RUN_OR_TASK, TASK
from allstop.cli.output import Context, echo, json_option, print_json
from allstop.cli.output import run as run_async
from allstop.core import number_bounds
from allstop.core.text import one_line

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.app.project import Project
    from allstop.app.start_requests import StartBoard, StartSprint
    from allstop.app.supervisor import RunKinds
    from allstop.board.state import BoardState
    from allstop.core.commands import Command
    from allstop.ports import Holder
    from allstop.views.runs import RunView


@click.command()
@click.argument("what", nargs=-1, metavar="[ID|PROMPT]...", type=TASK)
@click.option(
    "--parallel",
    type=click.IntRange(1, number_bounds.SLOTS),
    metavar="N",
    help="Number of tasks at once.",
)
@click.option(
    "--mode", type=click.Choice(["autopilot", "semi"]), help="Who picks tasks: the loop or you."
)
@click.option(
    "--count", "most", type=click.IntRange(min=1), metavar="N", help="A sprint of N tasks."
)
@click.option("--for", "for_", metavar="2h", help="A sprint of this duration.")
@click.option("--until", metavar="07:00", help="A sprint until this time of day.")
@click.option("--checkpoint", is_flag=True, help="Make a checkpoint before that sprint.")
@click.option("--agent", help="The agent; by default the first choice of [loop].")
@click.option("--budget", type=DOLLARS, metavar="USD", help="Cost limit of this call.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def run(context: Context, /, as_json: bool, budget: float | None, **given: Any) -> int:
    """Work on tasks, or on a prompt, until nothing is ready.

    With IDs, only on these tasks. Any other argument is a PROMPT, which becomes a new task. Each
    task has its own workspace. Work is checked by the commands of [verification], reviewed as
    [review] says, and merged. Ctrl-C pauses after the current turns; Ctrl-C again is Allstop.

    With --count, --for or --until it is a sprint, with the options of [sprint]. With IDs or a
    PROMPT, these end the work on just these tasks.

    \b
    Examples:
      allstop run                            all tasks of the board
      allstop run T1 T4                      two of them
      allstop run "Fix the failing test"     a new task
      allstop run --parallel 4 --for 2h --budget 5
    """
    with context.project() as project:
        return run_async(lambda: _run(project, RunOptions(**given), budget, as_json=as_json))


class RunOptions(NamedTuple):
    what: tuple[str, ...]
    parallel: int | None
    mode: str | None
    most: int | None
    for_: str | None
    until: str | None
    checkpoint: bool
    agent: str | None

    @property
    def has_target(self) -> bool:
        return any(each is not None for each in (self.most, self.for_, self.until))


async def _run(
    project: Project, options: RunOptions, budget: float | None, *, as_json: bool
) -> int:
    from allstop.app.agents.registry import task_agents
    from allstop.app.board.board_spec import board_spec
    from allstop.app.board.commands import read, start_commands
    from allstop.app.board.driver import cost_allowance
    from allstop.cli.board.follow_board import continue_board, start_tasks
    from allstop.cli.board.run_board import run_board
    from allstop.cli.queued_start import queue_start
    from allstop.cli.sprints.sprint import start_sprint
    from allstop.cli.times import until
    from allstop.core.board_specs import Mode
    from allstop.core.ids import BOARD, AgentName
    from allstop.ports import HeldError

    if options.checkpoint or (options.has_target and not options.what):
        return await start_sprint(project, _sprint_request(options, budget), as_json=as_json)
    known = await read(project)
    board = known.state.board
    named = [each for each in options.what if each in board.nodes]
    prompts = [each for each in options.what if each not in board.nodes]
    _refuse_prompts(prompts, named)
    mode = Mode(options.mode) if options.mode else known.state.chosen
    only = list(named)
    ends_at = until(project.clock.now(), options.for_, options.until)
    spec = board_spec(
        project,
        mode=mode,
        slots=options.parallel,
        count=options.most,
        until=ends_at,
        agents=task_agents(project, options.agent) if options.agent else None,
        only=named if options.what else None,
    )

    if not project.settings.loop.auto_execute:
        request = _start_request(options, named, prompts, ends_at, budget)
        return await queue_start(project, request, as_json=as_json)

    def decide(state: BoardState, *, hand_over: bool = False) -> list[Command]:
        agent = AgentName(options.agent) if options.agent else None
        assignee = agent if hand_over else None
        todo = start_commands(state, named, prompts, agent, assignee=assignee)
        return _with_new_tasks(only, named, todo)

    allowance = cost_allowance(budget)
    if not project.has_store or BOARD not in project.journal.holders():
        with suppress(HeldError):  # another process was faster; nothing was written
            return await run_board(
                project, spec, decide, only=only, allowance=allowance, known=known, as_json=as_json
            )
    holder = project.journal.holders().get(BOARD)
    if options.what:
        _refuse_board_options(options, budget, holder)
        tell = partial(decide, hand_over=True)
        return await start_tasks(project, tell, only=only, holder=holder, as_json=as_json)
    return await continue_board(project, spec, allowance=allowance, holder=holder, as_json=as_json)


def _sprint_request(options: RunOptions, budget: float | None) -> StartSprint:
    """`run` with a target is a sprint of all tasks; a checkpoint is made only on request."""
    from allstop.app.board.sprints import not_in_sprint
    from allstop.app.start_requests import SprintFilters, StartSprint
    from allstop.cli.sprints.sprint import target_of
    from allstop.core.errors import AllstopError

    if not options.has_target:
        hint = "add --count, --for or --until, or use `allstop sprint start`"
        raise AllstopError("a checkpoint belongs to a sprint", hint, code="sprint_target_missing")
    if options.what or options.mode == "semi":
        raise not_in_sprint()
    return StartSprint(
        target=target_of(options.most, options.for_, options.until),
        filters=SprintFilters(),
        checkpoint_before=options.checkpoint,
        parallel=options.parallel,
        agent=options.agent,
        budget_usd=budget,
    )


def _start_request(
    options: RunOptions,
    named: list[str],
    prompts: list[str],
    ends_at: datetime | None,
    budget: float | None,
) -> StartBoard:
    """The request that starts the same work later."""
    from allstop.app.start_requests import StartBoard

    return StartBoard(
        mode=options.mode,  # type: ignore[arg-type]  # one of the choices
        parallel=options.parallel,
        count=options.most,
        until=ends_at,
        budget_usd=budget,
        tasks=tuple(named),
        prompts=tuple(prompts),
        agent=options.agent,
    )


def _refuse_board_options(options: RunOptions, budget: float | None, holder: Holder | None) -> None:
    """Options for the whole board can't be changed together with single tasks."""
    from allstop.core.errors import AllstopError

    if any(each is not None for each in (options.parallel, budget)):
        who = f"process {holder.pid}" if holder else "another process"
        raise AllstopError(
            f"the board is driven by {who}: these options can't apply to single tasks",
            "leave out the IDs and prompts to change the options for all tasks",
            code="board_driven_elsewhere",
        )


def _refuse_prompts(prompts: list[str], named: list[str]) -> None:
    """One word may be a prompt, but not among others, and not where it is like an id of ours."""
    from allstop.core.errors import AllstopError
    from allstop.core.tasks import ID

    is_alone = len(prompts) + len(named) == 1
    for prompt in prompts:
        if ID.fullmatch(prompt) and not (is_alone and prompt.isalpha()):
            raise AllstopError(
                f"there is no task {prompt!r}",
                "`allstop list` shows the tasks",
                code="task_not_found",
            )


def _with_new_tasks(only: list[str], named: list[str], commands: list[Command]) -> list[Command]:
    """The same commands; `only` becomes the named tasks and those that they add."""
    from allstop.core.commands import AddTasks

    new = [task.id for each in commands if isinstance(each, AddTasks) for task in each.tasks]
    only[:] = [*named, *new]
    return commands


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN_OR_TASK)
@json_option
@click.pass_obj
def resume(context: Context, run_id: str | None, as_json: bool) -> int:
    """Lift a stop or pause, or resume a run here.

    Without RUN, everything may start again. With RUN, this terminal drives it.
    """
    with context.project() as project:
        if run_id is None:
            return run_async(lambda: _lift_holds(project, as_json=as_json))
        return run_async(lambda: resume_run(project, context.run_kinds, run_id, as_json=as_json))


LIFTED = {
    "stopped": "The stop is lifted.",
    "paused": "The pause is lifted.",
    "frozen": "The freeze is lifted.",
    "running": "Nothing was stopped or paused.",
}


async def _lift_holds(project: Project, *, as_json: bool) -> int:
    from allstop.app.runs.status import status
    from allstop.app.stop.everything import lift
    from allstop.core.helm import Hold

    lifted = await lift(project, "user")
    views = (await status(project)).runs
    open_runs = [view for view in views if view.outcome is None and not _is_at_rest(project, view)]
    if as_json:
        print_json({"lifted": lifted is not Hold.NONE, "runs": open_runs})
        return 0
    echo(LIFTED[lifted])
    for view in open_runs:
        if not view.driven and view.parent is None:
            echo(f"  {view.id}: {one_line(view.title, 60)}   → {view.resume}")
    if waiting := [view for view in open_runs if view.parent is not None and not view.driven]:
        many = "1 task waits" if len(waiting) == 1 else f"{len(waiting)} tasks wait"
        echo(f"  {many} to continue   → allstop run")
    return 0


def _is_at_rest(project: Project, view: RunView) -> bool:
    """Whether an endless run, such as a room, has nothing to continue."""
    return project.kinds[view.kind].is_endless and view.status != "interrupted"


async def resume_run(project: Project, kinds: RunKinds, run_id: str, *, as_json: bool) -> int:
    from allstop.app.resume import lift_hold
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.app.runs.status import record_of
    from allstop.cli.kinds import terminal_kind
    from allstop.core.ids import root_of

    recorded = await record_of(project, run_id)
    await refuse_if_stopped(project)
    root = root_of(recorded.run)
    root_kind = (await record_of(project, root)).opened.kind
    kind, terminal = kinds[root_kind], terminal_kind(root_kind)
    limits = kind.limits(project)
    if root not in project.journal.holders():
        await terminal.check_resume(project, recorded)
        await lift_hold(project, recorded, limits, "allstop resume")
        return await terminal.resume(project, recorded, kind, as_json=as_json)
    await lift_hold(project, recorded, limits, "allstop resume")
    echo(f"{run_id}: continues in the process that drives it.")
    return 0
