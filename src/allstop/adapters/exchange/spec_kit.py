"""Reads spec-kit's `tasks.md`: `- [ ] T001 [P] [US1] title` below headings.

Each heading with tasks becomes a phase. Sections without tasks, such as notes on the order, are
left out. `[P]` (may run beside others) is dropped, because a plan's steps run in order.
"""

import re

from allstop.adapters.exchange.markdown_lines import MarkdownLine, markdown_lines
from allstop.adapters.exchange.plan_import import ImportedPlan, Note, imported, joined, step
from allstop.plans.plan import Phase, with_ids

NAME = "spec-kit"
_TASK = re.compile(r"(?:\*\*)?(T\d+[A-Za-z]?)(?:\*\*)?:?\s+((?:\[[^\]]+\]\s*)*)(.*)$")
_MARK = re.compile(r"\[([^\]]+)\]")


def looks_like(text: str) -> bool:
    return any(line.box and _TASK.match(line.text) for line in markdown_lines(text))


class _Section:
    def __init__(self, line: MarkdownLine, parent: "_Section | None") -> None:
        self.line = line
        self.parent = parent
        self.text: list[str] = []
        self.steps: list[tuple[MarkdownLine, str, list[str]]] = []
        self.is_used = False

    @property
    def name(self) -> str:
        before = self.parent
        is_part = before is not None and before.line.level > 1
        return f"{before.line.text}: {self.line.text}" if before and is_part else self.line.text

    def use(self) -> None:
        self.is_used = True
        if self.parent is not None:
            self.parent.use()


def read(text: str) -> ImportedPlan:
    title, about, sections, open_step = "", list[str](), list[_Section](), None
    for line in markdown_lines(text):
        if line.level == 1 and not title:
            title = line.text.removeprefix("Tasks:")
        elif line.level:
            above = [each for each in sections if each.line.level < line.level]
            parent = above[-1] if above and line.level > 2 else None
            sections.append(_Section(line, parent))
            open_step = None
        elif not sections:
            about.append(line.raw)
        elif line.box and not line.indent:
            open_step = _step_of(line, sections[-1])
        elif open_step is not None and (line.indent or not line.text):
            open_step.append(line.raw.strip() if not line.is_code else line.raw)
        else:
            open_step = None
            sections[-1].text.append(line.raw)
    for section in sections:
        if section.steps:
            section.use()
    notes = [
        Note(each.line.number, f"the section {each.line.text!r} has no tasks and is left out")
        for each in sections
        if not each.is_used
    ]
    return imported(title, about, with_ids(_phases(sections)), notes)


def _step_of(line: MarkdownLine, section: _Section) -> list[str]:
    """Add the step of an item; returns its lines of text."""
    found = _TASK.match(line.text)
    name, marks, title = found.groups() if found else ("", "", line.text)
    stories = [mark for mark in _MARK.findall(marks) if mark != "P"]
    lines = [" ".join([title, *(f"({story})" for story in stories)])]
    section.steps.append((line, name, lines))
    return lines


def _phases(sections: list[_Section]) -> list[Phase]:
    phases = []
    for section in sections:
        if not section.steps:
            continue
        lines = section.text
        if section.parent is not None and not section.parent.steps:
            lines = [*section.parent.text, "", *lines]
            section.parent.text = []  # only with its first part
        steps = tuple(
            step(name, text, done=line.is_ticked, line=line.number)
            for line, name, text in section.steps
        )
        phases.append(
            Phase(name=section.name, text=joined(lines), steps=steps, line=section.line.number)
        )
    return phases
