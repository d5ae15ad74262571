"""Reads task-master's `tasks.json`: `{"tasks": [...]}`, or by tag `{"master": {"tasks": [...]}}`.

A subtask's id is its parent's id and its own, `3.1`; its parent becomes the operation. A dependency
of a subtask means its sibling of that number, or else the task. Tags other than `master` precede
the id, `feature-x-3.1`, and are the operation of tasks without a parent. Priority: high becomes 1,
medium 0, low -1; subtasks inherit their parent's. Subtasks of a done or cancelled task are finished
too, as in task-master.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Document, Entry, sections
from allstop.adapters.exchange.task_items import (
    CANCELLED,
    DEFERRED,
    PRIORITY_WORDS,
    Item,
    to_id,
    to_tasks,
)
from allstop.core.tasks import NewTask

NAME = "taskmaster"
_DEFAULT_TAG = "master"
_FINISHED = frozenset({"done", "completed", CANCELLED})
_TAGGED_STATUSES = frozenset({CANCELLED, DEFERRED})


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
        raise root.error("tasks", "a list")
    items = [item for tag, where in tags for item in _tasks(document, root, tag, where)]
    if not items:
        raise document.error(tags[0][1], "expected at least one task, found an empty list")
    return to_tasks(content.path, items, _name)


def _tags(fields: dict[str, object]) -> list[tuple[str, tuple[str, ...]]]:
    """Each tag's name, and the path to its tasks."""
    if "tasks" in fields:
        return [(_DEFAULT_TAG, ("tasks",))]
    return [
        (tag, (tag, "tasks"))
        for tag, value in fields.items()
        if isinstance(value, dict) and "tasks" in value
    ]


def _name(key: str) -> str:
    tag, _, number = key.rpartition("\n")
    return to_id(number if tag == _DEFAULT_TAG else f"{tag}-{number}")


def _tasks(document: Document, root: Entry, tag: str, where: tuple[str, ...]) -> Iterator[Item]:
    holder = root if len(where) == 1 else document.entry(where[:-1], root.fields[tag])
    if not holder.has("tasks"):
        raise holder.error("tasks", "a list")
    for entry in holder.entries("tasks"):
        number = entry.name("id")
        item = _item(entry, tag, number, entry.names("dependencies"))
        operation = "" if tag == _DEFAULT_TAG else tag
        item = replace(item, operation=operation, priority=_priority(entry) or 0)
        yield item
        yield from _subtasks(entry, tag, number, item)


def _subtasks(entry: Entry, tag: str, parent_number: str, parent: Item) -> Iterator[Item]:
    entries = entry.entries("subtasks")
    siblings = {one.name("id") for one in entries}
    for one in entries:
        number = _subtask_number(parent_number, one.name("id"))
        needs = one.names("dependencies")
        resolved = tuple(
            _subtask_number(parent_number, need) if need in siblings else need for need in needs
        )
        item = _item(one, tag, number, resolved)
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


def _subtask_number(parent_number: str, number: str) -> str:
    return number if number.startswith(f"{parent_number}.") else f"{parent_number}.{number}"


def _item(entry: Entry, tag: str, number: str, needs: tuple[str, ...]) -> Item:
    status = entry.optional_text("status").lower()
    return Item(
        key=f"{tag}\n{number}",
        title=entry.text("title"),
        source=f"{NAME}:{tag}:{number}",
        body=sections(
            ("", entry.optional_text("description")),
            ("Details", entry.optional_text("details")),
            ("Test strategy", entry.optional_text("testStrategy")),
            ("Acceptance criteria", _criteria(entry)),
        ),
        needs=tuple(f"{tag}\n{need}" for need in needs),
        tags=(status,) if status in _TAGGED_STATUSES else (),
        done=status in _FINISHED,
    )


def _criteria(entry: Entry) -> str | tuple[str, ...]:
    key = "acceptanceCriteria"
    return entry.texts(key) if isinstance(entry.fields.get(key), list) else entry.optional_text(key)


def _priority(entry: Entry) -> int | None:
    named = entry.optional_text("priority").lower()
    if named and named not in PRIORITY_WORDS:
        raise entry.error("priority", "high, medium or low")
    return PRIORITY_WORDS[named] if named else None
