"""Runs the failing tests of a check again, each time in a clean clone."""

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from allstop.core.gate import Check
from allstop.core.moves import CheckResult
from allstop.core.text import counted
from allstop.engine.check_results import RunResult
from allstop.gate.facts import TestCommand
from allstop.gate.failed_tests import reruns, test_selection
from allstop.gate.failed_tests.reruns import Alone, Failures

SHOWN = 10


class RunAgain(Protocol):
    """Runs a command in a clean clone in which nothing ran yet; None if that isn't possible.

    `whole`: it is in the state that it had for the first run, so the checks before it run as well.
    """

    def __call__(
        self, command: TestCommand, what: str, *, whole: bool
    ) -> Awaitable[RunResult | None]: ...


class Rerunner(NamedTuple):
    """Decides about the failing tests of one check by up to two further runs."""

    check: Check
    command: TestCommand
    quarantine: Collection[str]
    known_paths: Callable[[], Awaitable[Collection[str]]]
    run: RunAgain

    async def settle(self, first: RunResult) -> RunResult:
        """The result of the check: the first run's, unless nothing of it lasts."""
        failed = reruns.failures(first.as_run, self.quarantine)
        if failed is None:
            return first
        alone: RunResult | None = None
        if failed.doubtful:
            some = await self._only(failed)
            if some is None:
                return first
            what = f"{counted(len(failed.doubtful), 'failing test')} again, alone"
            alone = await self.run(some, what, whole=False)
            if alone is None:
                return first._replace(filled_its_clone=True)
            said = reruns.judge_alone(failed, alone.as_run)
            if said is not Alone.PASS:
                several = reruns.still_failed(first.as_run, failed, alone.as_run)
                result = replace(first.result, confirmed=said is Alone.FAIL)
                return first._replace(
                    result=result, filled_its_clone=alone.filled_its_clone, several=several
                )
        return await self._whole(first, failed, alone)

    async def _only(self, failed: Failures) -> TestCommand | None:
        run = test_selection.only(self.command, failed.doubtful, await self.known_paths())
        return None if run is None else replace(self.command, run=run)

    async def _whole(
        self, first: RunResult, failed: Failures, alone: RunResult | None
    ) -> RunResult:
        """Run the whole command once more, without quarantined tests that failed."""
        command: TestCommand | None = self.command
        if failed.quarantined:
            run = test_selection.without(self.command, failed.quarantined)
            command = None if run is None else replace(self.command, run=run)
        if command is None:
            told = "Quarantined tests can't be left out of this command, so their failures count."
            return first._replace(result=_with(first.result, told))
        second = await self.run(command, "once more", whole=True)
        if second is None:
            return first._replace(filled_its_clone=True)
        before = alone.as_run if alone is not None else None
        runs = first.as_run, failed, before, second.as_run
        if reruns.is_green(first.as_run, failed, second.as_run):
            result = replace(second.result, run=self.check.run)
            return second._replace(result=result, several=reruns.passed(*runs))
        several = reruns.still_failed(*runs)
        result = first.result if second.result.passed else second.result
        depend = reruns.only_alone(failed, second.as_run)
        result = replace(_with(result, _why(depend, second)), confirmed=bool(depend))
        return second._replace(result=result, several=several)


def _why(depend: tuple[str, ...], second: RunResult) -> str:
    if depend:
        names = ", ".join(depend[:SHOWN])
        return f"These tests pass when only they run, and fail together with the others: {names}"
    if second.result.passed:
        return "The command passed when it ran again, but some tests that had passed did not run."
    return ""


def _with(result: CheckResult, told: str) -> CheckResult:
    return replace(result, output=f"{result.output}\nAllstop: {told}") if told else result
