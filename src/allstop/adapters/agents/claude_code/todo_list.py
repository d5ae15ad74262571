"""The plan that Claude Code keeps as a list of tasks, one change at a time. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from allstop.adapters.agents.claude_code.messages import Block
from allstop.core.text import last_chars, one_line

TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList"})
MOST_TASKS = 200
SUBJECT_CHARS = 300
PLAN_CHARS = 16_000

_CREATED = re.compile(r"Task #(\S+) created")
_LISTED = re.compile(r"^#(\S+) \[(pending|in_progress|completed)\] (.+)$", re.MULTILINE)


class _Task(NamedTuple):
    subject: str
    status: str = "pending"


class Plan:
    """Of one conversation. It tells only what changes, so the rest is remembered."""

    def __init__(self) -> None:
        self._tasks: dict[str, _Task] = {}

    def take(self, used: Block, said: str) -> str:
        """The whole plan, after one of its tools was used and has said this."""
        given = used.input or {}
        match used.name:
            case "TaskCreate":
                found = _CREATED.search(said)
                self._keep(found[1] if found else "", _Task(_subject(given.get("subject"))))
            case "TaskUpdate":
                self._update(str(given.get("taskId") or ""), given.get("status"), given)
            case _:
                listed = {
                    name: _Task(subject, status) for name, status, subject in _LISTED.findall(said)
                }
                self._tasks = listed or self._tasks
        lines = (f"[{task.status}] {task.subject}" for task in self._tasks.values())
        return last_chars("\n".join(lines), PLAN_CHARS)

    def _update(self, name: str, status: object, given: dict[str, object]) -> None:
        if status == "deleted":
            self._tasks.pop(name, None)
            return
        known = self._tasks.get(name, _Task(f"task {one_line(name, 20)}"))
        subject = _subject(given.get("subject")) or known.subject
        self._keep(name, _Task(subject, one_line(str(status or known.status), 20)))

    def _keep(self, name: str, task: _Task) -> None:
        if name and task.subject and (name in self._tasks or len(self._tasks) < MOST_TASKS):
            self._tasks[name] = task


def _subject(words: object) -> str:
    return one_line(str(words or ""), SUBJECT_CHARS)
