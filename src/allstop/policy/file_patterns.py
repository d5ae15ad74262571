"""Which patterns of file names, such as `src/*.py`, a command may be given unasked.

The folder in which a command starts is not always known, so a pattern must be harmless in each
folder: its program takes any number of files, no match can be an option that matters, and no match
is a file that may hold secrets.
"""

import re

from allstop.policy.command_line import word_set
from allstop.policy.secret_files import CODE

_PATTERN = re.compile(r"[\w./-]*[*?][\w./*?-]*", re.ASCII)
_OPTION = re.compile(r"--(?:include|exclude|exclude-dir)=[\w./*?-]+", re.ASCII)

_NAMES_ONLY = word_set("ls stat")
_ANY_OPTION = _NAMES_ONLY | word_set("cat tac head tail nl")
"""No option of these programs writes, runs a program or names a file with other files' names."""
_SEARCHES = word_set("grep egrep fgrep")


def is_harmless_pattern(words: tuple[str, ...], pattern: str) -> bool:
    """Whether a pattern may follow the words of a command, whatever files it matches."""
    program, arguments = words[0], words[1:]
    if program in _SEARCHES and _OPTION.fullmatch(pattern):
        return True
    if not _PATTERN.fullmatch(pattern) or "**" in pattern or pattern.startswith("-"):
        return False
    steps = pattern.split("/")
    if ".." in steps or any(step.startswith(".") and re.search(r"[*?]", step) for step in steps):
        return False
    if program not in _NAMES_ONLY and not _is_named(steps[-1]):
        return False
    if program in _ANY_OPTION:
        return True
    has_operand = any(not word.startswith("-") for word in arguments)
    return pattern[0] not in "*?" and (program == "wc" or (program in _SEARCHES and has_operand))


def _is_named(step: str) -> bool:
    """Whether the last part of a pattern is a name, or ends like a file of code."""
    is_plain = "*" not in step and "?" not in step
    return bool(step) if is_plain else step.rpartition(".")[2].lower() in CODE and "." in step
