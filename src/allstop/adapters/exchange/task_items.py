"""Converts the items of any format to tasks.

**Ids** are kept if they are valid task ids. Others are changed in a reproducible way, and get six
digits of a checksum to stay unique.

**Parents.** An item with children is not a task: it becomes the operation of its children. Items
that need the parent need all of its children. The children inherit the parent's needs, and its text
is added to theirs.

**Priority.** Higher is first. The default is 0, and so is the middle of every foreign scale.

**Finished items** (done, closed or cancelled elsewhere) are imported as done and never started.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.core.ids import AgentName
from allstop.core.tasks import ID, NewTask

MAX_LEVELS = 32
"""Levels of parents above an item."""

PRIORITY_WORDS = {"critical": 2, "urgent": 2, "high": 1, "medium": 0, "normal": 0, "low": -1}
"""Priorities given as words."""

CANCELLED = "cancelled"
DEFERRED = "deferred"

_SLUG_CHARS = 48
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Item(Struct, frozen=True, kw_only=True):
    """A task as its file describes it."""

    key: str  # its name in the file
    title: str
    source: str
    body: str = ""
    id: str = ""  # "": made from the key
    parent: str = ""  # the parent's key
    operation: str = ""  # used if it has no parent
    needs: tuple[str, ...] = ()  # keys
    tags: tuple[str, ...] = ()
    priority: int = 0
    agent: AgentName | None = None
    iterations: int | None = None
    minutes: float | None = None
    stuck_after: int | None = None
    may_change: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    done: bool = False


def to_tasks(
    path: Path, items: Sequence[Item], name: Callable[[str], str] | None = None
) -> list[NewTask]:
    """The tasks of a file's items. `name` makes an id from a key."""
    tree = _Tree(path, items, name or to_id)
    return [tree.task(item) for item in items if item.key not in tree.children]


def to_id(key: str) -> str:
    """A valid id for the key; the key itself if it is valid."""
    if ID.fullmatch(key):
        return key
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", key)
    stem = re.sub(r"\.{2,}", ".", stem).lstrip("._-")[:57].rstrip("._-")
    return f"{stem or 'task'}-{checksum(key)}"


def slug(title: str) -> str:
    """A short id made from a title; not necessarily unique."""
    words = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    stem = "-".join(re.findall(r"[a-z0-9]+", words[:200]))
    stem = stem or f"task-{checksum(title)}"
    return (
        stem
        if len(stem) <= _SLUG_CHARS
        else stem[: _SLUG_CHARS + 1].rpartition("-")[0] or stem[:_SLUG_CHARS]
    )


def checksum(text: str, length: int = 6) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def clean(text: str) -> str:
    """The text with Unix newlines and without control characters."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def with_parent_text(body: str, title: str, text: str) -> str:
    """The body of an item with its parent's text."""
    text = text.strip("\n")
    if not text.strip():
        return body
    context = f"Part of “{title}”:\n\n{text}"
    return f"{body}\n\n{context}" if body else context


class _Tree:
    """The items by key, and their hierarchy."""

    def __init__(self, path: Path, items: Sequence[Item], name: Callable[[str], str]) -> None:
        self._path = path
        self._name = name
        self._items = {item.key: item for item in items}
        self.children: dict[str, list[str]] = {}
        for item in self._items.values():
            if item.parent in self._items:
                self.children.setdefault(item.parent, []).append(item.key)
        self._reject_duplicate_parents(items)
        self._reject_cycles()
        self._leaves: dict[str, tuple[str, ...]] = {}

    def _reject_duplicate_parents(self, items: Sequence[Item]) -> None:
        """Reject duplicate parents, of which one would be lost; the board rejects duplicate tasks."""
        often = Counter(item.key for item in items if item.key in self.children)
        for key, times in often.items():
            if times > 1:
                problem = f"{self._id(key)}: expected this parent once, found it {times} times"
                raise ImportFileError(self._path, None, problem)

    def _reject_cycles(self) -> None:
        tops = [item.key for item in self._items.values() if item.parent not in self._items]
        placed = set()
        while tops:
            key = tops.pop()
            placed.add(key)
            tops.extend(self.children.get(key, ()))
        lost = [self._id(key) for key in self._items if key not in placed]
        if lost:
            problem = f"{', '.join(lost[:5])}: expected no cycle of parents, found one"
            raise ImportFileError(self._path, None, problem)

    def task(self, item: Item) -> NewTask:
        parents = tuple(self._parents_of(item))
        title, body = _title_and_body(item)
        for parent in parents:
            body = with_parent_text(body, *_title_and_body(parent))
        needs = self._needs(item, parents)
        return NewTask(
            id=item.id or self._name(item.key),
            title=title,
            body=body,
            operation=_title_and_body(parents[0])[0]
            if parents
            else _line(item.operation or item.parent),
            needs=tuple(dict.fromkeys(self._id(need) for need in needs)),
            tags=tuple(dict.fromkeys(tag for tag in map(_line, item.tags) if tag)),
            priority=item.priority,
            agent=item.agent,
            iterations=item.iterations,
            minutes=item.minutes,
            stuck_after=item.stuck_after,
            may_change=item.may_change,
            labels=item.labels,
            source=item.source,
            done=item.done,
        )

    def _id(self, key: str) -> str:
        item = self._items.get(key)
        return item.id if item and item.id else self._name(key)

    def _parents_of(self, item: Item) -> Iterator[Item]:
        """The parents of an item, the nearest first."""
        parent = self._items.get(item.parent)
        levels = 0
        while parent:
            levels += 1
            if levels > MAX_LEVELS:
                problem = f"expected at most {MAX_LEVELS} levels of parents, found more"
                raise ImportFileError(self._path, None, f"{self._id(item.key)}: {problem}")
            yield parent
            parent = self._items.get(parent.parent)

    def _needs(self, item: Item, parents: Sequence[Item]) -> Iterator[str]:
        parent_keys = {parent.key for parent in parents}
        for need in item.needs:
            if need not in parent_keys:
                yield from self._leaves_of(need)
        for parent in parents:
            for need in parent.needs:
                if need not in parent_keys and not self._is_descendant(need, parent):
                    yield from self._leaves_of(need)

    def _is_descendant(self, key: str, parent: Item) -> bool:
        item = self._items.get(key)
        return item is not None and parent.key in (one.key for one in self._parents_of(item))

    def _leaves_of(self, key: str) -> tuple[str, ...]:
        """The item itself, or the tasks below it if it is a parent."""
        if key not in self.children:
            return (key,)
        if key not in self._leaves:
            self._leaves[key] = tuple(self._find_leaves(key))
        return self._leaves[key]

    def _find_leaves(self, key: str) -> Iterator[str]:
        waiting = [key]
        while waiting:
            here = waiting.pop()
            if here not in self.children:
                yield here
            waiting.extend(reversed(self.children.get(here, ())))


def _title_and_body(item: Item) -> tuple[str, str]:
    """The title's first line, and the body with the rest of the title before it."""
    first, _, rest = clean(item.title).strip().partition("\n")
    body = clean(item.body).strip("\n")
    parts = [part for part in (rest.strip("\n"), body) if part.strip()]
    return _line(first), "\n\n".join(parts)


def _line(text: str) -> str:
    return " ".join(clean(text).split())
