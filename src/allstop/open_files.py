"""Raises this process's limit of open files; programs it starts get the original limit.

The usual soft limit of 1,024 is too low for many agents and listeners. It exists for programs that
use `select`, which fails for higher descriptors; so children don't inherit the raised limit.
"""

import resource
import sys
from contextlib import suppress

_FILES = resource.RLIMIT_NOFILE


class _Soft:
    given: int | None = None  # the limit before it was raised


def raise_limit() -> None:
    """Raise the soft limit to the hard limit, for the rest of this process's life."""
    soft, hard = resource.getrlimit(_FILES)
    if soft == hard:
        return
    with suppress(ValueError, OSError):  # the system may have a lower limit of its own
        resource.setrlimit(_FILES, (hard, hard))
        _Soft.given = soft


def given() -> int | None:
    """Return the original limit, for programs that set it themselves; None if it wasn't raised."""
    return _Soft.given


def restore_limit(pid: int) -> None:
    """Set the original limit on a program that was just started."""
    if _Soft.given is not None and sys.platform == "linux":
        with suppress(ProcessLookupError, PermissionError):
            hard = resource.getrlimit(_FILES)[1]
            resource.prlimit(pid, _FILES, (_Soft.given, hard))
