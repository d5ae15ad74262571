"""Reads a plan in Markdown.

    # Move the parser to its own package

    What stands here is given to the agent with every step.

    ## Preparation

    - P1: Write tests for what the parser does today
      - [ ] malformed input is covered
      - check: pytest tests/parser

    ## Move

    1. Create the package
    2. Move the module; what is indented below a step belongs to its text.

       ```check
       make lint
       make test
       ```

Headings are phases, list items are steps. A heading directly above a deeper one only groups phases;
the first of them at level 1 is the plan's title. Below a step, items with a box are its acceptance
criteria, and a line `check: COMMAND` or a block marked `check` is its check. A ticked step is done.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

from allstop.plans.plan import Phase, Plan, PlanReading, Problem, Step, checked, with_ids

TAB = 4

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_ITEM = re.compile(r"( *)(?:[-*+]|\d{1,9}[.)])(?: +(.*)|)$")
_BOX = re.compile(r"\[([ xX])\](?: +(.*)|)$")
_OTHER_BOX = re.compile(r"\[([^\]\sxX]?)\](?: |$)")
_ID = re.compile(r"((?=[\w.-]*\d)[A-Za-z0-9][\w.-]{0,63}): +(.*)$")
_FENCE = re.compile(r" *(`{3,}|~{3,}) *([^`]*)$")
_CHECK = re.compile(r"check:(?: +(.*)|)$", re.IGNORECASE)
_UNDERLINE = re.compile(r" {0,3}(=+|-+) *$")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,} *$")


class _OpenStep:
    def __init__(self, line: int, indent: int, content: int, text: str) -> None:
        self.line = line
        self.indent = indent
        self.content = content  # the column in which its text begins
        box = _BOX.match(text)
        self.is_done = box is not None and box[1] != " "
        text = (box[2] or "") if box else text
        named = _ID.match(text)
        self.id = named[1] if named else ""
        self.text = [named[2] if named else text]
        self.criteria: list[list[str]] = []
        self.criterion_indent: int | None = None
        self.checks: list[tuple[int, str]] = []

    def made(self) -> Step:
        return Step(
            id=self.id,
            text=_joined(self.text),
            criteria=tuple(_joined(lines) for lines in self.criteria),
            check=self.checks[0][1] if self.checks else "",
            done=self.is_done,
            line=self.line,
        )


class _OpenPhase:
    def __init__(self, line: int, level: int, name: str) -> None:
        self.line = line
        self.level = level
        self.name = name
        self.text: list[str] = []
        self.steps: list[_OpenStep] = []

    def made(self) -> Phase:
        steps = tuple(step.made() for step in self.steps)
        return Phase(name=self.name, steps=steps, text=_joined(self.text), line=self.line)


class _Fence:
    def __init__(self, line: int, opening: re.Match[str], *, is_check: bool, text: str) -> None:
        self.line = line
        self.mark = opening[1]
        self.is_check = is_check
        self.lines: list[str] = []
        self.text = text

    def is_closed_by(self, line: str) -> bool:
        end = line.strip()
        return len(end) >= len(self.mark) and not end.strip(self.mark[0])


class _Reader:
    def __init__(self) -> None:
        self.phases = [_OpenPhase(0, 0, "")]
        self.problems: list[Problem] = []
        self._step: _OpenStep | None = None
        self._fence: _Fence | None = None
        self._is_comment = False
        self._expects_check = False
        self._after_blank = True
        self._paragraph = ""  # the line above, if an underline makes it a heading

    def take(self, number: int, raw: str) -> None:
        line = raw.expandtabs(TAB)
        if self._fence is not None:
            self._in_fence(self._fence, raw, line)
        elif self._is_comment or line.lstrip().startswith("<!--"):
            self._is_comment = "-->" not in line
        elif not line.strip():
            self._after_blank, self._paragraph = True, ""
            self._add_text("")
        elif not self._take_block(number, line):
            self._take_text(number, line)

    def end(self) -> None:
        if self._fence is not None:
            self._problem(self._fence.line, "the code block is not closed", f"{self._fence.mark}")
            self._close_fence(self._fence)

    def _take_block(self, number: int, line: str) -> bool:
        """Handle a heading, a rule, a block's start or a list item; whether it was one."""
        if self._paragraph and (under := _UNDERLINE.match(line)):
            self._retitle(number - 1, 1 if under[1][0] == "=" else 2)
            return True
        if heading := _HEADING.match(line):
            self._open_phase(number, len(heading[1]), (heading[2] or "").strip())
            return True
        if _RULE.match(line):
            self._step, self._after_blank, self._paragraph = None, True, ""
            return True
        if (fence := _FENCE.match(line)) is not None:
            self._open_fence(number, fence, line)
            return True
        if item := _ITEM.match(line):
            self._take_item(number, item, line)
            return True
        return False

    # --- headings ---

    def _open_phase(self, number: int, level: int, name: str) -> None:
        self._step, self._after_blank, self._paragraph = None, True, ""
        if not name:
            self._problem(number, "the heading has no text", "the name of a phase")
        self.phases.append(_OpenPhase(number, level, name))

    def _retitle(self, number: int, level: int) -> None:
        """The line above was a heading, not text."""
        name = self._paragraph
        self.phases[-1].text.pop()
        self._open_phase(number, level, name.strip())

    # --- items ---

    def _take_item(self, number: int, item: re.Match[str], line: str) -> None:
        self._paragraph = ""
        indent, text = len(item[1]), item[2] or ""
        step = self._step
        is_below = step is not None and indent > step.indent + 1
        if indent > 3 and not is_below:
            self._problem(
                number, "the item is indented, but stands below no step", "no indentation"
            )
        if step is None or not is_below:
            self._open_step(number, indent, item.start(2) if text else indent + 2, text)
            return
        self._after_blank = False
        box = _BOX.match(text)
        nested = step.criterion_indent is not None and indent > step.criterion_indent + 1
        if box is not None and not nested:
            step.criterion_indent = indent
            step.criteria.append([box[2] or ""])
            if not (box[2] or "").strip():
                self._problem(number, "the criterion has no text", "what must hold")
        elif check := _CHECK.match(text):
            self._take_check(number, step, check)
        else:
            if not nested:
                step.criterion_indent = None
            self._add_text(line)

    def _open_step(self, number: int, indent: int, content: int, text: str) -> None:
        phase = self.phases[-1]
        if phase.level == 0 and not phase.steps:
            self._problem(number, "the step stands before the first heading", "a heading above it")
        if other := _OTHER_BOX.match(text):
            self._problem(number, f"the box [{other[1]}] is unknown", "[ ] or [x]")
        if check := _CHECK.match(text):
            self._problem(number, f"the check {check[1] or ''!r} belongs to no step", "indentation")
        self._step = _OpenStep(number, indent, content, text)
        self._expects_check = self._after_blank = False
        phase.steps.append(self._step)

    # --- text and checks ---

    def _take_text(self, number: int, line: str) -> None:
        step, indent = self._step, len(line) - len(line.lstrip())
        if step is not None and self._after_blank and indent <= step.indent:
            self._step = step = None  # a paragraph after the list
        self._after_blank = False
        if step is not None and (check := _CHECK.match(line.strip())):
            self._take_check(number, step, check)
            return
        self._add_text(line)
        self._paragraph = line if step is None else ""

    def _add_text(self, line: str) -> None:
        step = self._step
        if step is None:
            self.phases[-1].text.append(line.rstrip())
            return
        indent = len(line) - len(line.lstrip())
        if line.strip() and step.criterion_indent is not None and indent > step.criterion_indent:
            step.criteria[-1].append(line.strip())
        else:
            step.text.append(line[min(indent, step.content) :].rstrip())

    def _take_check(self, number: int, step: _OpenStep, check: re.Match[str]) -> None:
        command = _without_ticks((check[1] or "").strip())
        if command:
            self._add_check(number, step, command)
        else:
            self._expects_check = True

    def _add_check(self, number: int, step: _OpenStep, command: str) -> None:
        if step.checks:
            above = step.checks[0][0]
            self._problem(number, f"the step has a check on line {above} already", "one check")
        step.checks.append((number, command))

    def _open_fence(self, number: int, opening: re.Match[str], line: str) -> None:
        is_check = self._expects_check or "check" in opening[2].lower().split()
        self._expects_check, self._paragraph = False, ""
        step, indent = self._step, len(line) - len(line.lstrip())
        if step is not None and indent <= step.indent:
            self._step = step = None
        if is_check and step is None:
            self._problem(number, "the check belongs to no step", "a step above, and indentation")
        self._fence = _Fence(number, opening, is_check=is_check and step is not None, text=line)
        if not self._fence.is_check:
            self._add_text(line)

    def _in_fence(self, fence: _Fence, raw: str, line: str) -> None:
        if fence.is_closed_by(line):
            self._close_fence(fence)
            if not fence.is_check:
                self._add_text(line)
        elif fence.is_check:
            fence.lines.append(raw)
        else:
            self._add_text(line)

    def _close_fence(self, fence: _Fence) -> None:
        self._fence, self._after_blank = None, False
        if not fence.is_check or self._step is None:
            return
        commands = [line.strip() for line in fence.lines if line.strip()]
        if not commands:
            self._problem(fence.line, "the check is empty", "a command")
            return
        # without it, only the last command would count
        lead = ["set -e"] if len(commands) > 1 else []
        self._add_check(fence.line, self._step, "\n".join([*lead, *commands]))

    def _problem(self, line: int, problem: str, expected: str) -> None:
        self.problems.append(Problem(line=line, problem=problem, expected=expected))


def read(text: str) -> PlanReading:
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        reader.take(number, line)
    reader.end()
    intro, *headings = reader.phases
    title, about = "", [_joined(intro.text)]
    phases = [intro.made()] if intro.steps else []
    for phase, is_group in _with_groups(headings):
        if is_group and not phase.steps:
            title = title or phase.name
            about.append(_joined(phase.text))
        else:
            phases.append(phase.made())
    whole = "\n\n".join(filter(None, about))
    return checked(Plan(phases=with_ids(phases), title=title, text=whole), reader.problems)


def _with_groups(headings: list[_OpenPhase]) -> Iterator[tuple[_OpenPhase, bool]]:
    """Each heading, and whether a deeper one follows it directly."""
    for phase, after in zip_longest(headings, headings[1:]):
        yield phase, after is not None and after.level > phase.level


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip()


def _without_ticks(command: str) -> str:
    inside = command[1:-1]
    is_code = len(command) > 2 and command[0] == command[-1] == "`" and "`" not in inside
    return inside.strip() if is_code else command
