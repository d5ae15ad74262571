"""Runs the checks of a gate: inspects the changes, then runs the commands in a clean clone."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio
from msgspec.structs import replace

from allstop.core import moves
from allstop.core.gate import Check
from allstop.core.ids import RunId
from allstop.engine.change_notes import (
    SETTINGS_FILE,
    SettingsProblem,
    change_notes,
    quarantined,
    unusable,
)
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
    unready_checks,
    verdict,
    with_error_code,
    with_rewritten,
)
from allstop.engine.deadlines import ActivityWatch, Deadlines
from allstop.engine.disk_watch import DiskWatch
from allstop.engine.failed_checks.baseline import Baseline, TargetRuns
from allstop.engine.failed_checks.rerunner import Rerunner
from allstop.engine.gate_runs import Asked, GateRuns
from allstop.engine.held_out_runs import HeldOutRunner, unwatched
from allstop.engine.mutation import Timed, try_mutants
from allstop.gate import affected, composition, runners
from allstop.gate.change_findings import findings
from allstop.gate.facts import Facts, Report, Run, Runner, TestCommand, Variant
from allstop.gate.failed_tests import reruns
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
        self._on_target = Baseline()

    async def run(
        self, run: RunId, move: moves.RunChecks, watch: ActivityWatch
    ) -> moves.ChecksDone | moves.Failed:
        if not move.checks and not move.held_out:
            return await self._check_changes(run, move, watch)
        candidate = await self._cloned(run, move, watch)
        if isinstance(candidate, moves.Failed):
            return candidate
        if isinstance(candidate, Unready):
            return await unready_checks(candidate, watch)
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
            own = await self._baseline(run, gate, candidate, own, commands, watch)
            if gate.held_out and all(map(may_pass, own.results)):
                held_out = await self._run_held_out(run, gate, watch)
                own = own._replace(results=(*own.results, held_out))
        if commands:
            facts = await self._facts(run, gate, candidate, own, commands, watch)
            found = await self._findings(gate, candidate, noted, judged=facts)
            await report_findings(found, watch)
        if gate.mutation and own.results and all(map(may_pass, own.results)):
            asked = [check for check in gate.checks if reports and check.name in commands]
            found = (*found, *await self._try_mutants(run, gate, asked, own, watch))
        done = with_error_code(
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
            if not check.own.left_out:
                self._gate_runs.remember(work.commit, check.run, check.own)
        if self._receipts is not None and any(check.own.flaky for check in facts.checks):
            elsewhere = await self._receipts.flaky_elsewhere(work.tree)
            facts = replace(facts, flaky_elsewhere=elsewhere)
        return reruns.without_quarantined(facts, move.quarantine)

    def _is_whole(self, move: moves.RunChecks) -> bool:
        """Whether the findings count: not for a step of a plan, or after a turn."""
        others = [check for check in move.checks if not check.each_turn]
        after_turn = move.affected and bool(move.checks) and not others
        return self._compares and move.integrity is not None and not after_turn

    @asynccontextmanager
    async def _variant(
        self,
        run: RunId,
        workspace: str,
        work: Candidate,
        watch: ActivityWatch,
        variant: Variant,
        *,
        on_target: bool,
    ) -> AsyncIterator[Candidate | None]:
        make = partial(self._workspaces.variant, workspace, run, work, variant, on_target=on_target)
        made = await self._in_space(run, workspace, watch, make)
        if not isinstance(made, Candidate):
            yield None
            return
        try:
            yield made
        finally:
            await self._workspaces.drop_variant(made)

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
        return runners.test_commands(move.checks, files)

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
        commit, base = candidate.commit, candidate.base
        made = receipt_of(run, move, done, commit=commit, base=base, runs=runs)
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
        return with_error_code(moves.ChecksDone(findings=found, tree=work.tree))

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
        sets = any(change.path == SETTINGS_FILE for change in changes)
        found = composition.settle(
            (
                *findings(changes, move.protected, move.strictness, knows_ids=known),
                *(composition.judged(judged) if judged else ()),
                *noted,
                *(await quarantined(self._workspaces, work) if sets else ()),
            ),
            move.strictness,
            unreviewed=move.unreviewed,
        )
        return (*await unusable(work.commit, self._settings_problem), *found) if sets else found

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
            self._disk_watch.watched(workspace, deadlines, self._workspaces.candidate_over_limit),
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
                ran = await self._settled(run, move, number, command, candidate, changes, watch)
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

    async def _run_own(
        self,
        run: RunId,
        move: moves.RunChecks,
        check: Check,
        command: TestCommand,
        place: Candidate,
        watch: ActivityWatch,
    ) -> RunResult:
        ran = await self.run_tests(run, move.workspace, check, command, place, watch)
        return await with_rewritten(self._workspaces, self._reports, place, ran)

    async def _settled(
        self,
        run: RunId,
        move: moves.RunChecks,
        number: int,
        command: TestCommand,
        work: Candidate,
        changes: Sequence[FileChange],
        watch: ActivityWatch,
    ) -> RunResult:
        """The result after failing tests were run again, if they can decide about the gate."""
        check = move.checks[number]
        ran = await self._run_own(run, move, check, command, work, watch)
        if not check.required or ran.filled_its_clone:
            return ran

        async def again(command: TestCommand, what: str, *, whole: bool) -> RunResult | None:
            watch.live(Live("check", f"● {check.name} running {what}"))
            place = await self._cloned(run, replace(move, follows=""), watch)
            if not isinstance(place, Candidate):
                return None
            silent = unwatched(watch)
            for before in move.checks[:number] if whole else ():
                lines = affected.commands(before, changes)
                ran = await self._run_each(run, move.workspace, before, lines, place, silent)
                if ran.filled_its_clone:
                    return None
            return await self._run_own(run, move, check, command, place, watch)

        paths = partial(self._workspaces.paths, work.commit)
        return await Rerunner(check, command, move.quarantine, paths, again).settle(ran)

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
        timed = [
            Timed(check, took_s.get(check.name, 0.0))
            for check in checks
            if check.required and not own.runs[check.name].left_out
        ]
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
            self._disk_watch.watched(workspace, deadlines, self._workspaces.candidate_over_limit),
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

    async def _baseline(
        self,
        run: RunId,
        move: moves.RunChecks,
        candidate: Candidate,
        own: OwnRuns,
        commands: Mapping[str, TestCommand],
        watch: ActivityWatch,
    ) -> OwnRuns:
        """The results, with what fails without the work, too."""
        if candidate.base == candidate.commit:
            return own
        base = candidate.base
        place = partial(self._variant, run, move.workspace, candidate, watch)
        run_tests = partial(self._variant_run, run, move.workspace, watch)

        def say(check: Check) -> None:
            watch.live(Live("check", f"● {check.name} running on {base[:10]}, without the work"))

        async def tests(check: Check, command: TestCommand) -> Run | None:
            say(check)
            asked = Asked(check, command, own.runs[check.name])
            return await self._gate_runs.target(base, asked, place, run_tests)

        async def run_one(check: Check, clone: Candidate) -> RunResult:
            say(check)
            return await self._run_one(run, move.workspace, check, clone, watch)

        clone = partial(self._candidate, run, move.workspace, watch, commit=base)
        target = TargetRuns(tests, clone, run_one, self._workspaces.shortage)
        marked = await self._on_target.marked(move, base, own, commands, target)
        return own._replace(results=marked)
