"""Errors out of the groups that tasks put around them."""

from __future__ import annotations


def first_of(group: ExceptionGroup) -> Exception:
    """Whoever called knows errors, not groups of them."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
