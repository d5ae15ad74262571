"""The board and its tasks as the app starts and drives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.registry import task_agents
from allstop.app.board import board_spec, commands
from allstop.app.start_requests import StartBoard, StartTask
from allstop.app.supervisor import RunKind, Supervisor
from allstop.board.board_pilot import BoardState
from allstop.core.board_specs import Mode
from allstop.core.commands import AddTasks, Assign, Command
from allstop.core.ids import BOARD, RunId, label_of

if TYPE_CHECKING:
    from allstop.app.runs.status import RunRecord


class BoardRunKind(RunKind):
    request = StartBoard

    async def open(self, supervisor: Supervisor, request: StartBoard) -> RunId:
        project = supervisor.project
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
        await supervisor.work_on_board(spec, request.budget_usd)

    async def drive(self, supervisor: Supervisor, recorded: RunRecord) -> None:
        """Drive the board, also to drive a run below it; then no other task starts."""
        is_all = recorded.run == BOARD
        await supervisor.drive_board_for(None if is_all else [label_of(recorded.run)])


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
