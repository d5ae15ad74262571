"""Programs whose arguments are little languages: only sentences that can do no harm."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from allstop.policy.find import find
from allstop.policy.options import Shape, misfit
from allstop.policy.paths import Where

Words = tuple[str, ...]
Check = Callable[[Words, Where], str]

_TESTS = frozenset(["-f", "-d", "-e", "-s", "-r", "-w", "-x", "-L", "-h"])


def _test(words: Words, where: Where) -> str:
    """Other tests evaluate what they are given: `test -v 'a[$(…)]'`."""
    if len(words) != 2 or words[0] not in _TESTS:
        return "only a test of one file"
    return "" if where.leads(words[1]) is not None else f"{words[1]} is outside the workspace"


def _anything(words: Words, where: Where) -> str:
    return ""


def _tar(words: Words, where: Where) -> str:
    """Only lists; the letters may come without a dash."""
    shape = Shape(
        options="-t -v -z -j -J -f=archive --list --verbose --gzip --bzip2 --xz --file=archive",
        operands="text*",
        needs=("-t", "--list"),
    )
    if words and re.fullmatch(r"t[vzjJ]*f", words[0]):
        words = (f"-{words[0]}", *words[1:])
    return misfit(shape, words, where)


def _java(words: Words, where: Where) -> str:
    return "" if words in {("-version",), ("--version",)} else "only -version"


def _sleep(words: Words, where: Where) -> str:
    if len(words) == 1 and re.fullmatch(r"\d{1,2}(?:\.\d{1,3})?s?", words[0]):
        return "" if float(words[0].rstrip("s")) <= 60 else "longer than a minute"
    return "only a number of seconds, up to 60"


def _command(words: Words, where: Where) -> str:
    """Only where a program is; otherwise it runs one."""
    if len(words) >= 2 and words[0] in ("-v", "-V"):
        return misfit(Shape(operands="name*"), words[1:], where)
    return "it runs another program"


def _ps(words: Words, where: Where) -> str:
    """Not with `e`, which shows environments."""
    known = {(), ("aux",), ("-ef",), ("-e",), ("-A",), ("-aux",), ("ax",), ("-eo", "pid,comm")}
    if len(words) == 2 and re.fullmatch(r"--sort=-?%?(?:mem|cpu|rss|pid)", words[1]):
        words = words[:1]
    return "" if words in known else "only aux, ax, -e, -ef, -A"


def _shell(words: Words, where: Where) -> str:
    return "" if words == ("--version",) else "it runs what it is given"


def _python(words: Words, where: Where) -> str:
    """Only its version: with -m a file of the workspace can take the place of any module."""
    return "" if words in {("--version",), ("-V",)} else "it runs what it is given"


_VARIABLES = frozenset(
    [
        "PATH",
        "HOME",
        "PWD",
        "USER",
        "SHELL",
        "LANG",
        "TERM",
        "LOGNAME",
        "HOSTNAME",
        "EDITOR",
        "VIRTUAL_ENV",
    ]
)


def _printenv(words: Words, where: Where) -> str:
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
