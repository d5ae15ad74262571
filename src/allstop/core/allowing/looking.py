"""Whether a command only looks at things: its program and every argument are on the list."""

from __future__ import annotations

import re

from allstop.core.allowing.finding import Fed, find, names_code
from allstop.core.allowing.options import Shape, Taken, misfit, taken
from allstop.core.allowing.places import Where
from allstop.core.allowing.programs import PROGRAMS, SUBCOMMANDS
from allstop.core.allowing.scripts import CHECKS
from allstop.core.allowing.searching import GREPS, SEARCHES, hunts, reveals
from allstop.core.shell_words import Simple, set_of

Words = tuple[str, ...]

_SUMS = set_of("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum")
_DISCREET = _SUMS | set_of("ls stat file wc du basename dirname realpath readlink test echo")
"""They tell about files, not what is in them."""
_DEAF = _SUMS | GREPS | set_of("ls cat head tail nl stat tac basename dirname echo")
"""No option of theirs does harm, so that a file whose name looks like one does none either."""
_HELPFUL = set_of("cargo docker gh npm pip pip3 python python3 ruff uv")
"""Explained without reading a file of the workspace first, as pytest and yarn do."""
_NOT_TIMED = set_of("time timeout cd xargs")


def looks(words: Words, where: Where) -> tuple[str, str]:
    """The name of what is done, and why that is not clearly harmless."""
    name, rest = words[0], words[1:]
    if name == "find":
        return name, find(rest, where, lambda fed: _given_files(fed, where))
    if rest[-1:] == ("--help",) and _is_help(name, rest[:-1]):
        return f"{name} --help", ""
    if name in CHECKS:
        return name, CHECKS[name](rest, where)
    if rest and (shape := SUBCOMMANDS.get(name, {}).get(rest[0])):
        return f"{name} {rest[0]}", misfit(shape, rest[1:], where)
    if shape := PROGRAMS.get(name):
        words = _without_arguments(words) if name == "jq" else words
        return name, misfit(shape, words[1:], where) or _hunting(shape, words, where)
    return name, "not on the list"


def _without_arguments(words: Words) -> Words:
    """Of jq, whose --arg takes a name and a value that its program can only print."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word not in ("--arg", "--argjson"):
            kept.append(word)
        elif next(rest, "-").startswith("-") or next(rest, None) is None:
            return (*kept, word)
    return tuple(kept)


def _is_help(name: str, topic: Words) -> bool:
    if topic:
        return name in _HELPFUL and len(topic) == 1 and bool(re.fullmatch("[a-z-]+", topic[0]))
    return name in _HELPFUL or name in PROGRAMS


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


def untimed(words: Words) -> Words:
    """What a program that only waits for another one starts; the same words where that is not sure."""
    match words:
        case ("timeout", limit, name, *rest) if re.fullmatch(r"\d{1,5}[smh]?", limit):
            inner = (name, *rest)
        case ("time", "-p", name, *rest) | ("time", name, *rest):
            inner = (name, *rest)
        case _:
            return words
    return words if inner[0] in _NOT_TIMED or inner[0].startswith("-") else inner


def _is_discreet(words: Words, where: Where) -> bool:
    if words[0] in GREPS:
        return not reveals(taken(PROGRAMS[words[0]], words[1:], where))
    return words[0] in _DISCREET


def _given_files(fed: Fed, where: Where) -> str:
    """Why this program may not be given what find finds."""
    name = fed.words[0]
    if name == "find":
        return f"{name} is not given files"
    for words in fed.readings():
        if why := looks(words, where)[1]:
            return why
    if _is_discreet(fed.readings()[0], where) or names_code(fed.before):
        return ""
    return f"{name} would show files that may hold secrets"


def loose(command: Simple) -> str:
    """Why patterns of files as wide as these are not for this program."""
    name = command.words[0]
    counts = name in ("wc", "du") and not command.may_be_secrets
    if command.may_be_options and name not in _DEAF and not counts:
        return f"{name}: a file's name could be an option"
    if command.may_be_secrets and name not in _DISCREET:
        return f"{name}: files that may hold secrets"
    return ""


_LISTERS = set_of("find fd fdfind ls")
_NAMES_ONLY = re.compile("-[a-zA-Z0]*l[a-zA-Z0]*|--files|--files-with-matches")
_FILTERS = set_of("head tail sort uniq grep")
_XARGS = Shape(
    options="-0 --null -r --no-run-if-empty -n=num -P=num -L=num --max-args=num --max-procs=num"
)


def xargs(words: Words, before: tuple[Words, ...], where: Where) -> str:
    """Names of files come from the commands before it, and blanks in names can split them."""
    start = next((at for at, word in enumerate(words) if at and _is_program(words, at)), 0)
    if not start or (why := misfit(_XARGS, words[1:start], where)):
        return why if start else "only with a program"
    is_whole = bool({"-0", "--null"}.intersection(words[1:start]))
    program, source = words[start:], _source(before)
    if not source:
        return "nobody knows where its arguments come from"
    fed = Fed(words=(*program, "{}"), most=3, before=source[1:])
    is_found = is_whole and source[0] == "find" and source[-1] == "-print0" and source is before[-1]
    if program[0] not in _DEAF and not (is_found and program[0] in _DISCREET):
        return f"{program[0]}: a file's name could be an option"
    if is_found:
        return _given_files(fed, where)
    if any(looks(each, where)[1] for each in fed.readings()):
        return looks(fed.readings()[0], where)[1] or "more arguments than it may have"
    discreet = _is_discreet(fed.readings()[0], where)
    return "" if discreet else f"{program[0]}: names with blanks could lead outside"


def _is_program(words: Words, at: int) -> bool:
    takes_value = words[at - 1] in ("-n", "-P", "-L")
    return not words[at].startswith("-") and not takes_value


def _source(before: tuple[Words, ...]) -> Words:
    """The command of a pipeline that lists files of the workspace, if it is one."""
    for words in reversed(before):
        if words[0] in _LISTERS or words[:2] in {("git", "ls-files"), ("git", "diff")}:
            return words
        if words[0] in SEARCHES and any(_NAMES_ONLY.fullmatch(word) for word in words):
            return words
        if words[0] not in _FILTERS or not _only_filters(words):
            return ()
    return ()


def _only_filters(words: Words) -> bool:
    """Reads what comes through the pipe, no file."""
    nowhere = Where(root="/")
    return len(taken(PROGRAMS[words[0]], words[1:], nowhere).operands) <= (words[0] in GREPS)
