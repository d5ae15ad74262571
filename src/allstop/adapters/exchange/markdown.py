"""Reads and writes tasks as a Markdown checklist.

    ## Accounts

    - [x] T1: Make the table
    - [ ] T2: Add a login page (needs: T1) #web !3
      What is indented below an item is its text.
    - [ ] Passwords
      - [ ] Hash them
      - [ ] Reset them

The nearest heading is the operation. An item with items below it is their operation instead, and
passes on its needs, tags and priority. A rule (`---`) after an empty line ends the operation. `[x]`
is done, `[-]` cancelled, `[ ]`, `[/]` and `[~]` are open. Items in code blocks and comments are
ignored. The module `checklist_item` describes the marks in an item's line.

An item without an id gets one made from its title. Its source is made from its title and the
headings and items above it, so that moving it within its list changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from allstop.adapters.exchange.checklist import Node, escape_item, has_items, read_items
from allstop.adapters.exchange.checklist_item import write_line
from allstop.adapters.exchange.file_contents import Content, Text
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.task_items import CANCELLED, Item, checksum, clean, slug, to_tasks
from allstop.core.tasks import OVER, NewTask, Task
from allstop.core.text import one_line

NAME = "markdown"


def looks_like(content: Content) -> bool:
    return isinstance(content, Text) and has_items(content.text)


def read(content: Content) -> list[NewTask]:
    if not isinstance(content, Text):
        raise ImportFileError(content.path, None, "expected Markdown, found something else")
    found = read_items(content.path, content.text)
    if not found:
        problem = 'expected items such as "- [ ] title", found none outside code blocks'
        raise ImportFileError(content.path, None, problem)
    names = _Names(content.path, found)
    return to_tasks(content.path, [_item(node, names) for node in found])


def write(tasks: Sequence[Task]) -> str:
    lines: list[str] = []
    operation = ""
    for task in tasks:
        here = " ".join(clean(task.operation).split())
        if here != operation:
            lines += ["", f"## {_escape(here)}" if here else "---", ""]
            operation = here
        lines.append(f"- [{'x' if task.status in OVER else ' '}] {write_line(task)}")
        lines += [f"  {escape_item(line)}" if line.strip() else "" for line in _body(task)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _escape(heading: str) -> str:
    text = heading.replace("\\", "\\\\")
    return f"{text[:-1]}\\#" if text.endswith("#") else text


def _body(task: Task) -> list[str]:
    body = clean(task.body).strip("\n")
    return body.split("\n") if body.strip() else []


class _Names:
    """The keys and ids of a file's items, and the resolution of needs."""

    def __init__(self, path: Path, found: Sequence[Node]) -> None:
        self._path = path
        self._keys = _keys(found)
        self._ids = self._make_ids(found)
        self._titles = Counter(node.marks.title.casefold() for node in found)
        self._by_id = {self._ids[node]: self._keys[node] for node in found}
        self._by_title = {node.marks.title.casefold(): self._keys[node] for node in found}

    def key(self, node: Node) -> str:
        return self._keys[node]

    def id(self, node: Node) -> str:
        """The generated id; "" if the item has its own."""
        return "" if node.marks.id else self._ids[node]

    def resolve(self, node: Node, need: str) -> str:
        """The key of the needed item; ids take precedence over titles."""
        if need in self._by_id:
            return self._by_id[need]
        often = self._titles[need.casefold()]
        if often > 1:
            problem = f"needs: expected one item called {one_line(need)!r}, found {often}"
            raise ImportFileError(
                self._path, node.line, problem, "give the items ids", code="ambiguous_need"
            )
        return self._by_title.get(need.casefold(), need)

    def _make_ids(self, found: Sequence[Node]) -> dict[Node, str]:
        plain = {node: node.marks.id or slug(node.marks.title) for node in found}
        often = Counter(plain.values())
        return {
            node: name
            if node.marks.id or often[name] == 1
            else f"{name}-{checksum(self._keys[node])}"
            for node, name in plain.items()
        }


def _keys(found: Sequence[Node]) -> dict[Node, str]:
    """The id, or the place under the headings; repeated places get a number."""
    times: Counter[str] = Counter()
    keys = {}
    for node in found:
        place = "\n".join(node.path())
        times[place] += 1
        unique = place if times[place] == 1 else f"{place}\n{times[place]}"
        keys[node] = node.marks.id or f"\n{unique}"
    return keys


def _item(node: Node, names: _Names) -> Item:
    marks, key = node.marks, names.key(node)
    lineage = list(node.lineage())
    priorities = (one.marks.priority for one in lineage if one.marks.priority is not None)
    tags = [tag for one in lineage for tag in one.marks.tags]
    return Item(
        key=key,
        id=names.id(node),
        title=marks.title,
        source=marks.source or f"{NAME}:{marks.id or checksum(key, 16)}",
        body=node.text,
        parent=names.key(node.parent) if node.parent else "",
        operation=node.headings[-1] if node.headings else "",
        needs=tuple(names.resolve(node, need) for need in marks.needs),
        tags=(*tags, CANCELLED) if node.is_cancelled else tuple(tags),
        priority=next(priorities, 0),
        agent=marks.agent,
        iterations=marks.iterations,
        minutes=marks.minutes,
        stuck_after=marks.stuck_after,
        may_change=marks.may_change,
        labels=marks.labels,
        done=node.is_done,
    )
