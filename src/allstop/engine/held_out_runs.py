"""Runs the held-out checks, of which records and agents only learn whether they passed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.core import moves
from allstop.core.asks import Answer, Ask, Permission
from allstop.core.errors import AllstopError
from allstop.core.gate import HELD_OUT, Check
from allstop.core.ids import RunId
from allstop.engine.deadlines import ActivityWatch
from allstop.gate import runners
from allstop.gate.facts import CaseStatus, Report, TestCommand
from allstop.ports import Candidate, HeldOut, HeldOutCheck, Launcher, Live, Unready

VARIABLE = "HELD_OUT"

Clone = Callable[[], Awaitable[Candidate | Unready | moves.Failed]]
"""Makes a clean clone of the work, in which nothing ran yet."""

RunOne = Callable[
    [Check, TestCommand | None, Candidate], Awaitable[tuple[moves.CheckResult, Report | None]]
]


class _Nobody:
    """Watches nothing."""

    def live(self, live: Live) -> None:
        pass

    async def opened(self, thread: str) -> None:
        pass

    async def saw(self, item: moves.Item) -> None:
        pass

    async def words(self) -> str:
        return ""

    async def reached(self) -> None:
        pass

    async def ask(self, ask: Ask) -> Answer:
        return Answer(leave=Permission.DENY, by="nobody is there")


def unwatched(watch: ActivityWatch) -> ActivityWatch:
    """The same deadlines, but what is printed is shown to nobody."""
    return ActivityWatch(_Nobody(), watch.deadlines)


class HeldOutRunner:
    def __init__(self, held_out: HeldOut | None, launcher: Launcher) -> None:
        """`held_out` is None if this process knows none; they fail then."""
        self._held_out = held_out
        self._launcher = launcher

    async def run(self, run: RunId, clone: Clone, run_one: RunOne) -> moves.CheckResult:
        if self._held_out is None:
            return _result(passed=False, seconds=0.0)
        began, lines, passed = anyio.current_time(), list[str](), False
        try:
            passed = await self._all_pass(self._held_out.checks(), clone, run_one, lines)
        except AllstopError as error:
            lines.append(f"{error.message}\n{error.hint}")
        self._held_out.keep(run, "\n".join(lines) + "\n")
        return _result(passed=passed, seconds=round(anyio.current_time() - began, 2))

    async def _all_pass(
        self, checks: Sequence[HeldOutCheck], clone: Clone, run_one: RunOne, lines: list[str]
    ) -> bool:
        if not self._launcher.isolation.boxed:
            lines.append("Held-out checks need a sandbox: without one, agents can read them.")
            return False
        if not checks:
            lines.append("This machine's settings name no held-out checks for this repository.")
        passed = bool(checks)
        for check in checks:
            done = await _run_one(check, clone, run_one)
            lines.append(f"$ {check.run}\n{done.output}")
            passed = passed and done.passed
        return passed


class _Done(NamedTuple):
    passed: bool
    output: str


async def _run_one(check: HeldOutCheck, clone: Clone, run_one: RunOne) -> _Done:
    candidate = await clone()
    if isinstance(candidate, moves.Failed):
        return _Done(passed=False, output=candidate.message)
    if isinstance(candidate, Unready):
        return _Done(passed=False, output=candidate.result.output)
    box = candidate.box
    if check.folder:
        env = {**box.env, VARIABLE: check.folder}
        box = replace(box, read=(*box.read, check.folder), env=env)
    command = Check(name=HELD_OUT, run=check.run, timeout_s=check.timeout_s)
    tests = runners.find(check.run)
    result, report = await run_one(command, tests, candidate._replace(box=box))
    if tests is not None and result.passed and not _has_passed(report):
        return _Done(passed=False, output=f"{result.output}\nNo report says that a test passed.")
    return _Done(passed=result.passed, output=result.output)


def _has_passed(report: Report | None) -> bool:
    """Work that ends the runner early leaves no report; its exit code tells nothing."""
    cases = report.cases if report is not None else ()
    has_any = any(case.status is CaseStatus.PASSED for case in cases)
    return has_any and not any(case.is_red for case in cases)


def _result(*, passed: bool, seconds: float) -> moves.CheckResult:
    output = "" if passed else "failed; .allstop/held-out has what they printed"
    return moves.CheckResult(
        name=HELD_OUT, run="", passed=passed, held_out=True, seconds=seconds, output=output
    )
