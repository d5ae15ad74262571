"""Commands in which a shell would find nothing to do but to cut them into words."""

from __future__ import annotations

import shlex

_SHELL = frozenset("$`*?[]{}~!#;&|<>()\n\r\\")


def literal_words(command: str) -> tuple[str, ...]:
    """The words of one plain command; none where a shell would make anything else of it."""
    if not _SHELL.isdisjoint(command):
        return ()
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    return tuple(words) if words and "=" not in words[0] else ()
