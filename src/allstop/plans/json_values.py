"""Parses JSON into values with line numbers."""

import json
import re
from bisect import bisect_right

from allstop.plans.document import DEEPEST, Value
from allstop.plans.plan import Problem

_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[-+.\w]+")
_DECODER = json.JSONDecoder()


def parse(text: str) -> Value | Problem:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return Problem(line=error.lineno, problem=f"not valid JSON: {error.msg}", expected="JSON")
    except RecursionError:
        return _too_deep(1)
    return _Parser(text).whole()


def _too_deep(line: int) -> Problem:
    return Problem(
        line=line, problem="the values are nested too deeply", expected=f"at most {DEEPEST} levels"
    )


class _TooDeepError(Exception):
    pass


class _Parser:
    """Parses a text that is known to be valid."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = [place for place, letter in enumerate(text) if letter == "\n"]

    def whole(self) -> Value | Problem:
        try:
            return self._value(0)
        except _TooDeepError:
            return _too_deep(self._line())

    def _line(self) -> int:
        return bisect_right(self._breaks, self._at) + 1

    def _peek(self) -> str:
        found = _SPACE.match(self._text, self._at)
        assert found is not None, "it matches nothing too"
        self._at = found.end()
        return self._text[self._at]

    def _value(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise _TooDeepError
        letter, line = self._peek(), self._line()
        if letter == '"':
            return Value(line=line, text=self._string())
        if letter == "[":
            return Value(line=line, items=self._items(depth), kind="a list")
        if letter == "{":
            return Value(line=line, pairs=self._pairs(depth), kind="an object")
        word = _WORD.match(self._text, self._at)
        assert word is not None, "the text is valid"
        self._at = word.end()
        if word[0] in ("true", "false"):
            return Value(line=line, is_true=word[0] == "true", kind=word[0])
        is_number = word[0][-1].isdigit()
        return Value(line=line, text=word[0] if is_number else None, kind=word[0])

    def _string(self) -> str:
        text, self._at = _DECODER.raw_decode(self._text, self._at)
        assert isinstance(text, str), "it begins with a quote"
        return text

    def _items(self, depth: int) -> list[Value]:
        items: list[Value] = []
        self._at += 1
        while self._peek() != "]":
            items.append(self._value(depth + 1))
            self._skip_comma()
        self._at += 1
        return items

    def _pairs(self, depth: int) -> list[tuple[str, Value]]:
        pairs: list[tuple[str, Value]] = []
        self._at += 1
        while self._peek() != "}":
            key = self._string()
            self._peek()
            self._at += 1  # the colon
            pairs.append((key, self._value(depth + 1)))
            self._skip_comma()
        self._at += 1
        return pairs

    def _skip_comma(self) -> None:
        if self._peek() == ",":
            self._at += 1
