"""Reads ralphex plans: `### Task N: title` with boxes, and `## Validation Commands`.

Each task becomes a step, and its boxes become acceptance criteria. ralphex validates after each
task, so the validation commands become the check of every step.
"""

import re

from allstop.adapters.exchange.markdown_lines import MarkdownLine, markdown_lines
from allstop.adapters.exchange.plan_import import ImportedPlan, Note, imported, joined, step
from allstop.plans.plan import Phase, with_ids

NAME = "ralphex"
_TASK = re.compile(r"(?:Task|Iteration)\s+([^:]+?):\s*(.*)$")
_COMMAND = re.compile(r"`([^`]+)`")
_CLOSING = "mark completed"
"""A box of ralphex's template that says nothing about the work."""


def looks_like(text: str) -> bool:
    return any(line.level == 3 and _TASK.match(line.text) for line in markdown_lines(text))


class _Task:
    def __init__(self, number: str, line: MarkdownLine, title: str) -> None:
        self.name = f"T{number}"
        self.line = line.number
        self.lines = [title]
        self.boxes: list[tuple[list[str], bool]] = []
        self.open_box: list[str] | None = None  # the lines of the last box


class _Reader:
    def __init__(self) -> None:
        self.title = ""
        self.about: list[str] = []
        self.tasks: list[_Task] = []
        self.commands: list[str] = []
        self.notes: list[Note] = []
        self._is_validation = False
        self._is_left_out = False

    def take(self, line: MarkdownLine) -> None:
        task = self.tasks[-1] if self.tasks else None
        if line.level:
            self._take_heading(line)
        elif self._is_validation:
            self._take_command(line)
        elif self._is_left_out:
            return
        elif task is None:
            self.about.append(line.raw)
        elif line.box and not line.indent:
            self._take_box(line, task)
        elif task.open_box is not None and line.indent:
            task.open_box.append(line.raw.strip())
        else:
            task.open_box = None
            task.lines.append(line.raw)

    def _take_heading(self, line: MarkdownLine) -> None:
        found = _TASK.match(line.text) if line.level == 3 else None
        self._is_validation = line.text.lower() == "validation commands"
        if found:
            self.tasks.append(_Task(found[1].strip(), line, found[2]))
            self._is_left_out = False
        elif self._is_validation:
            return
        elif line.level == 1 and not self.title:
            self.title = line.text.removeprefix("Plan:")
        elif self.tasks and line.level > 3 and not self._is_left_out:
            self.tasks[-1].lines.append(f"{line.text}:")
            self.tasks[-1].open_box = None
        elif self.tasks:
            self._is_left_out = True
            self.notes.append(Note(line.number, f"the section {line.text!r} is left out"))
        else:
            self.about += ["", f"{line.text}:", ""]

    def _take_command(self, line: MarkdownLine) -> None:
        is_mark = line.text[:3] in ("```", "~~~")
        if not line.text or is_mark:
            return
        found = _COMMAND.search(line.text)
        if line.is_code and not line.text.startswith("#"):
            self.commands.append(line.text)
        elif found:
            self.commands.append(found[1].strip())
        elif not line.is_code:
            self.notes.append(Note(line.number, f"there is no command in backticks: {line.text}"))

    def _take_box(self, line: MarkdownLine, task: _Task) -> None:
        if line.text.lower().rstrip(".") == _CLOSING:
            self.notes.append(Note(line.number, f"the box {line.text!r} is left out"))
        else:
            task.open_box = [line.text]
            task.boxes.append((task.open_box, line.is_ticked))


def read(text: str) -> ImportedPlan:
    reader = _Reader()
    for line in markdown_lines(text):
        reader.take(line)
    check = "\n".join(reader.commands)
    check = f"set -e\n{check}" if len(reader.commands) > 1 else check
    steps = []
    for task in reader.tasks:
        ticked = [lines for lines, is_ticked in task.boxes if is_ticked]
        is_done = bool(ticked) and len(ticked) == len(task.boxes)
        if ticked and not is_done:
            note = f"{len(ticked)} of {len(task.boxes)} boxes are ticked; the step is open"
            reader.notes.append(Note(task.line, note))
        criteria = [joined(lines) for lines, _ in task.boxes]
        steps.append(
            step(
                task.name,
                joined(task.lines).split("\n"),
                criteria=criteria,
                check=check,
                done=is_done,
                line=task.line,
            )
        )
    phases = with_ids(
        [Phase(name="Tasks", steps=tuple(steps), line=steps[0].line)] if steps else []
    )
    return imported(reader.title, reader.about, phases, reader.notes)
