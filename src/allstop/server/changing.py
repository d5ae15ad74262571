"""What can be done: each order is checked, carried out, and answered with what came of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from allstop.app.doing import Deed, Done, do
from allstop.app.opening import Order
from allstop.app.stopping import Stopped
from allstop.server import asked, shapes
from allstop.server.desk import Desk

BY = "the control room"
"""Who says what is said here, in records and receipts."""


class NoOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is needed."""


class StopOrder(NoOrder, frozen=True):
    by: Annotated[str, Meta(max_length=100, description="Who says so; for the receipt.")] = ""


async def allstop(desk: Desk, _: asked.Nothing, order: StopOrder) -> Stopped:
    return await desk.station.allstop(order.by or BY)


async def open_run(desk: Desk, _: asked.Nothing, order: Order) -> shapes.Opened:
    return shapes.Opened(run=await desk.station.open(order))


async def command(desk: Desk, given: asked.Commanded, deed: Deed) -> Done:
    return await do(desk.station, given.run, deed, BY)


async def new_link(desk: Desk, _: asked.Nothing, order: NoOrder) -> shapes.Link:
    return shapes.Link(path=f"/?key={desk.keys.make()}")
