"""Runs the checks of a gate: inspects the changes, then runs the commands in a clean clone."""

import math
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.core import moves
from allstop.core.gate import Check, Verdict
from allstop.core.ids import RunId
from allstop.core.text import last_line, one_line
from allstop.engine.deadlines import ActivityWatch, Deadlines
from allstop.engine.disk_watch import DiskWatch
from allstop.engine.held_out_runs import HeldOutRunner, unwatched
from allstop.engine.mutation import Timed, try_mutants
from allstop.gate import affected, composition, runners
from allstop.gate.change_findings import describe_finding, findings, summarize_findings
from allstop.gate.facts import Report, Run
from allstop.gate.receipt import receipt_of
from allstop.gate.runners import Runner, TestCommand
from allstop.ports import (
    UNREACHED,
    Candidate,
    Checks,
    FileChange,
    HeldOut,
    Launcher,
    Live,
    Receipts,
    Reports,
    Subject,
    Unready,
    Workspaces,
)

REMEMBERED = 1000
"""Maximum number of remembered results on base commits."""

ENDED = "Command was ended"

SETTINGS_FILE = "allstop.toml"
LONGEST_PROBLEM = 300

CLONING = Check(name="setup", run="clone the work and set it up")


class RunResult(NamedTuple):
    result: moves.CheckResult
    filled_its_clone: bool = False  # the clone was removed
    report: Report | None = None

    @property
    def as_run(self) -> Run:
        result = self.result
        return Run(
            passed=result.passed,
            code=result.code,
            timed_out=result.timed_out,
            report=self.report,
            seconds=result.seconds,
        )


class _OwnRuns(NamedTuple):
    """The runs of the checks on the work itself."""

    results: tuple[moves.CheckResult, ...] = ()
    runs: Mapping[str, Run] = {}  # by check


SettingsProblem = Callable[[str], Awaitable[str]]
"""Why a commit's settings file can't be used; "" if it can."""


async def no_problem(commit: str) -> str:
    return ""


