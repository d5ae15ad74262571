"""Kinds of arguments: why a value is not of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from allstop.policy.awk import assigns, only_prints
from allstop.policy.paths import Where, readable
from allstop.policy.sed_patterns import between

LONGEST_SCRIPT = 400

_NUMBER = re.compile(r"[-+]?\d{1,12}(?:\.\d{1,6})?[A-Za-z%]{0,3}")
_NAME = re.compile(r"(?!.*\.\.)[\w.+/@-]+")
_MAGIC = re.compile(r"^(?:\([a-z,:]*\)|[!^/])+")
"""How git's patterns of paths begin."""
_OPEN_KEY = re.compile(
    r"(?i:(?:user|author|committer|core|init|branch|remote|pull|push|merge|diff|color|commit|fetch|rebase"
    r"|rerere|submodule|tag|log|status|format|apply|column|gc|index|feature|advice|safe|lfs|extensions)"
    r"\.[\w./-]+)"
)
_SIGNATURE = re.compile(r"%[<>|+ -]*G|signature")

Kind = Callable[[str, Where], str]


def _number(value: str, where: Where) -> str:
    return "" if _NUMBER.fullmatch(value) else f"{value} is no number"


def _name(value: str, where: Where) -> str:
    return "" if _NAME.fullmatch(value) else f"{value} is no name"


def _key(value: str, where: Where) -> str:
    """Of git's settings; without a dot it would be a command of `git config`."""
    if "." not in value:
        return f"{value} is no key"
    is_open = _OPEN_KEY.fullmatch(value) and not re.search("(?i)pass|token|secret|key|auth", value)
    return "" if is_open else f"{value} may hold secrets"


def _format(value: str, where: Where) -> str:
    return f"{value} asks for more than text" if _SIGNATURE.search(value) else ""


def _object(value: str, where: Where) -> str:
    """Of the programs for object files, which read more options from a file after an @."""
    return f"{value} may be a list of options" if value.startswith("@") else readable(value, where)


def _archive(value: str, where: Where) -> str:
    """Of tar, for which a colon means another machine."""
    return f"{value} may be on another machine" if ":" in value else readable(value, where)


def _revision(value: str, where: Where) -> str:
    """Of git: it may be a path as well, so it stays inside like one; so does a path after a colon."""
    if ":" in value and ".." in re.split("[:/]", value):
        return f"{value} may lead outside the workspace"
    before, colon, path = value.rpartition(":")
    if not colon:
        return readable(value, where)
    path = _MAGIC.sub("", path)
    return (readable(path, where) if path else "") or (readable(before, where) if before else "")


def _lines(value: str, where: Where) -> str:
    """Of git's -L: 1,5:FILE or :NAME:FILE."""
    _, _, path = value.rpartition(":")
    return readable(path, where)


def _plus(value: str, where: Where) -> str:
    return "" if value.startswith("+") else f"{value} would set something"


def _slight(value: str, where: Where) -> str:
    """Of printf and the like, where some shells evaluate what looks like an index."""
    return f"{value} could be evaluated" if re.search(r"[$`\[]|%[^A-Za-z%]*n", value) else ""


_SED_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{between('/')}/I?)"
_SED_RANGE = rf"(?:{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|[+~]\d+))?!?)?"
_SED_CHANGE = "|".join(
    rf"s{mark}{between(mark)}{mark}(?:[^{mark}\\\n]|\\[^\n])*{mark}[gpiImM0-9]*"
    for mark in ("/", "#", ",", "@", ":", r"\|")
)
_SED_STEP = rf" *{_SED_RANGE} *(?:[pdqPDnNhHgGx=l]|{_SED_CHANGE}) *"
_SED_ONE = rf"(?:{_SED_STEP}| *{_SED_RANGE} *\{{{_SED_STEP}(?:;{_SED_STEP})*;? *\}} *)"
_SED = re.compile(rf"{_SED_ONE}(?:[;\n]{_SED_ONE})*;?")


def _sed(value: str, where: Where) -> str:
    return (
        ""
        if len(value) <= LONGEST_SCRIPT and _SED.fullmatch(value)
        else f"{value} can do more than print"
    )


def _awk(value: str, where: Where) -> str:
    return "" if only_prints(value) else f"{value} can do more than print"


def _assignment(value: str, where: Where) -> str:
    return "" if assigns(value) else f"{value} is no variable of the program's own"


_JQ_MORE = re.compile(
    r"(?<![.\w])(?:env|import|include|input_filename|modulemeta|get_search_list)\b|\bENV\b|\$__"
)


def _jq(value: str, where: Where) -> str:
    return f"{value} reads more than its input" if _JQ_MORE.search(value) else ""


_KINDS: Mapping[str, Kind] = {
    "num": _number,
    "text": lambda value, where: "",
    "path": readable,
    "archive": _archive,
    "object": _object,
    "rev": _revision,
    "lines": _lines,
    "name": _name,
    "format": _format,
    "key": _key,
    "plus": _plus,
    "slight": _slight,
    "sed": _sed,
    "awk": _awk,
    "assignment": _assignment,
    "jq": _jq,
}


def unlike(kind: str, value: str, where: Where) -> str:
    """Nothing if the value is of this kind; a kind with bars is a list of words."""
    if kind in _KINDS:
        return _KINDS[kind](value, where)
    return "" if value in kind.split("|") else f"{value} is not on the list"
