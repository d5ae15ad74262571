"""Argument types: checks a value and says why it doesn't fit."""

import re
from collections.abc import Callable, Mapping

from allstop.policy.awk import assigns, only_prints
from allstop.policy.paths import PathScope, unreadable_reason
from allstop.policy.sed_patterns import regex_between

MAX_SCRIPT_CHARS = 400

_NUMBER = re.compile(r"[-+]?\d{1,12}(?:\.\d{1,6})?[A-Za-z%]{0,3}")
_NAME = re.compile(r"(?!.*\.\.)[\w.+/@-]+")
_PATHSPEC_MAGIC = re.compile(r"^(?:\([a-z,:]*\)|[!^/])+")
"""The prefix of a git pathspec."""
_PUBLIC_KEY = re.compile(
    r"(?i:(?:user|author|committer|core|init|branch|remote|pull|push|merge|diff|color|commit|fetch|rebase"
    r"|rerere|submodule|tag|log|status|format|apply|column|gc|index|feature|advice|safe|lfs|extensions)"
    r"\.[\w./-]+)"
)
_SIGNATURE = re.compile(r"%[<>|+ -]*G|signature")

KindCheck = Callable[[str, PathScope], str]


def _number(value: str, where: PathScope) -> str:
    return "" if _NUMBER.fullmatch(value) else f"{value} is not a number"


def _name(value: str, where: PathScope) -> str:
    return "" if _NAME.fullmatch(value) else f"{value} is not a name"


def _key(value: str, where: PathScope) -> str:
    """A key of git's configuration; without a dot it would be a subcommand of `git config`."""
    if "." not in value:
        return f"{value} is not a key"
    is_open = _PUBLIC_KEY.fullmatch(value) and not re.search(
        "(?i)pass|token|secret|key|auth", value
    )
    return "" if is_open else f"{value} may hold secrets"


def _format(value: str, where: PathScope) -> str:
    return f"{value} may run a program to verify signatures" if _SIGNATURE.search(value) else ""


def _object(value: str, where: PathScope) -> str:
    """A file for binutils programs, which read more options from a file named after an @."""
    return (
        f"{value} may be a list of options"
        if value.startswith("@")
        else unreadable_reason(value, where)
    )


def _archive(value: str, where: PathScope) -> str:
    """A file for tar, which takes a name with a colon as one on another machine."""
    return f"{value} may be on another machine" if ":" in value else unreadable_reason(value, where)


def _revision(value: str, where: PathScope) -> str:
    """A revision for git; it may be a path or contain one, so it is checked as one."""
    if ":" in value and ".." in re.split("[:/]", value):
        return f"{value} may lead outside the workspace"
    before, colon, path = value.rpartition(":")
    if not colon:
        return unreadable_reason(value, where)
    path = _PATHSPEC_MAGIC.sub("", path)
    return (unreadable_reason(path, where) if path else "") or (
        unreadable_reason(before, where) if before else ""
    )


def _lines(value: str, where: PathScope) -> str:
    """The value of git's -L: 1,5:FILE or :NAME:FILE."""
    _, _, path = value.rpartition(":")
    return unreadable_reason(path, where)


def _plus(value: str, where: PathScope) -> str:
    return "" if value.startswith("+") else f"{value} would set something"


def _literal(value: str, where: PathScope) -> str:
    """An argument of printf and the like; some shells evaluate text that looks like an index."""
    return f"{value} could be evaluated" if re.search(r"[$`\[]|%[^A-Za-z%]*n", value) else ""


_SED_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{regex_between('/')}/I?)"
_SED_RANGE = rf"(?:{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|[+~]\d+))?!?)?"
_SED_CHANGE = "|".join(
    rf"s{mark}{regex_between(mark)}{mark}(?:[^{mark}\\\n]|\\[^\n])*{mark}[gpiImM0-9]*"
    for mark in ("/", "#", ",", "@", ":", r"\|")
)
_SED_STEP = rf" *{_SED_RANGE} *(?:[pdqPDnNhHgGx=l]|{_SED_CHANGE}) *"
_SED_ONE = rf"(?:{_SED_STEP}| *{_SED_RANGE} *\{{{_SED_STEP}(?:;{_SED_STEP})*;? *\}} *)"
_SED = re.compile(rf"{_SED_ONE}(?:[;\n]{_SED_ONE})*;?")


def _sed(value: str, where: PathScope) -> str:
    return (
        ""
        if len(value) <= MAX_SCRIPT_CHARS and _SED.fullmatch(value)
        else f"{value} can do more than print"
    )


def _awk(value: str, where: PathScope) -> str:
    return "" if only_prints(value) else f"{value} can do more than print"


def _assignment(value: str, where: PathScope) -> str:
    return "" if assigns(value) else f"{value} doesn't set a variable of the program"


_JQ_OUTSIDE_INPUT = re.compile(
    r"(?<![.\w])(?:env|import|include|input_filename|modulemeta|get_search_list)\b|\bENV\b|\$__"
)


def _jq(value: str, where: PathScope) -> str:
    return f"{value} reads more than its input" if _JQ_OUTSIDE_INPUT.search(value) else ""


_KINDS: Mapping[str, KindCheck] = {
    "num": _number,
    "text": lambda value, where: "",
    "path": unreadable_reason,
    "archive": _archive,
    "object": _object,
    "rev": _revision,
    "lines": _lines,
    "name": _name,
    "format": _format,
    "key": _key,
    "plus": _plus,
    "literal": _literal,
    "sed": _sed,
    "awk": _awk,
    "assignment": _assignment,
    "jq": _jq,
}


def kind_mismatch(kind: str, value: str, where: PathScope) -> str:
    """Why a value is not of a kind; "" if it is. A kind with bars lists the allowed values."""
    if kind in _KINDS:
        return _KINDS[kind](value, where)
    return "" if value in kind.split("|") else f"{value} is not on the list"
