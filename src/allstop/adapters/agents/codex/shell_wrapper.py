"""The commands codex runs, out of the shell that it puts around each."""

from __future__ import annotations

import re
import shlex

_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh")
_LITERAL = re.compile(r"[\w@%+=:,./ '\"-]*")
"""A command in which a shell would find nothing to do but to cut it into words."""


def line_of(command: str) -> str:
    """The line, out of the shell that codex puts around it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_wrapped = len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in ("-c", "-lc")
    return words[2] if is_wrapped else command


def argv_of(command: str) -> tuple[str, ...]:
    """Its words. A line with more in it than words stays what it is: a shell's argument."""
    line = line_of(command)
    try:
        words = shlex.split(line) if _LITERAL.fullmatch(line) else []
        if words and "=" not in words[0]:
            return tuple(words)
        return tuple(shlex.split(command))
    except ValueError:
        return ()
