"""Runs the checks of a gate: inspects the changes, then runs the commands in a clean clone."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import anyio
from msgspec.structs import replace

from allstop.core import moves
from allstop.core.gate import Check, Verdict
from allstop.core.ids import RunId
from allstop.core.text import last_line, one_line
from allstop.engine.change_notes import change_notes
from allstop.engine.check_results import (
    CLONING,
    ENDED,
    OwnRuns,
    RunResult,
    as_check,
    killed_result,
    may_be_known,
    may_pass,
    needs_plain_run,
    report_findings,
    verdict,
)
from allstop.engine.deadlines import ActivityWatch, Deadlines
from allstop.engine.disk_watch import DiskWatch
from allstop.engine.gate_runs import GateRuns
from allstop.engine.held_out_runs import HeldOutRunner, unwatched
from allstop.engine.mutation import Timed, try_mutants
from allstop.gate import affected, composition, runners
from allstop.gate.change_findings import findings
from allstop.gate.facts import Facts, Report, Run, Runner, TestCommand, Variant
from allstop.gate.receipt import receipt_of
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

MOST_TEST_FILES = 500
"""The most files of tests that are compared after a run."""

SETTINGS_FILE = "allstop.toml"
LONGEST_PROBLEM = 300


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
        *,
        compares: bool = True,
    ) -> None:
        """Without `reports` no runner of tests is asked for one.

        `compares`: with the target's tests and runs, if the runner is known.
        """
        self._compares = compares
        self._gate_runs = GateRuns(workspaces)
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
        gate, skipped, changes = await self._affected(move, candidate)
        commands = await self._test_commands(gate, candidate)
        noted = await self._notes(gate, candidate)
        reports = any(command.runner is not Runner.PLAIN for command in commands.values())
        found = await self._findings(gate, candidate, noted, knows_ids=reports)
        if not commands:
            await report_findings(found, watch)
        own = OwnRuns()
        if gate.keep_going or not any(finding.fatal for finding in found):
            own = await self._run_all(run, gate, candidate, watch, changes, commands)
            results = await self._with_baseline(run, gate, candidate, own.results, watch)
            own = own._replace(results=results)
            if gate.held_out and all(map(may_pass, results)):
                held_out = await self._run_held_out(run, gate, watch)
                own = own._replace(results=(*results, held_out))
        if commands:
            facts = await self._facts(run, gate, candidate, own, commands, watch)
            found = await self._findings(gate, candidate, noted, judged=facts)
            await report_findings(found, watch)
        if gate.mutation and own.results and all(map(may_pass, own.results)):
            asked = [check for check in gate.checks if reports and check.name in commands]
            found = (*found, *await self._try_mutants(run, gate, asked, own, watch))
        done = _with_error_code(
            moves.ChecksDone(
                results=own.results,
                findings=found,
                tree=candidate.tree,
                notes=candidate.notes,
                skipped=skipped,
            )
        )
        return await self._with_receipt(run, gate, candidate, done, own.runs)

    async def _facts(
        self,
        run: RunId,
        move: moves.RunChecks,
        work: Candidate,
        own: OwnRuns,
        commands: Mapping[str, TestCommand],
        watch: ActivityWatch,
    ) -> Facts:
        """What the runs tell, and the further runs if this is a whole gate."""
        if not self._is_whole(move):
            return Facts()
        place = partial(self._variant, run, move.workspace, work, watch)
        tests = partial(self._variant_run, run, move.workspace, watch)
        facts = await self._gate_runs.facts(move, work, own.runs, commands, place, tests, watch)
        for check in facts.checks:
            self._gate_runs.remember(work.commit, check.run, check.own)
        return facts

    def _is_whole(self, move: moves.RunChecks) -> bool:
        """Whether the findings count: not for a step of a plan, or after a turn."""
        after_turn = move.affected and bool(move.checks)
        after_turn = after_turn and all(check.each_turn for check in move.checks)
        return self._compares and move.integrity is not None and not after_turn

    async def _variant(
        self,
        run: RunId,
        workspace: str,
        work: Candidate,
        watch: ActivityWatch,
        variant: Variant,
        *,
        on_target: bool,
    ) -> Candidate | None:
        make = partial(self._workspaces.variant, workspace, run, work, variant, on_target=on_target)
        made = await self._in_space(run, workspace, watch, make)
        return made if isinstance(made, Candidate) else None

    async def _variant_run(
        self,
        run: RunId,
        workspace: str,
        watch: ActivityWatch,
        place: Candidate,
        check: Check,
        command: TestCommand,
    ) -> Run | None:
        ran = await self.run_tests(run, workspace, check, command, place, watch)
        return Run(passed=False) if ran.filled_its_clone else ran.as_run

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
        known = {name: command for name, command in found.items() if command is not None}
        return known or {
            check.name: TestCommand(runner=Runner.PLAIN, run=check.run)
            for check in move.checks
            if check.name in found and check.required
        }

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
        found = await self._findings(move, work, await self._notes(move, work))
        await report_findings(found, watch)
        if warning := self._unverified():
            await watch.saw(moves.Item(kind="warning", text=warning))
        return _with_error_code(moves.ChecksDone(findings=found, tree=work.tree))

    async def _notes(
        self, move: moves.RunChecks, work: Subject | Candidate
    ) -> tuple[moves.Finding, ...]:
        if not self._is_whole(move):
            return ()
        return await change_notes(self._workspaces, work, move.may_change)

    async def _findings(
        self,
        move: moves.RunChecks,
        work: Subject | Candidate,
        noted: tuple[moves.Finding, ...],
        *,
        knows_ids: bool = False,
        judged: Facts | None = None,
    ) -> tuple[moves.Finding, ...]:
        """`knows_ids`: reports will tell which tests are gone; `judged`: what they told."""
        changes = await self._workspaces.changes(work)
        known = judged.knows_ids if judged else knows_ids
        found = composition.settle(
            (
                *findings(changes, move.protected, move.strictness, knows_ids=known),
                *(composition.judged(judged) if judged else ()),
                *noted,
            ),
            move.strictness,
            unreviewed=move.unreviewed,
        )
        if any(change.path == SETTINGS_FILE for change in changes):
            found = (*await self._settings_finding(work.commit), *found)
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
            alone=self._reports is not None and any(map(may_be_known, move.checks)),
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
        alone: bool = False,
    ) -> Candidate | Unready | moves.Failed:
        make = partial(
            self._workspaces.candidate, workspace, run, commit=commit, base=base, follows=follows
        )
        return await self._in_space(
            run, workspace, watch, partial(make, alone=True) if alone else make
        )

    async def _in_space(
        self,
        run: RunId,
        workspace: str,
        watch: ActivityWatch,
        make: Callable[[], Awaitable[Candidate | Unready | moves.Failed]],
    ) -> Candidate | Unready | moves.Failed:
        """Make a clone as long as there is space for it."""
        made: Candidate | Unready | moves.Failed | None = None
        with (
            watch.deadlines.part(math.inf) as deadlines,
            deadlines.scope,
            self._disk_watch.watched(
                run, workspace, deadlines, self._workspaces.candidate_over_limit
            ),
        ):
            made = await make()
        if isinstance(made, Unready):
            return made._replace(result=self._with_cause(run, made.result))
        if made is not None:
            return made
        await self._clear_up(workspace, deadlines)
        return Unready(killed_result(CLONING, deadlines.why, 0.0))

    async def _run_all(
        self,
        run: RunId,
        move: moves.RunChecks,
        candidate: Candidate,
        watch: ActivityWatch,
        changes: Sequence[FileChange],
        asked: Mapping[str, TestCommand],
    ) -> OwnRuns:
        results: list[moves.CheckResult] = []
        runs: dict[str, Run] = {}
        for number, check in enumerate(move.checks):
            watch.live(Live("check", f"● {check.name} running (0s / {check.timeout_s:.0f}s)"))
            for later in move.checks[number + 1 :]:
                watch.live(Live("check", f"○ {later.name} waiting"))
            commands = affected.commands(check, changes)
            if (command := asked.get(check.name)) is not None:
                ran = await self.run_tests(run, move.workspace, check, command, candidate, watch)
                ran = ran._replace(rewritten=await self._rewritten(candidate, ran))
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
                    results.append(as_check(again))
                    break
                candidate = again
        return OwnRuns(tuple(results), runs)

    async def _rewritten(self, candidate: Candidate, ran: RunResult) -> Sequence[str]:
        """The files of tests that a run has changed: then it tells nothing about those."""
        if ran.report is None or ran.filled_its_clone or self._reports is None:
            return ()
        files = sorted({case.file for case in ran.report.cases if case.file})[:MOST_TEST_FILES]
        texts = await self._workspaces.texts(candidate.commit, files)
        return await self._reports.differing(candidate.box, texts)

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
        own: OwnRuns,
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
        if needs_plain_run(command, ran.result, collected.report):
            return await self._run_one(run, workspace, check, candidate, watch)
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
        result = replace(killed_result(check, deadlines.why, took_s), unreached=tuple(unreached))
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


async def _unready(candidate: Unready, watch: ActivityWatch) -> moves.ChecksDone:
    result, notes = candidate
    await watch.saw(moves.Item(kind="check", text=f"✗ {result.name}: {last_line(result.output)}"))
    return _with_error_code(moves.ChecksDone(results=(result,), notes=notes))


def _with_error_code(done: moves.ChecksDone) -> moves.ChecksDone:
    return replace(done, error=moves.gate_error(done))
