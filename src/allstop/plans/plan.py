"""A plan: phases of steps, and what is wrong with the file that it was read from."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct


class Step(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One step of a plan."""

    id: str
    text: str
    criteria: tuple[str, ...] = ()
    check: str = ""  # a shell command that decides whether the step is done
    done: bool = False  # ticked in the file
    line: int = 0

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0]


class Phase(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    name: str
    steps: tuple[Step, ...] = ()
    text: str = ""  # what the file says about it besides the steps
    line: int = 0


class Plan(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    phases: tuple[Phase, ...] = ()
    title: str = ""
    text: str = ""  # what the file says before the first phase

    def steps(self) -> Iterator[tuple[int, Step]]:
        """All steps in order, each with the number of its phase, counted from 0."""
        for number, phase in enumerate(self.phases):
            for step in phase.steps:
                yield number, step


class Problem(Struct, frozen=True, gc=False, kw_only=True):
    """Something in a plan's file that must be corrected."""

    line: int
    problem: str
    expected: str

    def __str__(self) -> str:
        return f"{self.problem}; expected {self.expected}"


class PlanReading(Struct, frozen=True, kw_only=True):
    """What was understood of a file, and everything that is wrong with it."""

    plan: Plan
    problems: tuple[Problem, ...] = ()


ID = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


def with_ids(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Name each step without an id by its place: the second step of the first phase is 1.2."""
    return tuple(
        Phase(
            name=phase.name,
            text=phase.text,
            line=phase.line,
            steps=tuple(
                step if step.id else _renamed(step, f"{number}.{place}")
                for place, step in enumerate(phase.steps, 1)
            ),
        )
        for number, phase in enumerate(phases, 1)
    )


def _renamed(step: Step, name: str) -> Step:
    return Step(
        id=name,
        text=step.text,
        criteria=step.criteria,
        check=step.check,
        done=step.done,
        line=step.line,
    )


def checked(plan: Plan, problems: Iterable[Problem]) -> PlanReading:
    """The plan with the problems that its format found and those that any format can have."""
    found = [*problems]
    if not plan.phases and not found:
        found.append(Problem(line=1, problem="the plan is empty", expected="a phase with a step"))
    found += _problems(plan)
    return PlanReading(plan=plan, problems=tuple(sorted(found, key=lambda each: each.line)))


def _problems(plan: Plan) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    is_open = False
    for phase in plan.phases:
        if not phase.steps:
            yield Problem(
                line=phase.line,
                problem=f"the phase {phase.name!r} has no steps",
                expected="at least one step below it",
            )
        for step in phase.steps:
            is_open = is_open or not step.done
            yield from _step_problems(step, seen)
    if seen and not is_open:
        first = plan.phases[0].line or 1
        yield Problem(line=first, problem="every step is ticked", expected="a step to do")


def _step_problems(step: Step, seen: dict[str, int]) -> Iterator[Problem]:
    if not ID.fullmatch(step.id):
        yield Problem(
            line=step.line,
            problem=f"the id {step.id[:80]!r} is not usable",
            expected='letters, digits, ".", "_" or "-", at most 64 of them',
        )
    if not step.text.strip():
        yield Problem(line=step.line, problem="the step has no text", expected="what is to be done")
    if step.id in seen:
        yield Problem(
            line=step.line,
            problem=f"the id {step.id!r} is used on line {seen[step.id]} already",
            expected="an id of its own for each step",
        )
    seen.setdefault(step.id, step.line)
