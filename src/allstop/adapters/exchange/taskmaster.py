"""task-master's `tasks.json`: flat, `{"tasks": [...]}`, or by tag, `{"master": {"tasks": [...]}}`.

A subtask is called by its parent's id and its own, `3.1`; its parent becomes the operation. A
dependency of a subtask means the subtask of that number beside it, else the task. Tags other than
`master` stand before the id, `feature-x-3.1`, and are the operation of tasks without a parent.
Priority: high becomes 1, medium 0, low -1; subtasks have their parent's. What is part of a task
that is done or cancelled is over too, as it is for task-master.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Document, Entry, sections
from allstop.adapters.exchange.task_items import CANCELLED, DEFERRED, NAMED, Item, fit, shape
from allstop.core.tasks import NewTask

NAME = "taskmaster"
_FIRST_TAG = "master"
_OVER = frozenset({"done", "completed", CANCELLED})
_TOLD = frozenset({CANCELLED, DEFERRED})


def looks_like(content: Content) -> bool:
    if not isinstance(content, Json) or content.by_line:
        return False
    value = content.whole.value
    return isinstance(value, dict) and "allstop" not in value and bool(_tags(value))


def read(content: Content) -> list[NewTask]:
    document = as_json(content).whole
    root = document.entry((), document.value)
    tags = _tags(root.fields)
    if not tags:
        raise root.wrong("tasks", "a list")
    items = [item for tag, where in tags for item in _tasks(document, root, tag, where)]
    if not items:
        raise document.wrong(tags[0][1], "expected at least one task, found an empty list")
    return shape(content.path, items, _name)


def _tags(fields: dict[str, object]) -> list[tuple[str, tuple[str, ...]]]:
    """Each tag's name, and where its tasks are."""
    if "tasks" in fields:
        return [(_FIRST_TAG, ("tasks",))]
    return [
        (tag, (tag, "tasks"))
        for tag, value in fields.items()
        if isinstance(value, dict) and "tasks" in value
    ]


def _name(key: str) -> str:
    tag, _, number = key.rpartition("\n")
    return fit(number if tag == _FIRST_TAG else f"{tag}-{number}")


def _tasks(document: Document, root: Entry, tag: str, where: tuple[str, ...]) -> Iterator[Item]:
    holder = root if len(where) == 1 else document.entry(where[:-1], root.fields[tag])
    if not holder.has("tasks"):
        raise holder.wrong("tasks", "a list")
    for entry in holder.entries("tasks"):
        number = entry.name("id")
        item = _item(entry, tag, number, entry.names("dependencies"))
        operation = "" if tag == _FIRST_TAG else tag
        item = replace(item, operation=operation, priority=_priority(entry) or 0)
        yield item
        yield from _subtasks(entry, tag, number, item)


def _subtasks(entry: Entry, tag: str, above: str, parent: Item) -> Iterator[Item]:
    entries = entry.entries("subtasks")
    beside = {one.name("id") for one in entries}
    for one in entries:
        number = _below(above, one.name("id"))
        needs = one.names("dependencies")
        meant = tuple(_below(above, need) if need in beside else need for need in needs)
        item = _item(one, tag, number, meant)
        own = _priority(one)
        item = replace(
            item,
            parent=parent.key,
            tags=(*item.tags, *parent.tags),
            priority=parent.priority if own is None else own,
            done=item.done or parent.done,
        )
        yield item
        yield from _subtasks(one, tag, number, item)


def _below(above: str, number: str) -> str:
    return number if number.startswith(f"{above}.") else f"{above}.{number}"


def _item(entry: Entry, tag: str, number: str, needs: tuple[str, ...]) -> Item:
    status = entry.words("status").lower()
    return Item(
        key=f"{tag}\n{number}",
        title=entry.text("title"),
        source=f"{NAME}:{tag}:{number}",
        body=sections(
            ("", entry.words("description")),
            ("Details", entry.words("details")),
            ("Test strategy", entry.words("testStrategy")),
            ("Acceptance criteria", _criteria(entry)),
        ),
        needs=tuple(f"{tag}\n{need}" for need in needs),
        tags=(status,) if status in _TOLD else (),
        done=status in _OVER,
    )


def _criteria(entry: Entry) -> str | tuple[str, ...]:
    key = "acceptanceCriteria"
    return entry.texts(key) if isinstance(entry.fields.get(key), list) else entry.words(key)


def _priority(entry: Entry) -> int | None:
    named = entry.words("priority").lower()
    if named and named not in NAMED:
        raise entry.wrong("priority", "high, medium or low")
    return NAMED[named] if named else None
