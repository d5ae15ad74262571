"""The result of one check of a gate: what is said of it, and results of checks that never ended."""

import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from allstop.core import moves
from allstop.core.gate import Check
from allstop.core.text import last_line
from allstop.engine.deadlines import ActivityWatch
from allstop.gate import runners
from allstop.gate.change_findings import describe_finding, is_serious, summarize_findings
from allstop.gate.facts import Report, Run, Runner, TestCommand
from allstop.ports import Candidate, Reports, Unready, Workspaces

ENDED = "Command was ended"

MOST_TEST_FILES = 500
"""The most files of tests that are compared after a run."""

CLONING = Check(name="setup", run="clone the work and set it up")


class RunResult(NamedTuple):
    result: moves.CheckResult
    filled_its_clone: bool = False  # the clone was removed
    report: Report | None = None
    rewritten: Sequence[str] = ()  # files of tests that the run has changed
    several: Run | None = None  # what it and further runs show together

    @property
    def as_run(self) -> Run:
        if self.several is not None:
            return self.several
        result = self.result
        return Run(
            passed=result.passed,
            code=result.code,
            timed_out=result.timed_out,
            report=self.report,
            seconds=result.seconds,
            rewritten=tuple(self.rewritten),
        )


class OwnRuns(NamedTuple):
    """The runs of the checks on the work itself."""

    results: tuple[moves.CheckResult, ...] = ()
    runs: Mapping[str, Run] = {}  # by check


def killed_result(check: Check, why: str, took_s: float) -> moves.CheckResult:
    """The result of a killed check. An empty reason means a timeout."""
    return moves.CheckResult(
        name=check.name,
        run=check.run,
        required=check.required,
        passed=False,
        code=-signal.SIGKILL if why else None,
        timed_out=not why,
        seconds=took_s,
        output=f"{ENDED}: {why}" if why else f"Command timed out after {check.timeout_s:g}s",
    )


def as_check(made: Unready | moves.Failed) -> moves.CheckResult:
    """The result of a check whose clone couldn't be made."""
    if isinstance(made, Unready):
        return made.result
    return moves.CheckResult(name=CLONING.name, run=CLONING.run, passed=False, output=made.message)


def verdict(result: moves.CheckResult, timeout_s: float) -> str:
    time = f"({result.seconds:.0f}s / {timeout_s:.0f}s)"
    if result.passed:
        return f"✓ {result.name} passed {time}"
    if result.required:
        return f"✗ {result.name} {_failure_text(result)} {time}"
    return f"⚠ {result.name} {_failure_text(result)} {time}, not required"


def _failure_text(result: moves.CheckResult) -> str:
    """Why the check didn't pass."""
    if result.timed_out:
        return "TIMEOUT"
    if (last := last_line(result.output)).startswith(ENDED):
        return last.removeprefix("Command ")
    if result.code is None:
        return "could not be run"
    return f"failed with exit code {result.code}"


def may_pass(result: moves.CheckResult) -> bool:
    return result.passed or not result.required


def may_be_known(check: Check) -> bool:
    """Whether it may start a known runner of tests."""
    writes = bool(check.report)
    found = runners.find(check.run, writes_report=writes) or runners.needs_files(check.run)
    return bool(found)


def needs_plain_run(command: TestCommand, result: moves.CheckResult, report: Report | None) -> bool:
    """Whether asking for a report may be what failed, as where tests read their runner's arguments.

    A command of Go or Cargo makes none either if it can't be built.
    """
    if result.passed or result.timed_out or result.code is None or report is not None:
        return False
    return command.runner not in (Runner.GO, Runner.CARGO, Runner.OWN)


async def report_findings(found: Sequence[moves.Finding], watch: ActivityWatch) -> None:
    fatal = [describe_finding(each) for each in found if each.fatal]
    others = summarize_findings(each for each in found if not each.fatal and is_serious(each))
    notes = summarize_findings(each for each in found if not is_serious(each))
    more = [f"{sign} {text}" for sign, text in (("!", others), ("·", notes)) if text]
    for text in (*fatal, *more):
        await watch.saw(moves.Item(kind="finding", text=text))


async def unready_checks(candidate: Unready, watch: ActivityWatch) -> moves.ChecksDone:
    """The result of checks whose clone couldn't be made."""
    result, notes = candidate
    await watch.saw(moves.Item(kind="check", text=f"✗ {result.name}: {last_line(result.output)}"))
    return with_error_code(moves.ChecksDone(results=(result,), notes=notes))


def with_error_code(done: moves.ChecksDone) -> moves.ChecksDone:
    return replace(done, error=moves.gate_error(done))


async def with_rewritten(
    workspaces: Workspaces, reports: Reports | None, candidate: Candidate, ran: RunResult
) -> RunResult:
    """With the files of tests that the run has changed: it tells nothing about those."""
    if reports is None or ran.report is None or ran.filled_its_clone:
        return ran
    files = sorted({case.file for case in ran.report.cases if case.file})[:MOST_TEST_FILES]
    texts = await workspaces.texts(candidate.commit, files)
    return ran._replace(rewritten=await reports.differing(candidate.box, texts))
