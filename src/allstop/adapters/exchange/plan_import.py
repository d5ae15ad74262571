"""A plan of another tool as it was understood, with notes on what was left out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from allstop.plans.plan import ID, Phase, Plan, Problem, Step


class Note(NamedTuple):
    """Something of the file that the plan doesn't have."""

    line: int
    text: str


class ImportedPlan(NamedTuple):
    plan: Plan
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()  # why it can't be used


def imported(
    title: str, text: Iterable[str], phases: Iterable[Phase], notes: Iterable[Note]
) -> ImportedPlan:
    plan = Plan(title=title.strip(), text=joined(text), phases=tuple(phases))
    return ImportedPlan(plan, tuple(sorted(notes)))


def joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).strip()


def step(
    name: str,
    lines: Iterable[str],
    *,
    criteria: Sequence[str] = (),
    check: str = "",
    done: bool = False,
    line: int,
) -> Step:
    """A step; without a usable name, its place names it later."""
    is_usable = ID.fullmatch(name) is not None
    return Step(
        id=name if is_usable else "",
        text=joined(lines),
        criteria=tuple(criteria),
        check=check,
        done=done,
        line=line,
    )


def after_needs(
    names: Sequence[str], needs: Mapping[str, Sequence[str]]
) -> tuple[list[str], set[str]]:
    """The names in order, each after those that it needs, and those that are part of a cycle."""
    placed: dict[str, None] = {}
    cyclic: set[str] = set()
    known = set(names)
    for name in names:
        path = [name]
        while path:
            here = path[-1]
            missing = [n for n in needs.get(here, ()) if n in known and n not in placed]
            cyclic.update(here for need in missing if need in path)
            following = next((need for need in missing if need not in path), None)
            if following is not None:
                path.append(following)
            else:
                placed[path.pop()] = None
    return list(placed), cyclic
