"""Routes that change something: start runs, send commands, stop, edit settings."""

from typing import Annotated, Any

import anyio
from msgspec import UNSET, Meta, Struct, UnsetType

from allstop.app.actions import Done, action_in, do
from allstop.app.runs.daily_budget import More, Today, allow_more
from allstop.app.setup import init
from allstop.app.setup.edit_setting import Change, write_setting
from allstop.app.start_requests import StartRequest
from allstop.app.stop.receipts import Stopped
from allstop.core.errors import AllstopError
from allstop.plans.plan_file import LARGEST_BYTES, Format, ending_of, read_plan
from allstop.server import wire_types
from allstop.server.app_state import AppState
from allstop.server.routes import runs
from allstop.server.routes.path_parameters import CommandTarget, NoParameters
from allstop.settings.loader import FILE_NAME

BY = "the control room"
"""The author of these commands in the journal and in receipts."""


class NoOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An empty body."""


class StopOrder(NoOrder, frozen=True):
    by: Annotated[str, Meta(max_length=100, description="Who stops it; shown in the receipt.")] = ""


async def allstop(app: AppState, _: NoParameters, order: StopOrder) -> Stopped:
    return await app.supervisor.allstop(order.by or BY)


async def allow_today(app: AppState, _: NoParameters, more: More) -> Today:
    return await allow_more(app.project, more, BY, app.supervisor.engine.daily_budget)


async def open_run(app: AppState, _: NoParameters, request: StartRequest) -> wire_types.Opened:
    return wire_types.Opened(run=await app.supervisor.open(request))


class PlanText(NoOrder, frozen=True):
    plan: Annotated[str, Meta(max_length=LARGEST_BYTES, description="The text of its file.")]
    format: Format = Format.MARKDOWN


async def check_plan(app: AppState, _: NoParameters, order: PlanText) -> wire_types.PlanCheck:
    name = f"plan.{ending_of(order.format)}"
    data = order.plan.encode(errors="replace")
    found = await anyio.to_thread.run_sync(read_plan, name, data)
    return wire_types.PlanCheck(
        plan=found.plan,
        problems=[
            wire_types.PlanProblem(line=each.line, problem=each.problem, expected=each.expected)
            for each in found.problems
        ],
    )


async def command(app: AppState, params: CommandTarget, body: Struct) -> Done:
    return await do(app.supervisor, params.run, action_in(body, params.run), BY)


class SettingOrder(NoOrder, frozen=True):
    """A change of one setting in the checkout's allstop.toml."""

    key: Annotated[str, Meta(min_length=1, max_length=300, description="Such as loop.mode.")]
    digest: Annotated[str, Meta(max_length=64, description="Of the file as it was shown.")]
    value: Annotated[
        str | int | float | bool | list[Any] | dict[str, Any] | UnsetType,
        Meta(description="Without a value, the setting goes back to its default."),
    ] = UNSET


class SetupOrder(NoOrder, frozen=True):
    agent: Annotated[str, Meta(max_length=100, description="A detected agent, or scripted.")] = ""


async def change_setting(
    app: AppState, _: NoParameters, order: SettingOrder
) -> wire_types.SettingList:
    write_setting(app.project, Change(key=order.key, value=order.value, digest=order.digest))
    app.settings.reload_if_changed()
    return app.settings.listed


async def set_up(app: AppState, _: NoParameters, order: SetupOrder) -> wire_types.Checkup:
    """Write allstop.toml. If it exists, only the scripted agent can be added to it."""
    project = app.project
    if not (project.repository / FILE_NAME).exists():
        init.write_settings(project, order.agent)
    elif order.agent == init.SCRIPTED.name:
        init.add_scripted(project)
    else:
        hint = "change it under Settings"
        raise AllstopError(f"{FILE_NAME} already exists", hint, code="settings_file_exists")
    app.settings.reload_if_changed()
    return await runs.checkup(app, _)


async def new_link(app: AppState, _: NoParameters, order: NoOrder) -> wire_types.Link:
    return wire_types.Link(path=f"/?key={app.keys.make()}")
