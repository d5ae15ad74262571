"""The root of what can be said to a person about a mistake."""

from __future__ import annotations


class AllstopError(Exception):
    """Something is wrong that a person can put right."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotFoundError(AllstopError):
    """What was named is not there."""
