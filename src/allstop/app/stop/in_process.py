"""Stops runs from the process that drives them, also while the store can't be written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio

from allstop.adapters.journals.stop_file import StopFile
from allstop.app.stop.agents import create_stop_file
from allstop.app.stop.everything import STORE_FAILS
from allstop.app.stop.receipts import ANSWER_S
from allstop.core.errors import AllstopError
from allstop.engine.local import LocalEngine

if TYPE_CHECKING:
    from allstop.app.project import Project

ALL_INSTEAD = "■ ALLSTOP of everything: the store takes nothing now, and this needs no store"


class Driving(Protocol):
    """A process's engine and the project that it drives runs of."""

    @property
    def project(self) -> Project: ...
    @property
    def engine(self) -> LocalEngine: ...


def kill_if_stopped(driving: Driving) -> None:
    """Kill the agents if the STOP file exists.

    The file precedes every later write, so no result of theirs counts, even if the journal has
    not recorded the stop yet.
    """
    if StopFile(driving.project.folder / "STOP").exists():
        driving.engine.kill_agents()


async def stop_all(driving: Driving, by: str) -> None:
    create_stop_file(driving.project, by)
    kill_if_stopped(driving)
    with suppress(*STORE_FAILS):  # the STOP file holds
        await driving.engine.allstop(by=by)


async def stop_one(
    driving: Driving, tell: Callable[[], Awaitable[object]], by: str, note: Callable[[str], None]
) -> None:
    """Stop one run by `tell`, or everything if the store does not accept that in time.

    Raises AllstopError if `tell` refuses.
    """
    over = anyio.Event()
    is_told = False
    refusal: AllstopError | None = None

    async def keep_telling() -> None:
        nonlocal is_told, refusal
        try:
            await tell()
            is_told = True
        except STORE_FAILS:
            pass
        except AllstopError as error:
            refusal = error
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(keep_telling)
        with anyio.move_on_after(ANSWER_S):
            await over.wait()
        if not is_told and refusal is None:
            note(ALL_INSTEAD)
            await stop_all(driving, by)
    if refusal is not None:
        raise refusal
