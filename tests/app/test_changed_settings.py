"""A board that is at work goes on by settings that were changed."""

import pytest
from msgspec.structs import replace

from allstop.app import actions
from allstop.app.actions import do
from allstop.app.board import board_spec, commands, driver
from allstop.app.kinds import RUN_KINDS
from allstop.app.runs.status import record_of
from allstop.app.start_requests import StartBoard
from allstop.app.supervisor import start_supervisor
from allstop.core import run
from allstop.core.brakes import Limits
from allstop.core.commands import Raise
from allstop.core.ids import BOARD
from support.room_models import until


@pytest.mark.parametrize(("own", "then"), [(None, 6), (Limits(turns=2), 2)])
async def test_k6_limits_that_a_person_set_outlast_a_change_of_the_settings(
    trusted, monkeypatch, own, then
):
    """K6: where nobody has, those of the settings count for what is under way."""
    project = trusted("[budget.task]\nturns = 5\n", worker=["{ sleep = 600 }"])
    async with start_supervisor(project, RUN_KINDS) as here:
        await do(here, BOARD, actions.AddTask(title="Task", agent="worker"), "web")
        await here.open(StartBoard())

        async def at_work():
            state = here.engine.state("board/T1.1")
            return state is not None and state.open_move is not None

        await until(at_work, "the turn")
        if own is not None:
            await here.engine.command("board/T1.1", Raise(limits=own))
        changed = replace(board_spec.board_spec(project), task_limits=Limits(turns=6))
        monkeypatch.setattr(board_spec, "with_current_settings", lambda project, spec: changed)
        await driver.apply_settings(project, await commands.read(project))

        recorded = await record_of(project, "board/T1.1")
        assert run.fold(recorded.pilot, recorded.events).limits.turns == then
