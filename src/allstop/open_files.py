"""How many files this process may hold open; what it starts has the limit that it was given itself.

The usual soft limit of 1,024 is too low for many agents and listeners. It is there for programs
that ask with `select` which of their files are ready, and fail beyond it: so nobody inherits ours.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress

_FILES = resource.RLIMIT_NOFILE


class _Soft:
    given: int | None = None  # before it was raised


def hold_many() -> None:
    """As many as the hard limit allows, for the rest of this process's life."""
    soft, hard = resource.getrlimit(_FILES)
    if soft == hard:
        return
    with suppress(ValueError, OSError):  # a system may have another limit above this one
        resource.setrlimit(_FILES, (hard, hard))
        _Soft.given = soft


def given() -> int | None:
    """What a program has to be limited to again; None where nothing was raised."""
    return _Soft.given


def give_back(pid: int) -> None:
    """To a program that was just started and does nothing by itself to have it."""
    if _Soft.given is not None and sys.platform == "linux":
        with suppress(ProcessLookupError, PermissionError):
            hard = resource.getrlimit(_FILES)[1]
            resource.prlimit(pid, _FILES, (_Soft.given, hard))
