"""Errors that are shown to people, each with a stable code and a hint."""

from typing import ClassVar


class AllstopError(Exception):
    """An error that a person can fix.

    `code` names the cause and never changes; the wording of `message` and `hint` may change.
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
