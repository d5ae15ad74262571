"""Reads a plan from the values of a JSON or YAML file, each with its line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from allstop.plans.plan import Phase, Plan, PlanReading, Problem, Step, checked, with_ids

T = TypeVar("T")

DEEPEST = 20
"""The deepest nesting of a file; a plan needs five levels."""


class Value(Struct, gc=False, kw_only=True):
    """A value of a file: text, a list, a table, or something else that no plan needs."""

    line: int
    text: str | None = None
    items: list[Value] | None = None
    pairs: list[tuple[str, Value]] | None = None
    is_true: bool | None = None
    kind: str = "text"  # for messages


PLAN_KEYS = ("title", "text", "phases")
PHASE_KEYS = ("name", "text", "steps")
STEP_KEYS = ("id", "text", "criteria", "check", "done")


def read(root: Value | None, problems: Iterable[Problem]) -> PlanReading:
    """The plan of a file's root value; None if the file could not be parsed."""
    reader = _Reader([*problems])
    if root is None:
        if not reader.problems:
            reader.problem(1, "the plan is empty", "an object with the key phases")
        return PlanReading(plan=Plan(), problems=tuple(reader.problems))
    return checked(reader.plan(root), reader.problems)


class _Reader:
    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems

    def problem(self, line: int, problem: str, expected: str) -> None:
        self.problems.append(Problem(line=line, problem=problem, expected=expected))

    def plan(self, root: Value) -> Plan:
        fields = self._table(root, "the plan", PLAN_KEYS)
        phases = self._list(fields.get("phases"), self._phase) if fields is not None else ()
        if fields is not None and "phases" not in fields:
            self.problem(root.line, "the plan has no phases", "a list under the key phases")
        fields = fields or {}
        return Plan(
            phases=with_ids(phases),
            title=self._text(fields.get("title")),
            text=self._text(fields.get("text")),
        )

    def _phase(self, value: Value) -> Phase | None:
        fields = self._table(value, "the phase", PHASE_KEYS)
        if fields is None:
            return None
        if "name" not in fields:
            self.problem(value.line, "the phase has no name", "a text under the key name")
        return Phase(
            name=self._text(fields.get("name")),
            text=self._text(fields.get("text")),
            steps=self._list(fields.get("steps"), self._step),
            line=value.line,
        )

    def _step(self, value: Value) -> Step | None:
        if value.text is not None:
            return Step(id="", text=value.text.strip(), line=value.line)
        fields = self._table(value, "the step", STEP_KEYS)
        if fields is None:
            return None
        return Step(
            id=self._text(fields.get("id")),
            text=self._text(fields.get("text")),
            criteria=self._list(fields.get("criteria"), self._criterion),
            check=self._text(fields.get("check")),
            done=self._flag(fields.get("done")),
            line=value.line,
        )

    def _criterion(self, value: Value) -> str | None:
        return self._text(value) or None

    def _table(self, value: Value, what: str, keys: tuple[str, ...]) -> dict[str, Value] | None:
        if value.pairs is None:
            expected = f"an object with {', '.join(keys)}"
            self.problem(value.line, f"{what} is {value.kind}", expected)
            return None
        fields: dict[str, Value] = {}
        for key, each in value.pairs:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, n=1)
                expected = near[0] if near else ", ".join(keys)
                self.problem(each.line, f"{what} has an unknown key {key[:80]!r}", expected)
            elif key in fields:
                self.problem(each.line, f"the key {key!r} is given twice", "each key once")
            else:
                fields[key] = each
        return fields

    def _list(self, value: Value | None, read_one: Callable[[Value], T | None]) -> tuple[T, ...]:
        if value is None:
            return ()
        if value.items is None:
            self.problem(value.line, f"the value is {value.kind}", "a list")
            return ()
        found = (read_one(each) for each in value.items)
        return tuple(each for each in found if each is not None)

    def _text(self, value: Value | None) -> str:
        if value is None:
            return ""
        if value.text is None:
            self.problem(value.line, f"the value is {value.kind}", "a text")
            return ""
        if not value.text.strip():
            self.problem(value.line, "the text is empty", "a text, or no such key")
        return value.text.strip()

    def _flag(self, value: Value | None) -> bool:
        if value is not None and value.is_true is None:
            self.problem(value.line, f"the value is {value.kind}", "true or false")
        return value is not None and bool(value.is_true)
