"""Reads plans of other tools in JSON: `prd.json` of ralph tools, and task-master's `tasks.json`.

A story, or a subtask, becomes a step; a task with subtasks becomes a phase. Steps stand after those
that they need, then by priority (of stories), then in the file's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from allstop.adapters.exchange.plan_import import (
    ImportedPlan,
    Note,
    after_needs,
    imported,
    joined,
    step,
)
from allstop.plans.document import Value
from allstop.plans.plan import Phase, Step, with_ids

DONE = ("done", "complete", "completed", "passed", "closed")
CANCELLED = ("cancelled", "canceled")


class Entry:
    """An object of the file; the notes say which of its keys were not used."""

    def __init__(self, value: Value) -> None:
        self.line = value.line
        self._fields = dict(value.pairs or ())

    def left(self) -> Iterator[tuple[str, int]]:
        """The keys that nobody has asked for, with their lines."""
        return ((key, value.line) for key, value in self._fields.items())

    def value(self, key: str) -> Value | None:
        return self._fields.pop(key, None)

    def text(self, *keys: str) -> str:
        """The first of these texts; the others are used too."""
        found = [value.text for key in keys if (value := self.value(key)) and value.text]
        return found[0].strip() if found else ""

    def texts(self, key: str) -> list[str]:
        value = self.value(key)
        if value is None:
            return []
        if value.items is None:
            return [line.strip("-* ") for line in (value.text or "").split("\n") if line.strip()]
        return [each.text.strip() for each in value.items if each.text and each.text.strip()]

    def entries(self, key: str) -> list[Entry]:
        value = self.value(key)
        return (
            [Entry(each) for each in (value.items or []) if each.pairs is not None] if value else []
        )

    def flag(self, key: str) -> bool:
        value = self.value(key)
        return value is not None and bool(value.is_true)


class _Notes:
    """Notes on keys and values; a key that is left out often is noted once."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self._lines: dict[str, int] = {}
        self._times: Counter[str] = Counter()

    def add(self, line: int, text: str) -> None:
        self.notes.append(Note(line, text))

    def unused(self, entry: Entry) -> None:
        for key, line in entry.left():
            self._lines.setdefault(key, line)
            self._times[key] += 1

    def all(self) -> list[Note]:
        keys = [
            Note(line, f"the key {key!r} is left out" + _times(self._times[key]))
            for key, line in self._lines.items()
        ]
        return [*self.notes, *keys]


def _times(count: int) -> str:
    return f", {count} times" if count > 1 else ""


# --- prd.json ---


def looks_like_prd(root: Value) -> bool:
    if root.items is not None:
        return any("passes" in dict(each.pairs or ()) for each in root.items)
    return "userStories" in dict(root.pairs or ())


def read_prd(root: Value) -> ImportedPlan:
    notes, whole = _Notes(), Entry(root)
    if root.items is not None:
        stories, title, about = [Entry(each) for each in root.items if each.pairs], "", ""
    else:
        stories = whole.entries("userStories")
        title, about = whole.text("project", "name", "title"), whole.text("description")
        branch = whole.value("branchName")
        if branch is not None:
            notes.add(branch.line, "the branch is left out: a plan works in its own clone")
        notes.unused(whole)
    steps: dict[str, Step] = {}
    needs: dict[str, Sequence[str]] = {}
    ranks: dict[str, float] = {}
    for place, story in enumerate(stories):
        name = story.text("id") or f"#{place + 1}"
        if name in steps:
            notes.add(story.line, f"the id {name!r} is used twice; this story gets another one")
            name = f"#{place + 1}"
        needs[name] = story.texts("dependsOn") + story.texts("dependencies")
        ranks[name] = _rank(story.text("priority"))
        steps[name] = _story(name, story)
        notes.unused(story)
    names = sorted(steps, key=lambda name: ranks[name])
    phase = Phase(
        name=title or "Stories", steps=tuple(_in_order(names, steps, needs, notes)), line=root.line
    )
    return imported(title, [about], with_ids([phase] if steps else []), notes.all())


def _story(name: str, story: Entry) -> Step:
    title, description = story.text("title"), story.text("description")
    details = story.text("notes", "completionNotes")
    lines = [title or description, description if title else "", details]
    criteria = story.texts("acceptanceCriteria") + story.texts("steps")
    status, is_passed, is_completed = (
        story.text("status"),
        story.flag("passes"),
        story.flag("completed"),
    )
    is_done = is_passed or is_completed or status.lower() in DONE
    return step(name, _paragraphs(lines), criteria=criteria, done=is_done, line=story.line)


