r"""Reads and writes the line of a checklist item: its title and the marks around it.

    - [ ] [T-3] Add a login page (needs: T-1, T-2) (minutes: 20) #web !3

Before the title: `[T-3]`, `T-3:` or `T003` is the id if it contains a digit; any other word in
brackets is a tag. After the title, in any order: `(needs: A, B)` (also `depends on:`, `blocked
by:`; ids or whole titles), `#tag`, `!3` for the priority, `(tags: one, two words)`, `(id: login)`,
`(agent: …)`, `(labels: gpu)`, `(iterations: …)`, `(minutes: …)`, `(stuck_after: …)`, `(source: …)`, and `(may change:
tests/test_x.py, behaviour of login)` for the tests that it may change. Text inside the title is
never a mark. `Close #12` has none, because a tag begins with a letter. A backslash escapes
a sign.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from allstop.adapters.exchange.json_document import MAX_NUMBER
from allstop.adapters.exchange.task_items import clean
from allstop.core.ids import AgentName
from allstop.core.tasks import ID, Task
from allstop.core.text import one_line

_MAX_MARKS = 100
_MAX_MARK_CHARS = 100_000
_MAX_TAGS = 20
_TAG = r"[^\W\d_][\w./-]*"
_TAIL = re.compile(
    rf" (?:#(?P<tag>{_TAG})|!(?P<priority>[+-]?\d+)"
    r"|\((?P<key>needs|depends on|blocked by|tags|id|agent|iterations|minutes|stuck_after|source"
    r"|may change|labels"
    r"|priority):(?P<value>(?:[^()\\]|\\.)*)\))$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\[([\w./-]{1,64})\] (?=\S)")
_NUMBERED = re.compile(rf"(?:({ID.pattern}):|(T\d{{3,}})) (?=\S)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_COMMA = re.compile(r"(?:[^,\\]|\\.)+")
_SPECIAL = re.compile(r"[\\,()]")


class MarkError(Exception):
    """A mark has an invalid value."""


class Marks(Struct, frozen=True, kw_only=True):
    title: str
    id: str = ""
    needs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    priority: int | None = None
    agent: AgentName | None = None
    iterations: int | None = None
    minutes: float | None = None
    stuck_after: int | None = None
    source: str = ""
    may_change: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def read_line(text: str) -> Marks:
    text, values = _read_tail(" ".join(clean(text).split()))
    text, key, tags = _read_head(text, _last(values, "id"))
    agent = _last(values, "agent")
    return Marks(
        title=unescape(text),
        id=key,
        needs=tuple(values.get("needs", ())),
        tags=(*tags, *values.get("tags", ())),
        priority=_whole(values, "priority", -MAX_NUMBER),
        agent=AgentName(agent) if agent else None,
        iterations=_whole(values, "iterations", 0),
        minutes=_number(values, "minutes", 0),
        stuck_after=_whole(values, "stuck_after", 0),
        source=_last(values, "source"),
        may_change=tuple(values.get("may change", ())),
        labels=tuple(values.get("labels", ())),
    )


def write_line(task: Task) -> str:
    """The line after the checkbox."""
    before = [f"[{task.id}]"] if _is_id(task.id) else []
    return " ".join([*before, _title(task), *_marks(task)])


def unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _read_tail(text: str) -> tuple[str, dict[str, list[str]]]:
    """The text before the trailing marks, and the marks' values."""
    found: list[tuple[str, list[str]]] = []
    while len(found) < _MAX_MARKS and (mark := _last_mark(text)):
        found.append(_mark(mark))
        text = text[: mark.start()]
    values: dict[str, list[str]] = {}
    for key, some in reversed(found):
        values.setdefault(key, []).extend(some)
    return text, values


def _last_mark(text: str) -> re.Match[str] | None:
    return _TAIL.search(text, max(0, len(text) - _MAX_MARK_CHARS))


def _mark(found: re.Match[str]) -> tuple[str, list[str]]:
    if found["tag"]:
        return "tags", [found["tag"]]
    if found["priority"]:
        return "priority", [found["priority"]]
    key = found["key"].lower()
    if key in ("needs", "depends on", "blocked by"):
        return "needs", _values(found["value"])
    return key, _values(found["value"]) if key in ("tags", "may change", "labels") else [
        unescape(found["value"].strip())
    ]


def _values(text: str) -> list[str]:
    found = (unescape(part.strip()) for part in _COMMA.findall(text))
    return [value for value in found if value]


def _read_head(text: str, key: str) -> tuple[str, str, list[str]]:
    tags: list[str] = []
    while len(tags) < _MAX_MARKS:
        word, numbered = _WORD.match(text), _NUMBERED.match(text)
        if word and not key and _is_id(word[1]):
            key, text = word[1], text[word.end() :]
        elif word:
            tags.append(word[1])
            text = text[word.end() :]
        elif numbered and not key and _is_id(numbered[1] or numbered[2]):
            key, text = numbered[1] or numbered[2], text[numbered.end() :]
        else:
            break
    return text, key, tags


def _is_id(word: str) -> bool:
    return bool(ID.fullmatch(word) and re.search(r"[0-9]", word))


def _last(values: dict[str, list[str]], key: str) -> str:
    return values.get(key, [""])[-1]


def _number(values: dict[str, list[str]], key: str, least: float) -> float | None:
    if key not in values:
        return None
    word = _last(values, key)
    try:
        number = float(word)
    except ValueError:
        raise MarkError(f"{key}: expected a number, found {one_line(word, 30)!r}") from None
    if not least <= number <= MAX_NUMBER:
        raise MarkError(
            f"{key}: expected a number from {least} to {MAX_NUMBER}, found {one_line(word, 30)}"
        )
    return number


def _whole(values: dict[str, list[str]], key: str, least: int) -> int | None:
    number = _number(values, key, least)
    if number is None:
        return None
    if not number.is_integer():
        raise MarkError(f"{key}: expected a whole number, found {_last(values, key)}")
    return int(number)


def _title(task: Task) -> str:
    text = " ".join(clean(task.title).split()).replace("\\", "\\\\") or task.id
    if text.startswith("["):
        text = f"\\{text}"
    tail = _TAIL.search(f"x {text}")
    return f"{text[: tail.start() - 1]}\\{text[tail.start() - 1 :]}" if tail else text


def _marks(task: Task) -> Iterable[str]:
    if not _is_id(task.id):
        yield _bracket("id", [task.id])
    if task.needs:
        yield _bracket("needs", task.needs)
    if task.agent:
        yield _bracket("agent", [task.agent])
    if task.iterations is not None:
        yield f"(iterations: {task.iterations})"
    if task.minutes is not None:
        yield f"(minutes: {str(task.minutes).removesuffix('.0')})"
    if task.stuck_after is not None:
        yield f"(stuck_after: {task.stuck_after})"
    named = {"may change": task.may_change, "labels": task.labels}
    yield from (_bracket(key, values) for key, values in named.items() if values)
    if task.source:
        yield _bracket("source", [task.source])
    yield from _tag_marks(task.tags)
    if task.priority:
        yield f"!{task.priority}"


def _tag_marks(tags: tuple[str, ...]) -> Iterable[str]:
    if len(tags) <= _MAX_TAGS and all(re.fullmatch(_TAG, tag) for tag in tags):
        return [f"#{tag}" for tag in tags]
    return [_bracket("tags", tags)]


def _bracket(key: str, values: Iterable[str]) -> str:
    shown = (_SPECIAL.sub(r"\\\g<0>", " ".join(clean(value).split())) for value in values)
    return f"({key}: {', '.join(shown)})"
