"""The further runs of a gate, side by side: the target's tests, the witness and the canary."""

import os
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

import anyio
from msgspec.structs import replace

from allstop.core import moves
from allstop.core.gate import Check
from allstop.engine.deadlines import ActivityWatch
from allstop.gate import (
    answer_tables,
    canary,
    change_sides,
    changed_results,
    red_witness,
    runners,
    twisted_tests,
    variants,
)
from allstop.gate.facts import (
    Case,
    ChangedFile,
    CheckFacts,
    Facts,
    Intent,
    Report,
    Run,
    Runner,
    TestCommand,
    Variant,
)
from allstop.gate.failed_tests import reruns, test_selection
from allstop.gate.path_kinds import is_code, is_test, is_test_material
from allstop.gate.test_text import is_product
from allstop.gather import all_of
from allstop.ports import Candidate, Live, Network, Workspaces

REMEMBERED = 100
"""The most runs on targets that are remembered."""

TWISTED_FILES = 4
TWISTED_TESTS = 8
READ_FILES = 8

BASE_TESTS = "with the target's tests"
CANARY = "a test that must fail"


class RunTests(Protocol):
    """Runs the command of a check in a clone; None if it can't."""

    def __call__(
        self, place: Candidate, check: Check, command: TestCommand
    ) -> Awaitable[Run | None]: ...


class CloneVariant(Protocol):
    """Gives a clean clone of a variant of the work, or of its target; None if it can't."""

    def __call__(
        self, variant: Variant, *, on_target: bool
    ) -> AbstractAsyncContextManager[Candidate | None]: ...


class Asked(NamedTuple):
    """A check of a known runner, and its run on the work."""

    check: Check
    command: TestCommand
    own: Run


class GateRuns:
    """Runs only what is needed, and the target's own tests once for each commit."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._targets: dict[tuple[str, str], Run] = {}  # by commit and command
        self._locks: dict[tuple[str, str], anyio.Lock] = {}
        self._side_by_side = anyio.CapacityLimiter(os.cpu_count() or 1)

    def limiter(self, network: Network) -> anyio.CapacityLimiter:
        """How many further runs may run at once.

        Runs that share a network could take each other's ports, so these follow one another.
        """
        return self._side_by_side if network is Network.NONE else anyio.CapacityLimiter(1)

    def remember(self, commit: str, command: str, own: Run) -> None:
        """A merge that was checked is the target of the next work."""
        if own.report is not None and not own.timed_out:
            while len(self._targets) >= REMEMBERED:
                del self._targets[next(iter(self._targets))]
            self._targets[commit, command] = own

    async def facts(
        self,
        move: moves.RunChecks,
        work: Candidate,
        runs: Mapping[str, Run],
        commands: Mapping[str, TestCommand],
        clone: CloneVariant,
        run_tests: RunTests,
        watch: ActivityWatch,
    ) -> Facts:
        """What the judges get. Nothing more is run if only documents changed, or the work failed."""
        changes = tuple(await self._workspaces.contents(work))
        asked = [
            Asked(check, commands[check.name], runs[check.name])
            for check in move.checks
            if check.name in commands and check.name in runs
        ]
        facts = Facts(
            changes=changes,
            checks=tuple(_own_facts(each) for each in asked),
            intent=Intent(may_change=move.may_change, fixes=move.fixes),
        )
        failed = any(
            check.required and not runs[check.name].passed
            for check in move.checks
            if check.name in runs
        )
        if failed or work.base == work.commit or change_sides.only_documents(changes):
            return facts
        rounds = _Round(self, work, changes, clone, run_tests, watch)
        return replace(facts, checks=tuple(await all_of(map(rounds.of, asked))))

    async def target(
        self, commit: str, each: Asked, clone: CloneVariant, run_tests: RunTests
    ) -> Run | None:
        """The run on the target's commit, once for all works that begin there."""
        key = commit, each.command.run
        async with self._locks.setdefault(key, anyio.Lock()):
            if key not in self._targets:
                async with clone(Variant(), on_target=True) as place:
                    run = await run_tests(place, each.check, each.command) if place else None
                if run is None:
                    return None
                self.remember(*key, run)
                if key not in self._targets:
                    return run
        self._locks.pop(key, None)
        return self._targets[key]


def _own_facts(each: Asked) -> CheckFacts:
    check, command = each.check, each.command
    return CheckFacts(name=check.name, run=check.run, runner=command.runner, own=each.own)


