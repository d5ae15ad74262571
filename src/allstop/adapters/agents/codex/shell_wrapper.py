"""Unwraps codex's commands from the shell call around each."""

import re
import shlex

_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh")
_LITERAL = re.compile(r"[\w@%+=:,./ '\"-]*")
"""A command that a shell would only split into words."""


def unwrap(command: str) -> str:
    """The command line without the shell call around it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_wrapped = len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in ("-c", "-lc")
    return words[2] if is_wrapped else command


def unwrap_argv(command: str) -> tuple[str, ...]:
    """The words of the line, or of the whole shell call if the line needs a shell."""
    line = unwrap(command)
    try:
        words = shlex.split(line) if _LITERAL.fullmatch(line) else []
        if words and "=" not in words[0]:
            return tuple(words)
        return tuple(shlex.split(command))
    except ValueError:
        return ()
