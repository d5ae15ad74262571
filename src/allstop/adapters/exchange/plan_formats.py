"""The table of plan formats of other tools, and the detection of a file's format."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from allstop.adapters.exchange import kiro, plan_json, ralphex, spec_kit
from allstop.adapters.exchange.plan_import import ImportedPlan
from allstop.core.errors import AllstopError
from allstop.plans import json_values
from allstop.plans.document import Value
from allstop.plans.plan import Plan, Problem, checked
from allstop.plans.plan_file import text_of


class PlanFormat(NamedTuple):
    """A format of another tool, in Markdown or in JSON."""

    description: str
    looks_like: Callable[[str], bool] | None = None
    read: Callable[[str], ImportedPlan] | None = None
    looks_like_value: Callable[[Value], bool] | None = None
    read_value: Callable[[Value], ImportedPlan] | None = None


FORMATS: Mapping[str, PlanFormat] = {
    "ralphex": PlanFormat("ralphex: ### Task N: title", ralphex.looks_like, ralphex.read),
    "spec-kit": PlanFormat(
        "spec-kit's tasks.md: - [ ] T001 title", spec_kit.looks_like, spec_kit.read
    ),
    "kiro": PlanFormat("Kiro's tasks.md: - [ ] 1.1 title", kiro.looks_like, kiro.read),
    "task-master": PlanFormat(
        "task-master's tasks.json",
        looks_like_value=plan_json.looks_like_task_master,
        read_value=plan_json.read_task_master,
    ),
    "prd": PlanFormat(
        "prd.json of ralph tools",
        looks_like_value=plan_json.looks_like_prd,
        read_value=plan_json.read_prd,
    ),
}


def read_foreign_plan(name: str, data: bytes, wanted: str | None = None) -> ImportedPlan:
    """The plan in a file of another tool; without a wanted format it is detected.

    Raises AllstopError if the format can't be told.
    """
    text = text_of(data)
    if isinstance(text, Problem):
        return _unusable(text)
    is_json = text.lstrip()[:1] in ("{", "[")
    root = json_values.parse(text) if is_json else None
    if isinstance(root, Problem):
        return _unusable(root)
    if wanted is None:
        wanted = _detected(name, text, root)
    found = FORMATS[wanted]
    if found.read is not None and root is None:
        made = found.read(text)
    elif found.read_value is not None and root is not None:
        made = found.read_value(root)
    else:
        expected = "JSON" if found.read_value else "Markdown"
        return _unusable(Problem(line=1, problem="the file has another form", expected=expected))
    problems = checked(made.plan, ()).problems
    return ImportedPlan(made.plan, made.notes, problems)


def _unusable(problem: Problem) -> ImportedPlan:
    return ImportedPlan(Plan(), problems=(problem,))


def _detected(name: str, text: str, root: Value | None) -> str:
    for kind, each in FORMATS.items():
        if root is None and each.looks_like and each.looks_like(text):
            return kind
        if root is not None and each.looks_like_value and each.looks_like_value(root):
            return kind
    hint = (
        f"name its format with --format: {', '.join(FORMATS)}; `plan run` reads Allstop's own form"
    )
    message = f"{name} has no form of another tool that is known"
    raise AllstopError(message, hint, code="unknown_format")
