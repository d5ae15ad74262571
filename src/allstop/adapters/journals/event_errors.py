"""The error for an event of a journal that this program can't read."""

import msgspec

from allstop.core.ids import RunId
from allstop.ports import StoreBrokenError

UNKNOWN_WORD = ("Invalid value", "Invalid enum value")
"""How msgspec's error begins for a tag or a choice that isn't in the table; it has no code."""


def unreadable(run: RunId, seq: int, error: Exception) -> StoreBrokenError:
    """An unknown word comes from a newer program; all else is damage."""
    if isinstance(error, msgspec.ValidationError) and str(error).startswith(UNKNOWN_WORD):
        return StoreBrokenError(
            f"event {seq} of {run} can't be read: this program doesn't know it: {error}",
            "use the newer allstop that wrote it",
            code="event_too_new",
        )
    return StoreBrokenError(f"event {seq} of {run} can't be read: {error}")
