"""Whether a failed check fails on the target as well, and which of its tests do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from allstop.core.gate import Check
from allstop.core.moves import CheckResult, Failed, RunChecks
from allstop.engine.check_results import OwnRuns, RunResult
from allstop.gate import affected
from allstop.gate.facts import Run, TestCommand
from allstop.gate.failed_tests import reruns
from allstop.ports import Candidate, Unready

REMEMBERED = 1000
"""Maximum number of remembered results on targets."""

MOST_TESTS = 20
"""So many tests of a check are named that fail on the target as well."""


class TargetRuns(NamedTuple):
    """Runs checks on the target's commit. None: that isn't possible."""

    tests: Callable[[Check, TestCommand], Awaitable[Run | None]]
    clone: Callable[[], Awaitable[Candidate | Unready | Failed]]
    run_one: Callable[[Check, Candidate], Awaitable[RunResult]]
    shortage: Callable[[], str]


class Baseline:
    """Compares failed checks with the target, where each runs once for a commit."""

    def __init__(self) -> None:
        self._failed_on: dict[tuple[str, str], bool] = {}  # by commit and command
        self._unreported: set[tuple[str, str]] = set()  # those whose run made no report

    async def marked(
        self,
        move: RunChecks,
        base: str,
        own: OwnRuns,
        commands: Mapping[str, TestCommand],
        target: TargetRuns,
    ) -> tuple[CheckResult, ...]:
        """The results, with what fails on the target in the same way.

        Where tests are known by their ids, a check fails on the target as well only if each of its
        failing tests does. Checks that took too long aren't repeated there.
        """
        failed = [
            (check, result)
            for check, result in zip(move.checks, own.results, strict=False)
            if check.required
            and check.name in own.runs  # else its clone couldn't be made
            and not result.passed
            and not result.timed_out
            and not affected.names_changes(check)  # the target may lack its files
        ]
        marked = {
            check.name: await self._by_tests(move, base, check, own.runs, commands, target, result)
            for check, result in failed
            if check.name in commands
        }
        others = [check for check, _ in failed if marked.get(check.name) is None]
        await self._run_others(base, others, target)
        return tuple(
            result
            if result.passed
            else marked.get(result.name)
            or replace(result, failed_before=self._failed_on.get((base, result.run), False))
            for result in own.results
        )

    async def _by_tests(
        self,
        move: RunChecks,
        base: str,
        check: Check,
        runs: Mapping[str, Run],
        commands: Mapping[str, TestCommand],
        target: TargetRuns,
        result: CheckResult,
    ) -> CheckResult | None:
        """None if the tests don't tell."""
        own = runs[check.name]
        failed = reruns.failures(own, move.quarantine)
        if failed is None or not failed.doubtful or (base, check.run) in self._unreported:
            return None
        there = await target.tests(check, commands[check.name])
        if there is None:
            return None
        self._remember(base, check, passed=there.passed)
        if there.report is None:
            self._unreported.add((base, check.run))
            return None
        shared = reruns.on_target(own, there, move.quarantine)
        return replace(
            result,
            failed_before=len(shared) == len(failed.doubtful),
            fails_on_target=shared[:MOST_TESTS],
        )

    async def _run_others(self, base: str, checks: Sequence[Check], target: TargetRuns) -> None:
        """Once for each commit, as far as it can be cloned."""
        place: Candidate | Unready | Failed | None = None
        for check in checks:
            if (base, check.run) in self._failed_on:
                continue
            if place is None:
                place = await target.clone()
            if not isinstance(place, Candidate):
                return
            ran = await target.run_one(check, place)
            if ran.filled_its_clone:
                place = None
                if target.shortage():
                    return
            self._remember(base, check, passed=ran.result.passed)

    def _remember(self, base: str, check: Check, *, passed: bool) -> None:
        while len(self._failed_on) >= REMEMBERED:
            oldest = next(iter(self._failed_on))
            del self._failed_on[oldest]
            self._unreported.discard(oldest)
        self._failed_on[base, check.run] = not passed
