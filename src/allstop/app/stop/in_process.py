"""Stopping in the process that drives, also while the store takes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio

from allstop.adapters.journals.stop_file import StopFile
from allstop.app.stop.allstop import ANSWER_S, raise_stop_file
from allstop.core.errors import AllstopError
from allstop.engine.local import LocalEngine
from allstop.ports import StoreBrokenError, StoreBusyError, StoreFullError

if TYPE_CHECKING:
    from allstop.app.project import Project

TAKES_NOTHING = (StoreBusyError, StoreFullError, StoreBrokenError)
ALL_INSTEAD = "■ ALLSTOP of everything: the store takes nothing now, and this needs no store"


class Place(Protocol):
    """Where runs are driven."""

    @property
    def project(self) -> Project: ...
    @property
    def engine(self) -> LocalEngine: ...


def strike_if_raised(place: Place) -> None:
    """The file counts before whatever is written later, so agents can be ended before the store
    has taken the stop: nothing that comes back from them is taken for a result.
    """
    if StopFile(place.project.folder / "STOP").exists():
        place.engine.strike()


async def stop_all(place: Place, by: str) -> None:
    raise_stop_file(place.project, by)
    strike_if_raised(place)
    with suppress(*TAKES_NOTHING):  # the file says it too
        await place.engine.allstop(by=by)


async def stop_one(
    place: Place, tell: Callable[[], Awaitable[object]], by: str, note: Callable[[str], None]
) -> None:
    """Stop one run by `tell`; everything, where the store doesn't take that while a person waits.

    Raises:
        AllstopError: it can't be told at all.
    """
    over = anyio.Event()
    told = False
    refusal: AllstopError | None = None

    async def keep_telling() -> None:
        nonlocal told, refusal
        try:
            await tell()
            told = True
        except TAKES_NOTHING:
            pass  # then it is said without the store
        except AllstopError as error:
            refusal = error
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(keep_telling)
        with anyio.move_on_after(ANSWER_S):
            await over.wait()
        if not told and refusal is None:
            note(ALL_INSTEAD)
            await stop_all(place, by)
    if refusal is not None:
        raise refusal
