"""Rebuilds Claude Code's task list from its changes. Pure."""

import re
from typing import NamedTuple

from allstop.adapters.agents.claude_code.messages import Block
from allstop.core.text import last_chars, one_line

TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList"})
MAX_TASKS = 200
SUBJECT_CHARS = 300
PLAN_CHARS = 16_000

_CREATED = re.compile(r"Task #(\S+) created")
_LISTED = re.compile(r"^#(\S+) \[(pending|in_progress|completed)\] (.+)$", re.MULTILINE)


class _Task(NamedTuple):
    subject: str
    status: str = "pending"


class Plan:
    """The tasks of one conversation; Claude Code reports only changes to them."""

    def __init__(self) -> None:
        self._tasks: dict[str, _Task] = {}

    def apply(self, call: Block, output: str) -> str:
        """The whole plan after a call of one of its tools with this output."""
        arguments = call.input or {}
        match call.name:
            case "TaskCreate":
                found = _CREATED.search(output)
                self._keep(found[1] if found else "", _Task(_subject(arguments.get("subject"))))
            case "TaskUpdate":
                self._update(str(arguments.get("taskId") or ""), arguments.get("status"), arguments)
            case _:
                listed = {
                    name: _Task(subject, status)
                    for name, status, subject in _LISTED.findall(output)
                }
                self._tasks = listed or self._tasks
        lines = (f"[{task.status}] {task.subject}" for task in self._tasks.values())
        return last_chars("\n".join(lines), PLAN_CHARS)

    def _update(self, name: str, status: object, arguments: dict[str, object]) -> None:
        if status == "deleted":
            self._tasks.pop(name, None)
            return
        known = self._tasks.get(name, _Task(f"task {one_line(name, 20)}"))
        subject = _subject(arguments.get("subject")) or known.subject
        self._keep(name, _Task(subject, one_line(str(status or known.status), 20)))

    def _keep(self, name: str, task: _Task) -> None:
        if name and task.subject and (name in self._tasks or len(self._tasks) < MAX_TASKS):
            self._tasks[name] = task


def _subject(value: object) -> str:
    return one_line(str(value or ""), SUBJECT_CHARS)
