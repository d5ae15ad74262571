"""Takes the first error out of nested exception groups."""

from __future__ import annotations


def first_error(group: ExceptionGroup) -> Exception:
    """The innermost first error, for callers that don't handle exception groups."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
