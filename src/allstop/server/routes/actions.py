"""What can be done: each order is checked, carried out, and answered with what came of it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from allstop.app.actions import Action, Done, do
from allstop.app.runs.day import More, Today, allow_more
from allstop.app.setup import init
from allstop.app.setup.edit_setting import Change, change
from allstop.app.start_requests import StartRequest
from allstop.app.stop.allstop import Stopped
from allstop.core.errors import AllstopError
from allstop.server import wire_types
from allstop.server.app_state import Desk
from allstop.server.routes import path_parameters, runs
from allstop.settings.loader import FILE_NAME

BY = "the control room"
"""Who says what is said here, in records and receipts."""


class NoOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is needed."""


class StopOrder(NoOrder, frozen=True):
    by: Annotated[str, Meta(max_length=100, description="Who says so; for the receipt.")] = ""


async def allstop(desk: Desk, _: path_parameters.Nothing, order: StopOrder) -> Stopped:
    return await desk.supervisor.allstop(order.by or BY)


async def allow_today(desk: Desk, _: path_parameters.Nothing, more: More) -> Today:
    return await allow_more(desk.project, more, BY, desk.supervisor.engine.daily_budget)


async def open_run(
    desk: Desk, _: path_parameters.Nothing, request: StartRequest
) -> wire_types.Opened:
    return wire_types.Opened(run=await desk.supervisor.open(request))


async def command(desk: Desk, given: path_parameters.Commanded, action: Action) -> Done:
    return await do(desk.supervisor, given.run, action, BY)


class SettingOrder(NoOrder, frozen=True):
    """One setting of the checkout's allstop.toml."""

    key: Annotated[str, Meta(min_length=1, max_length=300, description="As in loop.mode.")]
    digest: Annotated[str, Meta(max_length=64, description="Of the file as it was shown.")]
    value: Annotated[
        str | int | float | bool | list[Any] | dict[str, Any] | UnsetType,
        Meta(description="Without it the setting goes back to its default."),
    ] = UNSET


class SetupOrder(NoOrder, frozen=True):
    agent: Annotated[
        str, Meta(max_length=100, description="Who works on tasks: one found here, or scripted.")
    ] = ""


async def change_setting(
    desk: Desk, _: path_parameters.Nothing, order: SettingOrder
) -> wire_types.SettingList:
    change(desk.project, Change(key=order.key, value=order.value, digest=order.digest))
    desk.settings.look()
    return desk.settings.listed


async def set_up(desk: Desk, _: path_parameters.Nothing, order: SetupOrder) -> wire_types.Checkup:
    """With a file that is there already only the scripted agent can be added."""
    project = desk.project
    if not (project.repository / FILE_NAME).exists():
        init.begin(project, order.agent)
    elif order.agent == init.SCRIPTED.name:
        init.add_scripted(project)
    else:
        raise AllstopError(f"{FILE_NAME} is there already", "change it under Settings")
    desk.settings.look()
    return await runs.checkup(desk, _)


async def new_link(desk: Desk, _: path_parameters.Nothing, order: NoOrder) -> wire_types.Link:
    return wire_types.Link(path=f"/?key={desk.keys.make()}")
