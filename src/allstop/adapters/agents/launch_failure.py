"""The failure of a turn whose program could not be launched."""

from allstop.core.errors import AllstopError
from allstop.core.moves import Failed, FailureKind
from allstop.ports import UnsafeError


def failed_launch(error: AllstopError) -> Failed:
    """The failed turn; UNAVAILABLE can be tried again, because the program may be updating."""
    kind = FailureKind.UNSAFE if isinstance(error, UnsafeError) else FailureKind.UNAVAILABLE
    return Failed(kind=kind, message=": ".join(filter(None, (error.message, error.hint))))
