"""What can be done: each order is checked, carried out, and answered with what came of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from allstop.app.stopping import Stopped, stop
from allstop.server import asked, shapes
from allstop.server.desk import Desk


class NoOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is needed."""


class StopOrder(NoOrder, frozen=True):
    by: Annotated[str, Meta(max_length=100, description="Who says so; for the receipt.")] = ""


async def allstop(desk: Desk, _: asked.Nothing, order: StopOrder) -> Stopped:
    return await stop(desk.house, order.by or "the control room")


async def new_link(desk: Desk, _: asked.Nothing, order: NoOrder) -> shapes.Link:
    return shapes.Link(path=f"/?key={desk.keys.make()}")
