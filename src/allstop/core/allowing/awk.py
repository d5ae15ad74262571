"""Programs of awk that only print: read token by token, and refused where a reader could err.

What awk can do beyond that has few doors: a pipe, a file after print, getline, system, its arguments
and the environment. None of them can be written with the tokens that are known here.
"""

from __future__ import annotations

import re

from allstop.core.shell_words import set_of

LONGEST = 600

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\[^\n])*")|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<end>[\n;{}])|(?P<mark>\+\+|--|&&|\|\||[<>=!+*%^-]=|!~|[-+*%^!<>=~?:,$()\[\]])|(?P<blank>[ \t]+)",
    re.ASCII,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?[^/\]\n]*\])*/")
_SLASH = re.compile("/")
_UNSURE = frozenset({")", "++", "--", "$"})
"""After these a slash may divide or begin a pattern."""
_WORDS = set_of(
    "BEGIN END print printf if else for in while do next exit break continue delete"
    " NR NF FNR FS OFS RS ORS FILENAME RSTART RLENGTH SUBSEP OFMT CONVFMT IGNORECASE FPAT"
)
_FUNCTIONS = set_of(
    "length substr index split sub gsub gensub match sprintf tolower toupper int sqrt log exp sin cos"
    " atan2 rand strftime systime mktime asort asorti and or xor"
)
_CLOSED = set_of(
    "getline system close fflush extension func function return nextfile switch case default namespace"
)


class _Reading:
    def __init__(self) -> None:
        self.last = "\n"
        """The token before, or `value` for one that a slash after it would divide."""
        self._depth = 0
        self._prints = False

    def end(self, text: str) -> str:
        self._prints, self._depth, self.last = False, 0 if text in "{}" else self._depth, text
        return ""

    def mark(self, text: str) -> str:
        self._depth += (text in "([") - (text in ")]")
        self.last = "value" if text == "]" else text
        writes = text == ">" and self._prints and self._depth <= 0
        return "it writes to a file" if writes else ""

    def name(self, text: str, following: str) -> str:
        self._prints = self._prints or text in ("print", "printf")
        self.last = text if text in _WORDS and text.islower() else "value"
        if text in _FUNCTIONS:
            self.last = ")"
        elif text not in _WORDS and (text in _CLOSED or following == "(" or _is_built_in(text)):
            return f"{text} is not on the list"
        return ""


def _is_built_in(name: str) -> bool:
    return name.isupper() and len(name) > 1


def beyond_printing(program: str) -> str:
    """Why this may do more than print; nothing if it can't."""
    if not 0 < len(program) <= LONGEST:
        return "it is too long, or empty"
    reading, place = _Reading(), 0
    while place < len(program):
        found = (_SLASH if program[place] == "/" else _TOKEN).match(program, place)
        if found is not None and program[place] == "/" and reading.last != "value":
            found = None if reading.last in _UNSURE else _REGEX.match(program, place)
        if found is None:
            return f"{program[place]} at this place is not on the list"
        if why := _taken(reading, found, program[found.end() : found.end() + 1]):
            return why
        place = found.end()
    return ""


def _taken(reading: _Reading, found: re.Match[str], following: str) -> str:
    text = found.group()
    match found.lastgroup:
        case "end":
            return reading.end(text)
        case "mark":
            return reading.mark(text)
        case "name":
            return reading.name(text, following)
        case "blank":
            return ""
        case _:
            reading.last = "/" if text == "/" else "value"
            return ""
