"""Whether a command only looks at things: its program and every argument are on the list."""

from __future__ import annotations

from allstop.policy.grep import SEARCHES, hunts
from allstop.policy.inline_scripts import CHECKS
from allstop.policy.options import Shape, Taken, misfit, taken
from allstop.policy.paths import Where
from allstop.policy.read_only_programs import PROGRAMS, SUBCOMMANDS

Words = tuple[str, ...]

_SELF_EXPLAINING = frozenset({*PROGRAMS, "find", "tar"}) - {":", "printf", "type"}


def looks(words: Words, where: Where) -> tuple[str, str]:
    """The name of what is done, and why that is not clearly harmless."""
    name, rest = words[0], words[1:]
    if rest in (("--help",), ("--version",)) and name in _SELF_EXPLAINING:
        return f"{name} {rest[0]}", ""
    if name in CHECKS:
        return name, CHECKS[name](rest, where)
    if rest and (shape := SUBCOMMANDS.get(name, {}).get(rest[0])):
        return f"{name} {rest[0]}", misfit(shape, rest[1:], where)
    if shape := PROGRAMS.get(name):
        return name, misfit(shape, rest, where) or _hunting(shape, words, where)
    return name, "not on the list"


def _hunting(shape: Shape, words: Words, where: Where) -> str:
    if words[0] in SEARCHES:
        return hunts(words[0], taken(shape, words[1:], where), where)
    return _shows_folders(taken(shape, words[1:], where), where) if words[0] == "diff" else ""


def _shows_folders(given: Taken, where: Where) -> str:
    """Of diff: a file that is only in one of two folders would be shown from end to end."""
    if not given.has("-r", "--recursive") or given.has("-q", "--brief"):
        return ""
    at_root = any(() in (where.leads(path) or ()) for path in given.operands)
    is_new = given.has("-N", "--new-file")
    return "it would show files that may hold secrets; -q names them" if at_root or is_new else ""
