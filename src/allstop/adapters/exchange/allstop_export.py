"""Reads and writes Allstop's own export: every field of a new task, and its status.

`{"allstop": "tasks", "version": 1, "tasks": [...]}`. Reading returns exactly the written values,
and rejects unknown keys. Finished tasks are imported as done. A task without a source gets
`allstop:` and its id as its source.
"""

import json
from collections.abc import Sequence

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Entry
from allstop.adapters.exchange.task_items import to_id
from allstop.core.ids import AgentName
from allstop.core.tasks import OVER, NewTask, Status, Task
from allstop.core.text import escape_json

NAME = "json"
_VERSION = 1
KEYS = (
    "id", "title", "status", "body", "operation", "needs", "tags", "priority", "agent",
    "iterations", "minutes", "stuck_after", "may_change", "labels", "source",
)  # fmt: skip


def looks_like(content: Content) -> bool:
    if not isinstance(content, Json) or content.by_line:
        return False
    value = content.whole.value
    return isinstance(value, dict) and "allstop" in value


def read(content: Content) -> list[NewTask]:
    document = as_json(content).whole
    root = document.entry((), document.value)
    if root.optional_text("allstop") != "tasks":
        raise root.error("allstop", '"tasks"')
    if root.whole_number("version") != _VERSION:
        raise root.error("version", f"the number {_VERSION}")
    if not root.has("tasks"):
        raise root.error("tasks", "a list")
    return [_task(entry) for entry in document.entries(("tasks",), root.fields["tasks"])]


def write(tasks: Sequence[Task]) -> str:
    root = {"allstop": "tasks", "version": _VERSION, "tasks": [_fields(task) for task in tasks]}
    return escape_json(json.dumps(root, ensure_ascii=False, indent=2)) + "\n"


def source_of(task: Task) -> str:
    """The key by which a second import recognises the task."""
    return task.source or f"allstop:{task.id}"


def _task(entry: Entry) -> NewTask:
    for key in entry.fields:
        if key not in KEYS:
            raise entry.error(key, f"one of {', '.join(KEYS)}")
    key = entry.name("id")
    agent = entry.optional_text("agent")
    return NewTask(
        id=to_id(key),
        title=entry.text("title"),
        body=entry.optional_text("body"),
        operation=entry.optional_text("operation"),
        needs=tuple(to_id(need) for need in entry.names("needs")),
        tags=entry.texts("tags"),
        priority=entry.whole_number("priority") or 0,
        agent=AgentName(agent) if agent else None,
        iterations=entry.whole_number("iterations", least=0),
        minutes=entry.number("minutes"),
        stuck_after=entry.whole_number("stuck_after", least=0),
        may_change=entry.texts("may_change"),
        labels=entry.texts("labels"),
        source=entry.optional_text("source") or f"allstop:{key}",
        done=_status(entry) in OVER,
    )


def _status(entry: Entry) -> Status:
    word = entry.optional_text("status") or Status.PENDING
    if word not in tuple(Status):
        raise entry.error("status", f"one of {', '.join(Status)}")
    return Status(word)


def _fields(task: Task) -> dict[str, object]:
    """The fields that are not empty."""
    values: dict[str, object] = {key: getattr(task, key) for key in KEYS}
    values["priority"] = task.priority or None
    return {key: value for key, value in values.items() if value not in ("", (), None)}
