"""The board and its tasks as the app starts and drives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.registry import task_agents
from allstop.app.board import board_spec, commands, driver, sprints
from allstop.app.start_requests import (
    SprintFilters,
    SprintTarget,
    StartBoard,
    StartSprint,
    StartTask,
)
from allstop.app.supervisor import RunKind, Supervisor
from allstop.board.state import BoardState
from allstop.core.board_specs import Mode, TargetKind
from allstop.core.commands import AddTasks, Assign, Command
from allstop.core.ids import BOARD, RunId, label_of

if TYPE_CHECKING:
    from allstop.app.runs.status import RunRecord


class BoardRunKind(RunKind):
    request = StartBoard
    more_requests = (StartSprint,)

    async def open(self, supervisor: Supervisor, request: StartBoard | StartSprint) -> RunId:
        project = supervisor.project
        if isinstance(request, StartBoard):
            request = sprint_of(request) or request
        if isinstance(request, StartSprint):
            start = sprints.sprint_start(project, request)
            await supervisor.work_on_board(start.spec, start.allowance, start.decide)
            return BOARD
        is_part = bool(request.tasks or request.prompts)
        if not (is_part and supervisor.is_driven(BOARD)):  # a running board keeps its options
            await self._work(supervisor, request)
        if is_part:
            agent = task_agents(project, request.agent)[0] if request.agent else None
            await commands.send_commands(
                project,
                lambda state: commands.start_commands(
                    state, request.tasks, request.prompts, agent, assignee=agent
                ),
            )
        return BOARD

    async def _work(self, supervisor: Supervisor, request: StartBoard) -> None:
        project = supervisor.project
        chosen = (await commands.read(project)).state.chosen
        mode = Mode(request.mode) if request.mode else chosen
        spec = board_spec.board_spec(
            project,
            mode=mode,
            slots=request.parallel,
            count=request.count,
            until=request.until,
            agents=task_agents(project, request.agent) if request.agent else None,
            only=request.tasks if request.tasks or request.prompts else None,
        )
        await supervisor.work_on_board(spec, driver.cost_allowance(request.budget_usd))

    async def drive(self, supervisor: Supervisor, recorded: RunRecord) -> None:
        """Drive the board, also to drive a run below it; then no other task starts."""
        is_all = recorded.run == BOARD
        await supervisor.drive_board_for(None if is_all else [label_of(recorded.run)])


def sprint_of(request: StartBoard) -> StartSprint | None:
    """The sprint that a start of the whole board with a target is; None for any other start.

    Raises AllstopError if it has two targets, or another mode than autopilot.
    """
    if request.tasks or request.prompts or not (request.count or request.until):
        return None
    if request.count and request.until:
        raise sprints.too_many_targets()
    if request.mode == "semi":
        raise sprints.not_in_sprint()
    target = (
        SprintTarget(type=TargetKind.COUNT, value=request.count)
        if request.until is None
        else SprintTarget(type=TargetKind.UNTIL_TIME, value=request.until.isoformat())
    )
    return StartSprint(
        target=target,
        filters=SprintFilters(),
        checkpoint_before=False,
        parallel=request.parallel,
        agent=request.agent,
        budget_usd=request.budget_usd,
    )


class TaskRunKind(RunKind):
    request = StartTask

    async def open(self, supervisor: Supervisor, request: StartTask) -> RunId:
        project = supervisor.project
        agent = task_agents(project, request.agent)[0] if request.agent else None
        made: list[str] = []

        def decide(state: BoardState) -> list[Command]:
            made[:] = commands.free_ids(state.board)
            new = commands.task_for_prompt(made[0], request.prompt, agent)
            return [AddTasks(tasks=(new,)), Assign(task=new.id)]

        if not supervisor.is_driven(BOARD):
            await supervisor.drive_board_for([])
        await commands.send_commands(project, decide)
        return RunId(made[0])
