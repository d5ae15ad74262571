"""Aborts a run: ends it for good, whichever process drives it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.runs.commands import deliver_command
from allstop.app.runs.status import record_of
from allstop.core.commands import Abort
from allstop.core.errors import AllstopError
from allstop.core.ids import BOARD, RunId
from allstop.core.moves import Outcome
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.engine.local import LocalEngine


class Aborted(NamedTuple):
    run: RunId
    kept: str  # what is left of it, as the end of a sentence
    driven: bool
    over: bool  # it has ended; else the driving process will end it
    goes_on: str  # the command that drives it


async def abort(
    project: Project, name: str, by: str = "user", *, engine: LocalEngine | None = None
) -> Aborted:
    """If no process drives the run, `engine` or a new one ends it here.

    Raises AllstopError if there is no such run, it is over, or it is the board.
    """
    recorded = await record_of(project, name)
    if recorded.run == BOARD:
        raise AllstopError(
            "the board can't be aborted",
            "abort its tasks by name; `allstop stop board` ends their agents",
            code="board_never_ends",
        )
    effect = await deliver_command(project, name, Abort(), by)
    is_left = not effect.driven and recorded.opened.parent is None
    over = is_left and await _carried_out(project, recorded.run, engine)
    kept = recorded.kind.kept_after_abort(name)
    goes_on = recorded.kind.resume_command(recorded.run, recorded.opened)
    return Aborted(recorded.run, kept, effect.driven, over, goes_on)


async def _carried_out(project: Project, run: RunId, engine: LocalEngine | None) -> bool:
    """False if an Allstop holds the run, another process drives it, or there is no sandbox."""
    if engine is not None:
        return await _end_here(engine, run)
    from allstop.app.runtime import start_runtime

    with suppress(AllstopError):
        async with start_runtime(project) as made:
            return await _end_here(made.engine, run)
    return False


async def _end_here(engine: LocalEngine, run: RunId) -> bool:
    with suppress(HeldError):
        await engine.take(run)
        return isinstance(await engine.rested(run), Outcome)
    return False
