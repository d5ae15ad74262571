"""Routes of the machines that work on the board."""

from typing import Annotated

from msgspec import Meta

from allstop.app.machines import drain as drain_process
from allstop.app.machines import machines as all_machines
from allstop.app.project import SQLITE
from allstop.board.graph import Board
from allstop.server import wire_types
from allstop.server.app_state import AppState
from allstop.server.routes.actions import BY, NoOrder
from allstop.server.routes.path_parameters import NoParameters, OneProcess


class DrainOrder(NoOrder, frozen=True):
    drain: Annotated[bool, Meta(description="False: it takes work again.")] = True


async def machines(app: AppState, _: NoParameters) -> wire_types.MachineList:
    board = await app.live_runs.board()
    return wire_types.MachineList(
        machines=await all_machines(app.project, app.live_runs),
        shared=app.project.store_url != SQLITE,
        ready=_ready(board.pilot.board) if board else 0,
    )


async def drain(app: AppState, params: OneProcess, order: DrainOrder) -> wire_types.MachineList:
    await drain_process(app.project, params.process, BY if order.drain else "")
    return await machines(app, NoParameters())


def _ready(board: Board) -> int:
    return sum(1 for operation in board.operations.values() for _ in operation.ready)
