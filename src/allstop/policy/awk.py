"""Recognizes awk programs that only print: all tokens are known, none writes, runs or fetches.

Constructs that implementations of awk read differently are refused, such as a slash that may divide
or begin a pattern. A `>` compares in parentheses and outside braces, and writes a file elsewhere.
"""

import re
from itertools import pairwise

from allstop.policy.command_line import word_set
from allstop.policy.sed_patterns import regex_between

MAX_CHARS = 400

_TOKEN = re.compile(
    r"""(?P<blank>[ ]+)
    |(?P<end>[;\n])
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<number>\d+(?:\.\d+)?(?![\w.]))
    |(?P<name>[A-Za-z_]\w*)
    |(?P<slash>/)
    |(?P<bracket>[(){}\[\]])
    |(?P<mark>&&|\|\||[-+*%^<>=!]=|\+\+|--|[-+*%^<>=!~?:,$])""",
    re.VERBOSE,
)
_PATTERN = re.compile(rf"/{regex_between('/')}/")
_OPENING = {")": "(", "}": "{", "]": "["}

_WORDS = word_set("BEGIN END print printf if else for in next nextfile exit delete")
_FUNCTIONS = word_set(
    "length substr index split sub gsub match tolower toupper sprintf int sqrt log exp sin cos atan2"
    " rand"
)
_VARIABLES = word_set("NR NF FNR FS OFS RS ORS FILENAME SUBSEP RSTART RLENGTH OFMT CONVFMT")
_FORBIDDEN = word_set(
    "system getline close fflush function func while do return switch case default"
)
_BEFORE_PARENTHESES = _FUNCTIONS | word_set("if else for in print printf exit")
_BEFORE_DIVISION = re.compile(r"[a-z_]\w*|N[RF]|FNR|\d[\d.]*|\]")

Token = tuple[str, str]


def only_prints(program: str) -> bool:
    if not program.strip() or len(program) > MAX_CHARS:
        return False
    tokens = _tokens(program)
    return tokens is not None and _is_balanced(tokens) and _is_known(tokens)


def assigns(value: str) -> bool:
    """Whether a value of -v sets a variable of the program, or a field or record separator."""
    name, equals, _ = value.partition("=")
    own = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in _FORBIDDEN | _FUNCTIONS | _WORDS
    return bool(equals) and bool(own or name in ("FS", "OFS", "RS", "ORS"))


def _tokens(program: str) -> list[Token] | None:
    """The tokens with their kinds; None if something is unknown."""
    tokens: list[Token] = []
    place = 0
    while place < len(program):
        found = _TOKEN.match(program, place)
        if found is None:
            return None
        kind, text = found.lastgroup or "", found[0]
        if kind == "slash":
            before = next((token for token in reversed(tokens) if token[0] != "blank"), ("", ""))
            told = _slash(program, place, before)
            if told is None:
                return None
            kind, text = told
        tokens.append((kind, text))
        place += len(text)
    return tokens


def _slash(program: str, place: int, before: Token) -> Token | None:
    kind, text = before
    if text in (")", "++", "--") or kind in ("string", "pattern") or text in _FUNCTIONS:
        return None
    if text == "]" or (kind in ("name", "number") and text not in _WORDS):
        divides = _BEFORE_DIVISION.fullmatch(text) and program[place + 1 : place + 2] != "="
        return ("mark", "/") if divides else None
    found = _PATTERN.match(program, place)
    return ("pattern", found[0]) if found else None


def _is_balanced(tokens: list[Token]) -> bool:
    """Whether all brackets match, and nothing is written."""
    opened: list[str] = []
    for _, text in tokens:
        if text in _OPENING and (not opened or opened.pop() != _OPENING[text]):
            return False
        if _writes(text, opened):
            return False
        if text in _OPENING.values():
            opened.append(text)
    return not opened


def _writes(text: str, opened: list[str]) -> bool:
    """Whether it writes: a `>` in an action outside parentheses, or a print outside actions."""
    if "{" not in opened:
        return text in ("print", "printf")
    return text == ">" and opened[-1] != "("


def _is_known(tokens: list[Token]) -> bool:
    """Whether all names are allowed, and only functions that compute are called."""
    names = (text for kind, text in tokens if kind == "name")
    told = [token for token in tokens if token[0] != "blank"]
    called = (one[1] for one, two in pairwise(told) if one[0] == "name" and two[1] == "(")
    return all(map(_is_allowed_name, names)) and _BEFORE_PARENTHESES.issuperset(called)


def _is_allowed_name(name: str) -> bool:
    if name in _FORBIDDEN:
        return False
    return name[0].islower() or name[0] == "_" or name in _WORDS | _VARIABLES