def _rank(priority: str) -> float:
    """1 is the most urgent; without a number the story comes after those with one."""
    named = {"critical": 0.0, "high": 1.0, "medium": 2.0, "low": 3.0}
    try:
        return float(priority)
    except ValueError:
        return named.get(priority.lower(), float("inf"))


def _in_order(
    names: Sequence[str], steps: dict[str, Step], needs: dict[str, Sequence[str]], notes: _Notes
) -> list[Step]:
    for name in names:
        for need in needs[name]:
            if need not in steps:
                notes.add(steps[name].line, f"{name} needs {need!r}, which is not in the file")
    order, cyclic = after_needs(names, needs)
    for name in names:
        if name in cyclic:
            notes.add(steps[name].line, f"{name} is part of a cycle of needs")
    return [steps[name] for name in order]


def _paragraphs(parts: Iterable[str]) -> list[str]:
    return joined(f"{part}\n" for part in parts if part).split("\n")


# --- task-master ---


def looks_like_task_master(root: Value) -> bool:
    return bool(_tags(root))


def _tags(root: Value) -> list[tuple[str, Value]]:
    """Each tag's name and the object with its tasks; "" for a file without tags."""
    fields = dict(root.pairs or ())
    if "tasks" in fields:
        return [("", root)]
    return [(tag, each) for tag, each in fields.items() if "tasks" in dict(each.pairs or ())]


def read_task_master(root: Value) -> ImportedPlan:
    notes, phases = _Notes(), list[Phase]()
    tags = _tags(root)
    for tag, value in tags:
        holder = Entry(value)
        tasks = {task.text("id"): task for task in holder.entries("tasks")}
        holder.value("metadata")
        notes.unused(holder)
        prefix = f"{tag}: " if len(tags) > 1 else ""
        phases += _task_phases(tasks, prefix, notes)
    return imported("", [], with_ids(phases), notes.all())


def _task_phases(tasks: dict[str, Entry], prefix: str, notes: _Notes) -> list[Phase]:
    needs = {name: task.texts("dependencies") for name, task in tasks.items()}
    order, cyclic = after_needs([*tasks], needs)
    phases: list[Phase] = []
    loose: list[Step] = []
    for name in order:
        task = tasks[name]
        if name in cyclic:
            notes.add(task.line, f"{name} is part of a cycle of needs")
        parts = {part.text("id"): part for part in task.entries("subtasks")}
        made = _task(f"{prefix.rstrip(': ')}-{name}" if prefix else name, task, notes)
        if made is None:
            continue
        if not parts:
            loose.append(made)
            continue
        if loose:
            phases.append(Phase(name=f"{prefix}Tasks", steps=tuple(loose), line=loose[0].line))
            loose = []
        phases += _parts_phase(made, parts, prefix, notes)
    if loose:
        phases.append(Phase(name=f"{prefix}Tasks", steps=tuple(loose), line=loose[0].line))
    return phases


def _parts_phase(task: Step, parts: dict[str, Entry], prefix: str, notes: _Notes) -> list[Phase]:
    needs = {name: part.texts("dependencies") for name, part in parts.items()}
    steps = []
    for name in after_needs([*parts], needs)[0]:
        made = _task(f"{task.id}.{name.rpartition('.')[2]}", parts[name], notes, is_done=task.done)
        steps += [made] if made else []
    text = [task.text.partition("\n")[2], *(f"- {each}" for each in task.criteria)]
    name = f"{prefix}{task.title}"
    return (
        [Phase(name=name, text=joined(text), steps=tuple(steps), line=task.line)] if steps else []
    )


def _task(name: str, task: Entry, notes: _Notes, *, is_done: bool = False) -> Step | None:
    """The step of a task; None if it is cancelled."""
    status = task.text("status").lower()
    lines = [task.text("title"), task.text("description"), task.text("details")]
    criteria = task.texts("testStrategy") + task.texts("acceptanceCriteria")
    task.value("dependencies")
    task.value("subtasks")
    notes.unused(task)
    if status in CANCELLED:
        notes.add(task.line, f"{name} is cancelled and left out")
        return None
    if status == "deferred":
        notes.add(task.line, f"{name} is deferred there; here it is a step like the others")
    done = is_done or status in DONE
    return step(name, _paragraphs(lines), criteria=criteria, done=done, line=task.line)
