"""Writes a plan as Markdown that `markdown_plan` reads again, and ticks finished steps in a file."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from allstop.plans import markdown_plan
from allstop.plans.plan import Phase, Plan, Step

_SET_E = "set -e\n"
"""`markdown_plan` adds it to a check of several commands."""
_BLOCK = r"#{1,6}(?:\s|$)|`{3}|~{3}|<!--|=+ *$|-+ *$|(?:[-*_] *){3,}$|check:"
_BULLET = r"(?:[-*+]|\d{1,9}[.)])"
_MARKUP = re.compile(rf"\s*(?:{_BLOCK}|{_BULLET}(?:\s|$))", re.IGNORECASE)
_MARKUP_IN_STEP = re.compile(
    rf"\s*(?:{_BLOCK}|{_BULLET}\s+(?:check:|\[[ xX]\](?:\s|$)))", re.IGNORECASE
)
"""A list within a step is part of its text, unless it has boxes."""
_MARKUP_IN_CRITERION = re.compile(rf"\s*(?:{_BLOCK}|{_BULLET}\s+check:)", re.IGNORECASE)
_STEP_ID = re.compile(r"(?=[\w.-]*\d)[A-Za-z0-9][\w.-]{0,63}")
_NAMED = re.compile(rf"{_STEP_ID.pattern}: ")
_BEFORE_TEXT = re.compile(r"(\s*(?:[-*+]|\d{1,9}[.)])\s+)(?:\[ \]\s+)?")


def written(plan: Plan, finished: Collection[str] = ()) -> str:
    """The plan as Markdown; steps whose ids are in `finished` are ticked.

    An id without a digit can't be written; a check of several lines ends at its first failure.
    """
    parts = [[f"# {_line(plan.title)}"]] if plan.title else []
    if plan.text:
        parts.append(_text(plan.text, 0))
    for number, phase in enumerate(plan.phases, 1):
        parts.append([f"## {_line(phase.name) or f'Phase {number}'}"])
        if phase.text:
            parts.append(_text(phase.text, 0))
        parts.append(list(_steps(number, phase, finished)))
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _steps(number: int, phase: Phase, finished: Collection[str]) -> Iterator[str]:
    for place, step in enumerate(phase.steps, 1):
        is_done = step.done or step.id in finished
        yield from _step(step, f"{number}.{place}", is_done=is_done)


def _step(step: Step, place: str, *, is_done: bool) -> Iterator[str]:
    first, *more = step.text.strip().split("\n")
    needs_id = step.id != place or _NAMED.match(first) is not None
    name = f"{step.id}: " if needs_id and _STEP_ID.fullmatch(step.id) else ""
    lead = "\\" if not name and (_MARKUP.match(first) or first.startswith("[")) else ""
    yield f"- {'[x] ' if is_done else ''}{name}{lead}{first.strip()}"
    if more:
        yield from _text("\n".join(more), 2)
    for criterion in step.criteria:
        head, *rest = criterion.strip().split("\n")
        yield f"  - [ ] {head}"
        yield from (
            f"    {_escaped(line.strip(), _MARKUP_IN_CRITERION)}" for line in rest if line.strip()
        )
    if step.check:
        yield from _check(step.check)


def _escaped(line: str, markup: re.Pattern[str]) -> str:
    """The line, so that it means nothing else in a plan."""
    return re.sub(r"^(\s*)", r"\1\\", line) if markup.match(line) else line


def _check(check: str) -> Iterator[str]:
    if "\n" not in check and not check.startswith("`"):
        yield f"  - check: {check}"
        return
    mark = "~~~" if "```" in check else "```"
    yield from (f"  {mark}check", *(f"  {line}" for line in _commands(check)), f"  {mark}")


def _commands(check: str) -> list[str]:
    return check.removeprefix(_SET_E).split("\n")


def _text(text: str, indent: int) -> list[str]:
    """Text whose lines mean nothing else in a plan; code blocks stay as they are."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = line.strip()[:3]
        is_fence = mark in ("```", "~~~") and "check" not in line.lower()
        if is_fence and not fence and _is_closed(text, line, mark):
            fence = mark
        elif fence and mark == fence and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence:
            line = _escaped(line, _MARKUP_IN_STEP if indent else _MARKUP)
        lines.append(f"{' ' * indent}{line}".rstrip())
    return lines


def _is_closed(text: str, line: str, mark: str) -> bool:
    """Whether a code block that begins with this line ends; no check may begin within it."""
    after = text.partition(line)[2].split("\n")[1:]
    return any(each.strip() == mark for each in after)


def _line(text: str) -> str:
    return " ".join(text.split()).rstrip("# ")


def ticked(text: str, finished: Iterable[str]) -> tuple[str, int]:
    """A plan's Markdown with the steps of these texts ticked, and how many were ticked now."""
    left = Counter(each.strip() for each in finished)
    lines, count = text.split("\n"), 0
    read = markdown_plan.read(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    for _, step in read.plan.steps():
        if not left[step.text.strip()]:
            continue
        left[step.text.strip()] -= 1
        if not step.done:
            place = step.line - 1
            lines[place] = _BEFORE_TEXT.sub(r"\g<1>[x] ", lines[place], count=1)
            count += 1
    return "\n".join(lines), count
