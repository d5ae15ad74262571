"""Reads Kiro's `tasks.md`: `- [ ] 1. title` with numbered parts, details and `_Requirements: 1.1_`.

A task with parts becomes a phase with a step for each part. Tasks without parts are steps of the
phase of their heading. A line with requirements becomes an acceptance criterion.
"""

import re

from allstop.adapters.exchange.markdown_lines import MarkdownLine, markdown_lines
from allstop.adapters.exchange.plan_import import ImportedPlan, Note, imported, joined, step
from allstop.plans.plan import Phase, Step, with_ids

NAME = "kiro"
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)\.?\s+(.*)$")
_REQUIREMENTS = re.compile(r"_\s*Requirements?:\s*(.*?)\s*_$", re.IGNORECASE)
_OPEN = (" ", "-", "~")
TASKS = "Tasks"


def looks_like(text: str) -> bool:
    return any(line.box and _NUMBERED.match(line.text) for line in markdown_lines(text))


class _Task:
    def __init__(self, line: MarkdownLine, number: str, title: str, heading: str) -> None:
        self.line = line
        self.number = number
        self.title = title
        self.heading = heading
        self.lines: list[str] = []
        self.criteria: list[str] = []
        self.parts: list[_Task] = []

    def step(self) -> Step:
        suffix = " (optional)" if self.line.is_starred else ""
        return step(
            self.number,
            [f"{self.title}{suffix}", *joined(self.lines).split("\n")],
            criteria=self.criteria,
            done=self.line.is_ticked,
            line=self.line.number,
        )


class _Reader:
    def __init__(self) -> None:
        self.title = ""
        self.about: list[str] = []
        self.tasks: list[_Task] = []
        self.notes: list[Note] = []
        self._heading = MarkdownLine(1, TASKS, "")
        self._task: _Task | None = None
        self._by_number: dict[str, _Task] = {}
        self._unused: MarkdownLine | None = None  # a heading below which no task came yet

    def take(self, line: MarkdownLine) -> None:
        if line.level:
            self._take_heading(line)
        elif line.box:
            self._take_task(line)
        elif self._task is not None and (line.indent or not line.text):
            self._take_detail(line, self._task)
        elif self._unused is None or not self.tasks:
            self._task = None
            self.about += [line.raw] if not self.tasks else []
            if self.tasks and line.text:
                self.notes.append(Note(line.number, "text outside of tasks is left out"))

    def _take_heading(self, line: MarkdownLine) -> None:
        self._task = None
        if line.level == 1 and not self.title:
            self.title = line.text.rpartition(":")[2]
            return
        self.end_section()
        self._heading = self._unused = line

    def end_section(self) -> None:
        line = self._unused
        if line is not None and self.tasks:
            self.notes.append(Note(line.number, f"the section {line.text!r} is left out"))
        self._unused = None

    def _take_task(self, line: MarkdownLine) -> None:
        found = _NUMBERED.match(line.text)
        number, title = (found[1], found[2]) if found else ("", line.text)
        self._unused = None
        if line.box not in _OPEN and not line.is_ticked:
            self.notes.append(
                Note(line.number, f"the box [{line.box}] is unknown; it counts as open")
            )
        if line.is_starred:
            note = f"{number or 'this task'} is optional there; here it is a step like the others"
            self.notes.append(Note(line.number, note))
        parent = self._by_number.get(number.rpartition(".")[0])
        if number.count(".") > 1 and parent is not None:
            parent.criteria.append(title)
            return
        self._task = _Task(line, number, title, self._heading.text)
        self._by_number[number] = self._task
        (parent.parts if parent is not None else self.tasks).append(self._task)

    def _take_detail(self, line: MarkdownLine, task: _Task) -> None:
        if found := _REQUIREMENTS.match(line.text):
            task.criteria.append(f"The requirements {found[1]} are met.")
        else:
            task.lines.append(f"- {line.text}" if line.is_item else line.raw.strip())


def read(text: str) -> ImportedPlan:
    reader = _Reader()
    for line in markdown_lines(text):
        reader.take(line)
    reader.end_section()
    phases: list[Phase] = []
    loose: list[_Task] = []
    for task in reader.tasks:
        if loose and (task.parts or loose[-1].heading != task.heading):
            phases.append(_loose_phase(loose))
            loose = []
        if task.parts:
            phases.append(_phase(task))
        else:
            loose.append(task)
    if loose:
        phases.append(_loose_phase(loose))
    return imported(reader.title, reader.about, with_ids(phases), reader.notes)


def _phase(task: _Task) -> Phase:
    lines = [*task.lines, *(f"- {criterion}" for criterion in task.criteria)]
    return Phase(
        name=f"{task.number}. {task.title}",
        text=joined(lines),
        steps=tuple(part.step() for part in task.parts),
        line=task.line.number,
    )


def _loose_phase(tasks: list[_Task]) -> Phase:
    steps = tuple(task.step() for task in tasks)
    return Phase(name=tasks[0].heading, steps=steps, line=steps[0].line)
