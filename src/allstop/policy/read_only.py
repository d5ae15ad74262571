"""Whether a command is read-only: its program and all its arguments are on the list."""

from allstop.policy.grep import SEARCHES, search_risk
from allstop.policy.inline_scripts import CHECKS
from allstop.policy.options import ArgumentSpec, ParsedArguments, mismatch, parse_arguments
from allstop.policy.paths import PathScope
from allstop.policy.read_only_programs import PROGRAMS, SUBCOMMANDS

Words = tuple[str, ...]

_WITH_HELP = frozenset({*PROGRAMS, "find", "tar"}) - {":", "printf", "type"}


def check_read_only(words: Words, where: PathScope) -> tuple[str, str]:
    """The command's name on the list, and why it needs permission; "" if it doesn't."""
    name, rest = words[0], words[1:]
    if rest in (("--help",), ("--version",)) and name in _WITH_HELP:
        return f"{name} {rest[0]}", ""
    if name in CHECKS:
        return name, CHECKS[name](rest, where)
    if rest and (spec := SUBCOMMANDS.get(name, {}).get(rest[0])):
        return f"{name} {rest[0]}", mismatch(spec, rest[1:], where)
    if spec := PROGRAMS.get(name):
        return name, mismatch(spec, rest, where) or _secret_risk(spec, words, where)
    return name, "not on the list"


def _secret_risk(spec: ArgumentSpec, words: Words, where: PathScope) -> str:
    if words[0] in SEARCHES:
        return search_risk(words[0], parse_arguments(spec, words[1:], where), where)
    return _diff_risk(parse_arguments(spec, words[1:], where), where) if words[0] == "diff" else ""


def _diff_risk(arguments: ParsedArguments, where: PathScope) -> str:
    """For diff, which shows the whole content of files that exist in only one folder."""
    if not arguments.has("-r", "--recursive") or arguments.has("-q", "--brief"):
        return ""
    at_root = any(() in (where.resolve(path) or ()) for path in arguments.operands)
    is_new = arguments.has("-N", "--new-file")
    return "it would show files that may hold secrets; -q names them" if at_root or is_new else ""
