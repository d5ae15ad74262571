"""What all formats have in common: from items as a file has them to tasks.

**Ids** are kept where they can be ids of tasks. Others are made to fit, always in the same way,
with six digits of a checksum that keep them apart.

**Parents.** An item that has others below it is not work of its own: it becomes the operation of
those below it. What waits for it waits for all of them, they wait for what it waits for, and its
text is added to theirs.

**Priority.** Higher is first. What has no priority of its own has 0, which is also what the
middle of every foreign scale becomes.

**Over.** What is done, closed or cancelled elsewhere comes in as done: it is not started here.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.core.ids import AgentName
from allstop.core.tasks import ID, NewTask

DEEPEST = 32
"""Levels of parents above an item."""

NAMED = {"critical": 2, "urgent": 2, "high": 1, "medium": 0, "normal": 0, "low": -1}
"""Priorities that are words."""

CANCELLED = "cancelled"
DEFERRED = "deferred"

_SLUG = 48
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Item(Struct, frozen=True, kw_only=True):
    """A task in the words of its file."""

    key: str  # what the file calls it
    title: str
    source: str
    body: str = ""
    id: str = ""  # where it is not made from the key
    parent: str = ""  # the key of what it is part of
    operation: str = ""  # where it has no parent
    needs: tuple[str, ...] = ()  # keys
    tags: tuple[str, ...] = ()
    priority: int = 0
    agent: AgentName | None = None
    iterations: int | None = None
    minutes: float | None = None
    stuck_after: int | None = None
    done: bool = False


def shape(
    path: Path, items: Sequence[Item], name: Callable[[str], str] | None = None
) -> list[NewTask]:
    """The tasks of a file's items. `name` makes an id from a key."""
    tree = _Tree(path, items, name or fit)
    return [tree.task(item) for item in items if item.key not in tree.below]


def fit(key: str) -> str:
    """An id for the key: itself where it is one."""
    if ID.fullmatch(key):
        return key
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", key)
    stem = re.sub(r"\.{2,}", ".", stem).lstrip("._-")[:57].rstrip("._-")
    return f"{stem or 'task'}-{checksum(key)}"


def slug(title: str) -> str:
    """A short id that reminds of a title; not the only one for it."""
    words = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    stem = "-".join(re.findall(r"[a-z0-9]+", words[:200]))
    stem = stem or f"task-{checksum(title)}"
    return stem if len(stem) <= _SLUG else stem[: _SLUG + 1].rpartition("-")[0] or stem[:_SLUG]


def checksum(text: str, length: int = 6) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def clean(text: str) -> str:
    """The text with one kind of line end and without characters that nobody typed."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def part_of(body: str, title: str, text: str) -> str:
    """The body of an item with the text of what it is part of."""
    text = text.strip("\n")
    if not text.strip():
        return body
    context = f"Part of “{title}”:\n\n{text}"
    return f"{body}\n\n{context}" if body else context


class _Tree:
    """The items by their keys, and who is below whom."""

    def __init__(self, path: Path, items: Sequence[Item], name: Callable[[str], str]) -> None:
        self._path = path
        self._name = name
        self._items = {item.key: item for item in items}
        self.below: dict[str, list[str]] = {}
        for item in self._items.values():
            if item.parent in self._items:
                self.below.setdefault(item.parent, []).append(item.key)
        self._refuse_twice(items)
        self._refuse_circles()
        self._leaves: dict[str, tuple[str, ...]] = {}

    def _refuse_twice(self, items: Sequence[Item]) -> None:
        """Of parents: an item of the same name would be lost. The others are the board's matter."""
        often = Counter(item.key for item in items if item.key in self.below)
        for key, times in often.items():
            if times > 1:
                problem = f"{self._id(key)}: expected a parent once, found it {times} times"
                raise ImportFileError(self._path, None, problem)

    def _refuse_circles(self) -> None:
        """Of parents: what is in one has no place."""
        tops = [item.key for item in self._items.values() if item.parent not in self._items]
        placed = set()
        while tops:
            key = tops.pop()
            placed.add(key)
            tops.extend(self.below.get(key, ()))
        lost = [self._id(key) for key in self._items if key not in placed]
        if lost:
            problem = f"{', '.join(lost[:5])}: expected a parent that ends, found a circle"
            raise ImportFileError(self._path, None, problem)

    def task(self, item: Item) -> NewTask:
        above = tuple(self._above(item))
        title, body = _headline(item)
        for parent in above:
            body = part_of(body, *_headline(parent))
        needs = self._needs(item, above)
        return NewTask(
            id=item.id or self._name(item.key),
            title=title,
            body=body,
            operation=_headline(above[0])[0] if above else _line(item.operation or item.parent),
            needs=tuple(dict.fromkeys(self._id(need) for need in needs)),
            tags=_distinct(item.tags),
            priority=item.priority,
            agent=item.agent,
            iterations=item.iterations,
            minutes=item.minutes,
            stuck_after=item.stuck_after,
            source=item.source,
            done=item.done,
        )

    def _id(self, key: str) -> str:
        item = self._items.get(key)
        return item.id if item and item.id else self._name(key)

    def _above(self, item: Item) -> Iterator[Item]:
        """Its parent first."""
        parent = self._items.get(item.parent)
        levels = 0
        while parent:
            levels += 1
            if levels > DEEPEST:
                problem = f"expected at most {DEEPEST} levels of parents, found more"
                raise ImportFileError(self._path, None, f"{self._id(item.key)}: {problem}")
            yield parent
            parent = self._items.get(parent.parent)

    def _needs(self, item: Item, above: Sequence[Item]) -> Iterator[str]:
        around = {parent.key for parent in above}
        for need in item.needs:
            if need not in around:
                yield from self._work_of(need)
        for parent in above:
            for need in parent.needs:
                if need not in around and not self._is_below(need, parent):
                    yield from self._work_of(need)

    def _is_below(self, key: str, parent: Item) -> bool:
        item = self._items.get(key)
        return item is not None and parent.key in (one.key for one in self._above(item))

    def _work_of(self, key: str) -> tuple[str, ...]:
        """The item, or the items at the bottom where it is a parent."""
        if key not in self.below:
            return (key,)
        if key not in self._leaves:
            self._leaves[key] = tuple(self._bottom(key))
        return self._leaves[key]

    def _bottom(self, key: str) -> Iterator[str]:
        waiting = [key]
        while waiting:
            here = waiting.pop()
            if here not in self.below:
                yield here
            waiting.extend(reversed(self.below.get(here, ())))


def _headline(item: Item) -> tuple[str, str]:
    """Its title as one line, and its body with the rest of the title before it."""
    first, _, rest = clean(item.title).strip().partition("\n")
    body = clean(item.body).strip("\n")
    parts = [part for part in (rest.strip("\n"), body) if part.strip()]
    return _line(first), "\n\n".join(parts)


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _distinct(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in map(_line, tags) if tag))
