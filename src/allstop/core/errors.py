"""Errors that a person can do something about."""

from __future__ import annotations

from typing import ClassVar


class AllstopError(Exception):
    """Something is wrong that a person can put right.

    `code` names the cause and never changes; `message` and `hint` are wording.
    """

    default_code: ClassVar[str] = "refused"

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code


class NotFoundError(AllstopError):
    """The named thing does not exist."""

    default_code = "not_found"