class CheckRunner:
    def __init__(
        self,
        checks: Checks,
        workspaces: Workspaces,
        launcher: Launcher,
        unverified: Callable[[], str],
        disk_watch: DiskWatch,
        settings_problem: SettingsProblem,
        receipts: Receipts | None = None,
        reports: Reports | None = None,
        held_out: HeldOut | None = None,
    ) -> None:
        """Without `reports` no runner of tests is asked for one."""
        self._receipts = receipts
        self._reports = reports
        self._held_out = HeldOutRunner(held_out, launcher)
        self._settings_problem = settings_problem
        self._launcher = launcher
        self._unverified = unverified
        self._checks = checks
        self._workspaces = workspaces
        self._disk_watch = disk_watch
        self._failed_on: dict[tuple[str, str], bool] = {}  # by base commit and command

    async def run(
        self, run: RunId, move: moves.RunChecks, watch: ActivityWatch
    ) -> moves.ChecksDone | moves.Failed:
        if not move.checks and not move.held_out:
            return await self._check_changes(run, move, watch)
        candidate = await self._cloned(run, move, watch)
        if isinstance(candidate, moves.Failed):
            return candidate
        if isinstance(candidate, Unready):
            return await _unready(candidate, watch)
        found = await self._findings(move, candidate, watch)
        own = _OwnRuns()
        move, skipped, changes = await self._affected(move, candidate)
        if move.keep_going or not any(finding.fatal for finding in found):
            commands = await self._test_commands(move, candidate)
            own = await self._run_all(run, move, candidate, watch, changes, commands)
            results = await self._with_baseline(run, move, candidate, own.results, watch)
            own = own._replace(results=results)
            if move.held_out and all(each.passed or not each.required for each in results):
                own = own._replace(results=(*results, await self._run_held_out(run, move, watch)))
            if move.mutation and all(each.passed or not each.required for each in own.results):
                asked = [check for check in move.checks if check.name in commands]
                found = (*found, *await self._try_mutants(run, move, asked, own, watch))
        done = _with_error_code(
            moves.ChecksDone(
                results=own.results,
                findings=found,
                tree=candidate.tree,
                notes=candidate.notes,
                skipped=skipped,
            )
        )
        return await self._with_receipt(run, move, candidate, done, own.runs)

    async def _test_commands(
        self, move: moves.RunChecks, candidate: Candidate
    ) -> Mapping[str, TestCommand]:
        """The checks that start a known runner of tests, as the files of the target say."""
        if self._reports is None:
            return {}
        files: Mapping[str, str] = {}
        if any(runners.needs_files(check.run) for check in move.checks):
            files = await self._workspaces.texts(candidate.base, runners.SCRIPT_FILES)
        found = {
            check.name: runners.find(check.run, files, writes_report=bool(check.report))
            for check in move.checks
            if not affected.names_changes(check)
        }
        return {name: command for name, command in found.items() if command is not None}

    async def _with_receipt(
        self,
        run: RunId,
        move: moves.RunChecks,
        candidate: Candidate,
        done: moves.ChecksDone,
        runs: Mapping[str, Run],
    ) -> moves.ChecksDone:
        """Keep the receipt of this tree before the result that names it is recorded."""
        if self._receipts is None:
            return done
        made = receipt_of(
            run,
            move,
            done,
            commit=candidate.commit,
            base=candidate.base,
            tests={
                name: {case.id: case.status.value for case in each.report.cases}
                for name, each in runs.items()
                if each.report is not None
            },
        )
        return replace(done, receipt=await self._receipts.keep(made, candidate.box))

    async def _check_changes(
        self, run: RunId, move: moves.RunChecks, watch: ActivityWatch
    ) -> moves.ChecksDone | moves.Failed:
        """Without check commands, only the changes are inspected, which needs no clone."""
        work = await self._workspaces.subject(
            move.workspace, run, commit=move.commit, base=move.base, follows=move.follows
        )
        if isinstance(work, moves.Failed):
            return work
        found = await self._findings(move, work, watch)
        if warning := self._unverified():
            await watch.saw(moves.Item(kind="warning", text=warning))
        return _with_error_code(moves.ChecksDone(findings=found, tree=work.tree))

    async def _findings(
        self, move: moves.RunChecks, work: Subject | Candidate, watch: ActivityWatch
    ) -> tuple[moves.Finding, ...]:
        changes = await self._workspaces.changes(work)
        found = composition.settle(
            findings(changes, move.protected, move.strictness),
            move.strictness,
            unreviewed=move.unreviewed,
        )
        if any(change.path == SETTINGS_FILE for change in changes):
            found = (*await self._settings_finding(work.commit), *found)
        fatal = [describe_finding(each) for each in found if each.fatal]
        others = summarize_findings(each for each in found if not each.fatal)
        for text in (*fatal, *([f"! {others}"] if others else [])):
            await watch.saw(moves.Item(kind="finding", text=text))
        return found

    async def _settings_finding(self, commit: str) -> tuple[moves.Finding, ...]:
        """Settings that can't be used would stop all later work, so they always fail the gate."""
        problem = one_line(await self._settings_problem(commit), LONGEST_PROBLEM)
        if not problem:
            return ()
        kind = "invalid_settings"
        return (
            moves.Finding(
                kind=kind, path=SETTINGS_FILE, text=problem, fatal=True, verdict=Verdict.FAIL
            ),
        )

    async def _cloned(
        self, run: RunId, move: moves.RunChecks, watch: ActivityWatch
    ) -> Candidate | Unready | moves.Failed:
        return await self._candidate(
            run,
            move.workspace,
            watch,
            commit=move.commit,
            base=move.base,
            follows=move.follows,
        )

    async def _candidate(
        self,
        run: RunId,
        workspace: str,
        watch: ActivityWatch,
        *,
        commit: str,
        base: str = "",
        follows: str = "",
        restore: Sequence[str] = (),
    ) -> Candidate | Unready | moves.Failed:
        made: Candidate | Unready | moves.Failed | None = None
        with (
            watch.deadlines.part(math.inf) as deadlines,
            deadlines.scope,
            self._disk_watch.watched(
                run, workspace, deadlines, self._workspaces.candidate_over_limit
            ),
        ):
            made = await self._workspaces.candidate(
                workspace, run, commit=commit, base=base, follows=follows, restore=restore
            )
        if isinstance(made, Unready):
            return made._replace(result=self._with_cause(run, made.result))
        if made is not None:
            return made
        await self._clear_up(workspace, deadlines)
        return Unready(_killed_result(CLONING, deadlines.why, 0.0))

    async def _run_all(
        self,
        run: RunId,
        move: moves.RunChecks,
        candidate: Candidate,
        watch: ActivityWatch,
        changes: Sequence[FileChange],
        asked: Mapping[str, TestCommand],
    ) -> _OwnRuns:
        results: list[moves.CheckResult] = []
        runs: dict[str, Run] = {}
        for number, check in enumerate(move.checks):
            watch.live(Live("check", f"● {check.name} running (0s / {check.timeout_s:.0f}s)"))
            for later in move.checks[number + 1 :]:
                watch.live(Live("check", f"○ {later.name} waiting"))
            commands = affected.commands(check, changes)
            if (command := asked.get(check.name)) is not None:
                ran = await self.run_tests(run, move.workspace, check, command, candidate, watch)
            else:
                ran = await self._run_each(run, move.workspace, check, commands, candidate, watch)
            results.append(ran.result)
            runs[check.name] = ran.as_run
            said = verdict(ran.result, check.timeout_s)
            watch.live(Live("check", said))
            await watch.saw(moves.Item(kind="check", text=said))
            for sentence in ran.result.unreached:
                await watch.saw(moves.Item(kind="gateway", text=f"{check.name}: {sentence}"))
            if check.required and not ran.result.passed and not move.keep_going:
                break
            if ran.filled_its_clone and number + 1 < len(move.checks):
                again = await self._cloned(run, replace(move, follows=""), watch)
                if not isinstance(again, Candidate):
                    results.append(_as_check(again))
                    break
                candidate = again
        return _OwnRuns(tuple(results), runs)

    async def _run_held_out(
        self, run: RunId, move: moves.RunChecks, watch: ActivityWatch
    ) -> moves.CheckResult:
        """Run the held-out checks in clones of their own, which agents and reviewers never see."""
        silent = unwatched(watch)

        async def clone() -> Candidate | Unready | moves.Failed:
            return await self._cloned(run, replace(move, follows=""), silent)

        async def run_one(
            check: Check, tests: TestCommand | None, candidate: Candidate
        ) -> tuple[moves.CheckResult, Report | None]:
            if tests is None:
                ran = await self._run_one(run, move.workspace, check, candidate, silent)
            else:
                ran = await self.run_tests(run, move.workspace, check, tests, candidate, silent)
            return ran.result, ran.report

        try:
            result = await self._held_out.run(run, clone, run_one)
        finally:
            await self._workspaces.drop_candidate(move.workspace)
        text = verdict(result, max(result.seconds, 1.0))
        await watch.saw(moves.Item(kind="check", text=text))
        return result

    async def _try_mutants(
        self,
        run: RunId,
        move: moves.RunChecks,
        checks: Sequence[Check],
        own: _OwnRuns,
        watch: ActivityWatch,
    ) -> tuple[moves.Finding, ...]:
        """Run the checks that are tests on mutants, in a clean clone of their own."""
        candidate = await self._cloned(run, replace(move, follows=""), watch)
        if not isinstance(candidate, Candidate):
            return ()
        silent = unwatched(watch)

        async def run_one(check: Check, broken: Candidate) -> moves.CheckResult:
            return (await self._run_one(run, move.workspace, check, broken, silent)).result

        took_s = {result.name: result.seconds for result in own.results}
        timed = [Timed(check, took_s.get(check.name, 0.0)) for check in checks if check.required]
        changes = await self._workspaces.contents(candidate)
        try:
            tried = await try_mutants(changes, timed, candidate, run_one)
        finally:
            await self._workspaces.drop_candidate(move.workspace)
        await watch.saw(moves.Item(kind="check", text=tried.words))
        return tried.findings

    async def _affected(
        self, move: moves.RunChecks, candidate: Candidate
    ) -> tuple[moves.RunChecks, tuple[str, ...], Sequence[FileChange]]:
        """The move without the checks that are skipped, their names, and the changed files."""
        if not affected.needs_changes(move.checks):
            return move, (), ()
        changes = await self._workspaces.changes(candidate)
        skipped = {
            check.name
            for check in move.checks
            if (move.affected and not affected.is_affected(check, changes))
            or not affected.commands(check, changes)
        }
        left = tuple(check for check in move.checks if check.name not in skipped)
        needed = [check.name for check in move.checks if check.name in skipped]
        return replace(move, checks=left), tuple(needed), changes

    async def _run_each(
        self,
        run: RunId,
        workspace: str,
        check: Check,
        commands: Sequence[str],
        candidate: Candidate,
        watch: ActivityWatch,
    ) -> RunResult:
        """Run the commands of one check until one fails; there are several for very many files."""
        first, *others = commands
        ran = await self._run_one(run, workspace, replace(check, run=first), candidate, watch)
        seconds = ran.result.seconds
        for command in others:
            if not ran.result.passed:
                break
            later = replace(check, run=command)
            ran = await self._run_one(run, workspace, later, candidate, watch)
            seconds += ran.result.seconds
        return ran._replace(result=replace(ran.result, run=check.run, seconds=seconds))

    async def run_tests(
        self,
        run: RunId,
        workspace: str,
        check: Check,
        command: TestCommand,
        candidate: Candidate,
        watch: ActivityWatch,
    ) -> RunResult:
        """Run the command of a known runner, which is asked for a report."""
        path = check.report if command.runner is Runner.OWN else ""
        request = self._reports.request(command, command.run, path) if self._reports else None
        if request is None or self._reports is None:
            return await self._run_one(run, workspace, check, candidate, watch)
        asking = replace(check, run=request.run)
        ran = await self._run_one(run, workspace, asking, candidate, watch)
        result = replace(ran.result, run=check.run)
        if ran.filled_its_clone:
            return ran._replace(result=result)
        collected = await self._reports.collect(request, candidate.box)
        output = f"{collected.output}{result.output}"
        if collected.problem:
            output = f"{output}\nAllstop: {collected.problem}"
        return RunResult(replace(result, output=output), report=collected.report)

    async def _run_one(
        self, run: RunId, workspace: str, check: Check, candidate: Candidate, watch: ActivityWatch
    ) -> RunResult:
        result: moves.CheckResult | None = None
        unreached: list[str] = []

        def progress(live: Live) -> None:
            if live.kind == UNREACHED:
                unreached.append(live.text)
            watch.live(live)

        began = anyio.current_time()
        with (
            watch.deadlines.part(check.timeout_s) as deadlines,
            deadlines.scope,
            self._disk_watch.watched(
                run, workspace, deadlines, self._workspaces.candidate_over_limit
            ),
        ):
            result = await self._checks.run(check, candidate.box, run, progress)
        if result is not None:
            return RunResult(self._with_cause(run, result))
        took_s = round(anyio.current_time() - began, 2) if deadlines.why else check.timeout_s
        result = replace(_killed_result(check, deadlines.why, took_s), unreached=tuple(unreached))
        return RunResult(result, filled_its_clone=await self._clear_up(workspace, deadlines))

    def _with_cause(self, run: RunId, result: moves.CheckResult) -> moves.CheckResult:
        """Add the launcher's reason for killing the program, which the check itself doesn't know."""
        why = "" if result.passed else self._launcher.out_of_memory(run)
        return replace(result, output=f"{result.output}\n{ENDED}: {why}") if why else result

    async def _clear_up(self, workspace: str, deadlines: Deadlines) -> bool:
        """Remove the clone if it used too much disk space; returns whether it did."""
        if deadlines.kind is not moves.FailureKind.OUT_OF_ROOM:
            return False
        await self._workspaces.drop_candidate(workspace)
        return True

    # --- baseline ---

    async def _with_baseline(
        self,
        run: RunId,
        move: moves.RunChecks,
        candidate: Candidate,
        results: tuple[moves.CheckResult, ...],
        watch: ActivityWatch,
    ) -> tuple[moves.CheckResult, ...]:
        """Mark failures that also occur on the base. Timed-out checks aren't repeated."""
        doubtful = [
            check
            for check, result in zip(move.checks, results, strict=False)
            if check.required
            and not result.passed
            and not result.timed_out
            and not affected.names_changes(check)  # the base may lack its files
        ]
        if candidate.base != candidate.commit:
            await self._run_on_base(run, move.workspace, candidate.base, doubtful, watch)
        return tuple(
            replace(result, failed_before=self._failed_on.get((candidate.base, result.run), False))
            if not result.passed
            else result
            for result in results
        )

    async def _run_on_base(
        self, run: RunId, workspace: str, base: str, checks: Sequence[Check], watch: ActivityWatch
    ) -> None:
        """Run the checks once on the base commit and remember the results, if it can be cloned."""
        unknown = [check for check in checks if (base, check.run) not in self._failed_on]
        before: Candidate | Unready | moves.Failed | None = None
        for check in unknown:
            if before is None:
                before = await self._candidate(run, workspace, watch, commit=base)
            if not isinstance(before, Candidate):
                return
            watch.live(Live("check", f"● {check.name} running on {base[:10]}, without the work"))
            ran = await self._run_one(run, workspace, check, before, watch)
            if ran.filled_its_clone:
                before = None
                if self._workspaces.shortage():
                    return
            while len(self._failed_on) >= REMEMBERED:
                del self._failed_on[next(iter(self._failed_on))]
            self._failed_on[base, check.run] = not ran.result.passed


def _killed_result(check: Check, why: str, took_s: float) -> moves.CheckResult:
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


async def _unready(candidate: Unready, watch: ActivityWatch) -> moves.ChecksDone:
    result, notes = candidate
    await watch.saw(moves.Item(kind="check", text=f"✗ {result.name}: {last_line(result.output)}"))
    return _with_error_code(moves.ChecksDone(results=(result,), notes=notes))


def _with_error_code(done: moves.ChecksDone) -> moves.ChecksDone:
    return replace(done, error=moves.gate_error(done))


def _as_check(made: Unready | moves.Failed) -> moves.CheckResult:
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
