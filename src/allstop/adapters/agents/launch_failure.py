"""A turn whose program could not be started."""

from __future__ import annotations

from allstop.core.errors import AllstopError
from allstop.core.moves import Failed, FailureKind
from allstop.ports import UnsafeError


def unstarted(error: AllstopError) -> Failed:
    """It may be gone for good, or for as long as it is being updated."""
    kind = FailureKind.UNSAFE if isinstance(error, UnsafeError) else FailureKind.UNAVAILABLE
    return Failed(kind=kind, message=": ".join(filter(None, (error.message, error.hint))))