class _Round:
    """The further runs for one piece of work."""

    def __init__(
        self,
        gate: GateRuns,
        work: Candidate,
        changes: Sequence[ChangedFile],
        clone: CloneVariant,
        run_tests: RunTests,
        watch: ActivityWatch,
    ) -> None:
        self._gate = gate
        self._workspaces = gate._workspaces  # noqa: SLF001
        self._work = work
        self._changes = changes
        self._clone = clone
        self._run_tests = run_tests
        self._watch = watch
        self._limiter = gate.limiter(work.box.network)
        self._paths: tuple[str, ...] | None = None
        self._paths_lock = anyio.Lock()

    async def of(self, each: Asked) -> CheckFacts:
        facts = _own_facts(each)
        if each.command.runner is Runner.PLAIN:
            return await self._without_report(each, facts)
        self._say(each, "on the target")
        target = await self._gate.target(self._work.base, each, self._clone, self._run_tests)
        if target is None or target.report is None:
            return await self._without_report(each, facts)
        facts = replace(facts, target=target)
        if each.own.report is None:
            return facts
        base, witness, planted = await all_of(
            (
                self._with_base_tests(each, facts, target.report),
                self._with_witness(each, facts),
                self._with_canary(each, facts, each.own.report),
            )
        )
        return replace(
            planted,
            base_tests=base.base_tests,
            witness=witness.witness,
            changed_results=witness.changed_results,
        )

    async def _without_report(self, each: Asked, facts: CheckFacts) -> CheckFacts:
        """Only the exit code tells whether the new code passes the target's tests."""
        if each.own.report is not None:
            return facts
        facts = await self._with_base_tests(each, facts, Report())
        if facts.base_tests is None or facts.base_tests.passed:
            return facts
        target = await self._gate.target(self._work.base, each, self._clone, self._run_tests)
        return replace(facts, target=target)

    def _say(self, each: Asked, what: str) -> None:
        self._watch.live(Live("check", f"● {each.check.name} running {what}"))

    async def _run(
        self,
        each: Asked,
        variant: Variant,
        what: str,
        only: tuple[Case, ...] = (),
        *,
        on_target: bool = False,
    ) -> Run | None:
        """`what` is said of the run when it begins."""
        command = each.command
        if only:
            words = test_selection.only(command, only, await self._known())
            if words is None:
                return None
            command = replace(command, run=words)
        elif variant.tests and runners.can_select(command):
            words = runners.with_tests(command, variant.tests, await self._known())
            command = replace(command, run=words)
        if what.startswith(CANARY):
            command = replace(command, run=runners.without_tracebacks(command))
        async with self._limiter:
            self._say(each, what)
            async with self._clone(variant, on_target=on_target) as place:
                run = await self._run_tests(place, each.check, command) if place else None
        return replace(run, is_whole=not variant.tests) if run else None

    async def _known(self) -> tuple[str, ...]:
        async with self._paths_lock:
            if self._paths is None:
                self._paths = tuple(await self._workspaces.paths(self._work.commit))
        return self._paths

    @property
    def _changes_product(self) -> bool:
        return any(
            not change_sides.touches_tests(each) and not change_sides.is_document(each)
            for each in self._changes
        )

    async def _with_base_tests(self, each: Asked, facts: CheckFacts, target: Report) -> CheckFacts:
        variant = variants.base_tests(self._changes, target)
        if variant is None:
            return facts
        if not self._changes_product:
            return replace(facts, base_tests=facts.target)
        first = await self._run(each, variant, BASE_TESTS)
        failed = reruns.left_alone(self._changes, target, first) if first is not None else ()
        if first is None or not failed:
            return replace(facts, base_tests=first)
        return replace(facts, base_tests=await self._settled(each, variant, first, failed))

    async def _settled(
        self, each: Asked, variant: Variant, first: Run, failed: tuple[Case, ...]
    ) -> Run:
        """Another run if the tests that failed pass alone and then in it: they are flaky."""
        doubts = reruns.Failures(doubtful=failed, quarantined=())
        alone = await self._run(each, variant, f"{BASE_TESTS}, failing ones again, alone", failed)
        if alone is None or reruns.judge_alone(doubts, alone) is not reruns.Alone.PASS:
            return first
        second = await self._run(each, variant, f"{BASE_TESTS}, once more")
        if second is None or second.report is None:
            return first
        now = second.report.by_id
        is_flaky = all(case.id in now and not now[case.id].is_red for case in failed)
        return second if is_flaky else first

    async def _with_witness(self, each: Asked, facts: CheckFacts) -> CheckFacts:
        new = red_witness.new_tests(facts)
        if not new:
            return facts
        if not self._changes_product:
            return replace(facts, witness=facts.own)
        tests = [case.file for case in new if case.file] or [
            each.path for each in self._changes if is_test(each.path) and each.after is not None
        ]
        variant = variants.witness(self._changes, tests)
        what = "new tests on the target's code"
        facts = replace(facts, witness=await self._run(each, variant, what, on_target=True))
        files = changed_results.changed_files(self._changes, new)
        if not files or red_witness.has_witness(facts):
            return facts
        variant = Variant(files=files, tests=tuple(sorted(set(tests))) or None)
        run = await self._run(each, variant, "new tests on changed results")
        return replace(facts, changed_results=run)

    async def _with_canary(self, each: Asked, facts: CheckFacts, own: Report) -> CheckFacts:
        token = secrets.token_hex(3)
        texts = await self._test_texts(each.command.runner, own)
        modules = [each.path for each in self._changes if is_product(each.path)]
        facts = replace(facts, answers=answer_tables.answers(self._changes, texts))
        planted = canary.plant(each.command.runner, own, texts, modules, token)
        if planted is None:
            return facts
        made = {path: twisted_tests.twisted(path, text) for path, text in texts.items()}
        twisted = {path: found for path, found in made.items() if found is not None}
        files = {planted.path: planted.text} | {path: each.text for path, each in twisted.items()}
        tests = tuple(files)
        files |= await self._twisted_data()
        variant = Variant(files=files, tests=tests)
        ids = (token, token.capitalize())
        run = await self._run(each, variant, CANARY)
        if twisted and run is not None and not run.timed_out and not canary.planted(run, ids):
            # a twisted test may have ended the program before it
            only = Variant(files={planted.path: planted.text}, tests=(planted.path,))
            alone = await self._run(each, only, f"{CANARY}, alone")
            run = canary.with_planted(run, alone, ids)
        facts = replace(
            facts,
            canary=run,
            canary_ids=ids,
            twisted=tuple(
                f"{path}::{name}" for path, found in twisted.items() for name in found.tests
            ),
        )
        if not twisted_tests.is_doubtful(facts, self._changes):
            return facts
        unchanged = {path: text for path, text in files.items() if not self._is_changed_test(path)}
        variant = Variant(files=unchanged, tests=tuple(p for p in tests if p in unchanged))
        what = f"{CANARY}, on the target's code"
        run = await self._run(each, variant, what, on_target=True)
        return replace(facts, canary_target=run)

    async def _twisted_data(self) -> dict[str, str]:
        """Expected values that tests keep in files of their own."""
        known = [path for path in await self._known() if is_test_material(path)]
        data = sorted((path for path in known if not is_code(path)), key=self._distance)
        texts = await self._workspaces.texts(self._work.commit, data[:TWISTED_FILES])
        made = {path: twisted_tests.twisted_data(text) for path, text in texts.items()}
        return {path: text for path, text in made.items() if text is not None}

    def _is_changed_test(self, path: str) -> bool:
        return any(path in (each.path, each.old_path) for each in self._changes)

    async def _test_texts(self, runner: Runner, own: Report) -> dict[str, str]:
        """Test files that are twisted: those that changed; if few, some near the changed product."""
        reported = {case.file for case in own.cases if case.file}
        changed = {
            each.path: each.after
            for each in self._changes
            if each.after and is_test(each.path) and (not reported or each.path in reported)
        }
        known = reported & {*await self._known()} or {
            path for path in await self._known() if is_test(path)
        }
        others = sorted(known - {*changed}, key=self._distance)[:READ_FILES]
        texts = dict(list(changed.items())[:TWISTED_FILES])
        if not _suffice(texts) and others:
            for path, text in (await self._workspaces.texts(self._work.commit, others)).items():
                texts[path] = text
                if _suffice(texts):
                    break
        return texts

    def _distance(self, path: str) -> tuple[bool, int, str]:
        """Tests that are named after a changed file come first, then those in its folder."""
        stems = {_stem(each.path) for each in self._changes if is_product(each.path)}
        folders = {each.path.rpartition("/")[0] for each in self._changes}
        near = path.rpartition("/")[0] in folders
        return not any(stem and stem in path for stem in stems), not near, path


def _suffice(texts: Mapping[str, str]) -> bool:
    """Whether twisting more files would only take more time."""
    found = (twisted_tests.twisted(path, text) for path, text in texts.items())
    twisted = sum(len(each.tests) for each in found if each is not None)
    return len(texts) >= TWISTED_FILES or twisted >= TWISTED_TESTS


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
