"""Splits shell commands that contain nothing but plain words."""

import shlex

_SHELL = frozenset("$`*?[]{}~!#;&|<>()\n\r\\")


def literal_words(command: str) -> tuple[str, ...]:
    """The words of a plain command; empty if a shell would interpret any of them."""
    if not _SHELL.isdisjoint(command):
        return ()
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    return tuple(words) if words and "=" not in words[0] else ()
