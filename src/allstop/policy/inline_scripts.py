"""Checks of programs whose arguments need code rather than a table: test, tar, ps, find …"""

import re
from collections.abc import Callable, Mapping

from allstop.policy.command_line import word_set
from allstop.policy.find import find
from allstop.policy.options import ArgumentSpec, mismatch
from allstop.policy.paths import PathScope

Words = tuple[str, ...]
Check = Callable[[Words, PathScope], str]

_TESTS = word_set("-f -d -e -s -r -w -x -L -h")


def _test(words: Words, where: PathScope) -> str:
    """Other tests can evaluate their argument: `test -v 'a[$(…)]'`."""
    if len(words) != 2 or words[0] not in _TESTS:
        return "only tests of one file are allowed"
    return "" if where.resolve(words[1]) is not None else f"{words[1]} is outside the workspace"


def _anything(words: Words, where: PathScope) -> str:
    return ""


def _tar(words: Words, where: PathScope) -> str:
    """Only listing; the option letters may come without a dash."""
    spec = ArgumentSpec(
        "-t -v -z -j -J -f=archive --list --verbose --gzip --bzip2 --xz --file=archive",
        operands="text*",
        needs=("-t", "--list"),
    )
    if words and re.fullmatch(r"t[vzjJ]*f", words[0]):
        words = (f"-{words[0]}", *words[1:])
    return mismatch(spec, words, where)


def _java(words: Words, where: PathScope) -> str:
    return "" if words in {("-version",), ("--version",)} else "only -version is allowed"


def _sleep(words: Words, where: PathScope) -> str:
    if len(words) == 1 and re.fullmatch(r"\d{1,2}(?:\.\d{1,3})?s?", words[0]):
        return "" if float(words[0].rstrip("s")) <= 60 else "longer than a minute"
    return "only up to 60 seconds are allowed"


def _command(words: Words, where: PathScope) -> str:
    """Only -v and -V, which locate a program; otherwise it runs one."""
    if len(words) >= 2 and words[0] in ("-v", "-V"):
        return mismatch(ArgumentSpec(operands="name*"), words[1:], where)
    return "it runs another program"


def _ps(words: Words, where: PathScope) -> str:
    """Without `e`, which shows environment variables."""
    known = {(), ("aux",), ("-ef",), ("-e",), ("-A",), ("-aux",), ("ax",), ("-eo", "pid,comm")}
    if len(words) == 2 and re.fullmatch(r"--sort=-?%?(?:mem|cpu|rss|pid)", words[1]):
        words = words[:1]
    return "" if words in known else "only aux, ax, -e, -ef and -A are allowed"


def _shell(words: Words, where: PathScope) -> str:
    return "" if words == ("--version",) else "it runs what it is given"


def _python(words: Words, where: PathScope) -> str:
    """Only its version: with -m, a file of the workspace can replace any module."""
    return "" if words in {("--version",), ("-V",)} else "it runs what it is given"


_VARIABLES = word_set("PATH HOME PWD USER SHELL LANG TERM LOGNAME HOSTNAME EDITOR VIRTUAL_ENV")


def _printenv(words: Words, where: PathScope) -> str:
    return "" if words and _VARIABLES.issuperset(words) else "variables may hold secrets"


CHECKS: Mapping[str, Check] = {
    "echo": _anything,
    "true": _anything,
    "false": _anything,
    "find": find,
    "bash": _shell,
    "sh": _shell,
    "python": _python,
    "python3": _python,
    "test": _test,
    "tar": _tar,
    "java": _java,
    "javac": _java,
    "sleep": _sleep,
    "command": _command,
    "ps": _ps,
    "printenv": _printenv,
}
