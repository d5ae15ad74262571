"""Allstop's own export: all that a task is when it is added, and the status it has.

`{"allstop": "tasks", "version": 1, "tasks": [...]}`. Reading it gives what was written: nothing is
cut, cleaned or guessed, and a key that isn't known is a mistake, not a remark. Tasks that are over
come in as done. A task without a source gets `allstop:` and its id as its key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Entry
from allstop.adapters.exchange.task_items import fit
from allstop.core.ids import AgentName
from allstop.core.tasks import OVER, NewTask, Status, Task

NAME = "json"
_VERSION = 1
_KEYS = (
    "id",
    "title",
    "status",
    "body",
    "operation",
    "needs",
    "tags",
    "priority",
    "agent",
    "iterations",
    "minutes",
    "stuck_after",
    "source",
)


def looks_like(content: Content) -> bool:
    if not isinstance(content, Json) or content.by_line:
        return False
    value = content.whole.value
    return isinstance(value, dict) and "allstop" in value


def read(content: Content) -> list[NewTask]:
    document = as_json(content).whole
    root = document.entry((), document.value)
    if root.words("allstop") != "tasks":
        raise root.wrong("allstop", '"tasks"')
    if root.whole("version") != _VERSION:
        raise root.wrong("version", f"the number {_VERSION}")
    if not root.has("tasks"):
        raise root.wrong("tasks", "a list")
    return [_task(entry) for entry in document.entries(("tasks",), root.fields["tasks"])]


def write(tasks: Sequence[Task]) -> str:
    root = {"allstop": "tasks", "version": _VERSION, "tasks": [_fields(task) for task in tasks]}
    return json.dumps(root, ensure_ascii=False, indent=2) + "\n"


def source_of(task: Task) -> str:
    """The key by which a second import of the task is recognised."""
    return task.source or f"allstop:{task.id}"


def _task(entry: Entry) -> NewTask:
    for key in entry.fields:
        if key not in _KEYS:
            raise entry.wrong(key, f"one of {', '.join(_KEYS)}")
    key = entry.name("id")
    agent = entry.words("agent")
    return NewTask(
        id=fit(key),
        title=entry.text("title"),
        body=entry.words("body"),
        operation=entry.words("operation"),
        needs=tuple(fit(need) for need in entry.names("needs")),
        tags=entry.texts("tags"),
        priority=entry.whole("priority") or 0,
        agent=AgentName(agent) if agent else None,
        iterations=entry.whole("iterations", least=0),
        minutes=entry.number("minutes"),
        stuck_after=entry.whole("stuck_after", least=0),
        source=entry.words("source") or f"allstop:{key}",
        done=_status(entry) in OVER,
    )


def _status(entry: Entry) -> Status:
    word = entry.words("status") or Status.PENDING
    if word not in tuple(Status):
        raise entry.wrong("status", f"one of {', '.join(Status)}")
    return Status(word)


def _fields(task: Task) -> dict[str, object]:
    """Those that say something."""
    values: dict[str, object] = {key: getattr(task, key) for key in _KEYS}
    values["priority"] = task.priority or None
    return {key: value for key, value in values.items() if value not in ("", (), None)}
