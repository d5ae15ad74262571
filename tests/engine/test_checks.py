"""Running the checks of a gate: findings, baselines, time limits and live messages."""

import anyio
import pytest
from msgspec.structs import replace

from allstop.core.events import MoveEnded
from allstop.core.gate import Check, Gate, Integrity, Protection, Verdict
from allstop.core.moves import (
    VERIFICATION_FAILED,
    CheckResult,
    ChecksDone,
    Failed,
    FailureKind,
    Integrate,
    Item,
    OpenWorkspace,
    RunChecks,
)
from allstop.core.work_prompts import failed_gate
from allstop.engine.hands import Hands
from allstop.ports import Candidate, FileChange, Live, Unready
from allstop.testing.virtual_clock import EPOCH
from allstop.views.log import lines
from support.in_memory_world import FakeChecks, InMemoryWorld

UNIT = Check(name="Unit Tests", run="pytest", timeout_s=600.0)
LINT = Check(name="Lint", run="ruff check", timeout_s=60.0)
EXTRA = Check(name="Extra", run="extra", required=False)
SKIPPED = FileChange("tests/test_a.py", "M", ("@pytest.mark.skip",))


class TimedChecks(FakeChecks):
    async def run(self, check, place, label, progress):
        result = await super().run(check, place, label, progress)
        return replace(result, seconds=self.takes_s)


class Gallery:
    """Records live messages and items in order."""

    def __init__(self):
        self.seen = []

    def live(self, live):
        self.seen.append(live)

    async def saw(self, item):
        self.seen.append(item)


class Bench(InMemoryWorld):
    """Hands and nothing else."""

    def __init__(self):
        super().__init__()
        self.checks = TimedChecks()
        self.hands = Hands(
            {},
            checks=self.checks,
            workspaces=self.workspaces,
            launcher=self.launcher,
            unverified=lambda: "VERIFICATION_EMPTY",
        )
        self.gallery = Gallery()
        self.candidates = []
        self.changes = ()
        self.workspaces.changes = self._changes
        self._candidate = self.workspaces.candidate
        self.workspaces.candidate = self._candidate_seen

    async def _changes(self, candidate):
        return self.changes

    async def _candidate_seen(
        self, workspace, label, *, commit="", base="", follows="", restore=()
    ):
        self.candidates.append((commit, restore))
        return await self._candidate(
            workspace, label, commit=commit, follows=follows, restore=restore
        )

    async def gate(self, *checks, within_s=10_000.0, **more):
        move = RunChecks(checks=checks, workspace="w", **more)
        async with anyio.create_task_group() as group:
            group.start_soon(self.hands.keep_time)
            result = await self.hands.perform("t", move, self.gallery, within_s)
            group.cancel_scope.cancel()
        return result

    def texts(self, kind):
        return [seen.text for seen in self.gallery.seen if seen.kind == kind]


async def test_b14_progress_is_live_and_verdicts_are_kept():
    """B14: "✓ Unit Tests passed (42s / 600s)", "● … running", "○ … waiting"."""
    bench = Bench()
    bench.checks.takes_s = 42.0
    bench.checks.codes = {"extra": [2]}

    await bench.gate(UNIT, EXTRA)

    assert [(type(seen), seen.text) for seen in bench.gallery.seen] == [
        (Live, "● Unit Tests running (0s / 600s)"),
        (Live, "○ Extra waiting"),
        (Live, "✓ Unit Tests passed (42s / 600s)"),
        (Item, "✓ Unit Tests passed (42s / 600s)"),
        (Live, "● Extra running (0s / 300s)"),
        (Live, "⚠ Extra failed with exit code 2 (42s / 300s), not required"),
        (Item, "⚠ Extra failed with exit code 2 (42s / 300s), not required"),
    ]


async def test_b14_a_command_that_takes_too_long():
    bench = Bench()
    bench.checks.takes_s = 1000.0

    done = await bench.gate(UNIT)

    assert bench.texts("check")[-1] == "✗ Unit Tests TIMEOUT (600s / 600s)"
    assert done.results[0].timed_out
    assert done.results[0].output == "Command timed out after 600s"
    assert bench.candidates == [("", ())]  # it is not waited for once more on the base


async def test_k17_a_command_whose_programs_hold_too_much_memory_fails_and_the_agent_is_told():
    bench = Bench()
    bench.checks.takes_s = 10.0
    why = "its programs hold 4,310 MB of memory, more than 4,096 MB"

    async def report_memory():
        await anyio.sleep(12)
        bench.launcher.report_memory("t", why)

    async with anyio.create_task_group() as group:
        group.start_soon(report_memory)
        done = await bench.gate(LINT, UNIT)

    assert [result.passed for result in done.results] == [True, False]
    assert not done.results[1].timed_out
    assert done.results[1].output == f"Command was ended: {why}"
    assert f"✗ Unit Tests was ended: {why} (2s / 600s)" in bench.texts("check")


async def test_k17_a_command_that_the_kernel_has_ended_for_its_memory_says_so():
    bench = Bench()
    bench.checks.codes = {"pytest": [137]}
    bench.launcher.ended["t"] = "its programs needed more memory than 4,096 MB"

    done = await bench.gate(UNIT)

    assert done.results[0].code == 137
    assert done.results[0].output == (
        "\nCommand was ended: its programs needed more memory than 4,096 MB"
    )


# --- room ---

FULL = "the clean clone of the work holds 12 MB, and may hold 5 MB"


class Filling(TimedChecks):
    """Checks of which some fill the clone that they run in, unless it is an early one."""

    def __init__(self, bench, *fills, from_the=1):
        super().__init__()
        self._bench = bench
        self._fills = fills
        self._from_the = from_the
        bench.workspaces.check_every_s = 2.0

    async def run(self, check, place, label, progress):
        if check.run in self._fills and len(self._bench.candidates) >= self._from_the:
            self._bench.workspaces.candidate_grown["w"] = FULL
            self.takes_s = 5000.0
        try:
            return await super().run(check, place, label, progress)
        finally:
            self.takes_s = 1.0


class RoomBench(Bench):
    def fill(self, *commands, from_the=1):
        self.checks = Filling(self, *commands, from_the=from_the)
        self.hands = Hands(
            {}, checks=self.checks, workspaces=self.workspaces, launcher=self.launcher
        )
        return self


async def test_k17_a_command_that_fills_its_clone_is_ended_and_says_what_is_full():
    bench = RoomBench().fill("pytest")

    done = await bench.gate(UNIT, commit="merge")

    (result,) = done.results
    assert (result.passed, result.timed_out, result.code) == (False, False, -9)
    assert result.output == f"Command was ended: {FULL}"
    assert done.error == "VERIFICATION_FAILED"
    assert f"✗ Unit Tests was ended: {FULL} (2s / 600s)" in bench.texts("check")
    assert bench.workspaces.dropped[0] == "w"  # what it wrote is of no use


async def test_k17_what_comes_after_a_command_that_filled_its_clone_has_a_clone_of_its_own():
    """K17: one that isn't required neither fails the gate nor lets the others be left out."""
    bench = RoomBench().fill("extra")

    done = await bench.gate(EXTRA, UNIT, LINT)

    assert [result.passed for result in done.results] == [False, True, True]
    assert done.passed
    assert bench.candidates == [("", ()), ("", ())]


async def test_k17_where_there_is_no_room_for_another_clone_the_gate_fails():
    bench = RoomBench().fill("extra")

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        if bench.workspaces.dropped:
            return Failed(kind=FailureKind.BAD_REQUEST, message="no space left on device")
        return await bench._candidate_seen(workspace, label, commit=commit, restore=restore)

    bench.workspaces.candidate = candidate
    done = await bench.gate(EXTRA, UNIT)

    assert [result.passed for result in done.results] == [False, False]
    assert done.results[1].output == "no space left on device"
    assert not done.passed


async def test_k17_a_command_that_fills_its_clone_without_the_work_too_failed_before():
    bench = RoomBench().fill("pytest")

    done = await bench.gate(UNIT)

    assert done.results[0].failed_before
    assert bench.candidates == [("", ()), ("base", ())]
    assert bench.workspaces.dropped == ["w", "w"]


async def test_k17_a_full_disk_teaches_nothing_of_what_was_before():
    bench = RoomBench().fill("pytest", from_the=2)
    bench.checks.codes = {"pytest": [1]}
    bench.workspaces.short = FULL

    done = await bench.gate(UNIT)

    assert bench.workspaces.dropped == ["w"]
    assert not done.results[0].failed_before


async def test_k17_a_setup_that_fills_the_clean_clone_is_ended_and_says_so():
    bench = RoomBench().fill()

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        bench.workspaces.candidate_grown["w"] = FULL
        await anyio.sleep(5000)

    bench.workspaces.candidate = candidate
    done = await bench.gate(UNIT)

    assert [(result.name, result.output) for result in done.results] == [
        ("setup", f"Command was ended: {FULL}")
    ]
    assert not done.passed
    assert bench.checks.ran == []
    assert bench.workspaces.dropped == ["w"]


async def test_k17_a_clone_that_is_found_full_once_its_command_has_ended_ends_no_other():
    bench = RoomBench().fill()
    looked = anyio.Event()

    async def slow_look(workspace):
        looked.set()
        await anyio.sleep(10)
        return FULL

    bench.workspaces.candidate_over_limit = slow_look
    bench.checks.takes_s = 3.0
    done = await bench.gate(UNIT, LINT)

    assert looked.is_set()
    assert [result.passed for result in done.results] == [True, True]


async def test_b14_the_first_required_failure_ends_the_gate():
    bench = Bench()
    bench.checks.codes = {"extra": [1], "pytest": [1, 0]}

    done = await bench.gate(EXTRA, UNIT, LINT)

    assert [(result.name, result.passed) for result in done.results] == [
        ("Extra", False),
        ("Unit Tests", False),
    ]


async def test_b14_keep_going_runs_the_rest_too():
    bench = Bench()
    bench.checks.codes = {"pytest": [1]}

    done = await bench.gate(UNIT, LINT, keep_going=True)

    assert [result.passed for result in done.results] == [False, True]
    assert not done.passed


async def test_b9_all_of_them_together_have_a_time():
    """B9: wall clock of an attempt, gate included."""
    bench = Bench()
    bench.checks.takes_s = 50.0

    done = await bench.gate(UNIT, LINT, EXTRA, timeout_s=120.0)

    assert done == Failed(
        kind=FailureKind.TIMED_OUT, message="the checks were not done after 120 s"
    )


async def test_b9_the_time_stands_still_while_frozen():
    bench = Bench()
    bench.checks.takes_s = 50.0

    async with anyio.create_task_group() as group:
        results = []

        async def gate():
            results.append(await bench.gate(UNIT, timeout_s=60.0))

        group.start_soon(gate)
        await anyio.sleep(10)
        await bench.hands.freeze("t")
        await anyio.sleep(45)
        await bench.hands.thaw("t")

    assert isinstance(results[0], ChecksDone)


async def test_the_shorter_time_is_the_runs_own():
    bench = Bench()
    bench.checks.takes_s = 50.0

    done = await bench.gate(UNIT, timeout_s=120.0, within_s=30.0)

    assert done == Failed(kind=FailureKind.TIMED_OUT, message="the run's time was up")


async def test_what_failed_before_the_work_is_marked():
    bench = Bench()
    bench.checks.codes = {"pytest": [1, 1], "ruff check": [1, 0]}

    done = await bench.gate(UNIT, LINT, keep_going=True)

    assert [(result.name, result.failed_before) for result in done.results] == [
        ("Unit Tests", True),
        ("Lint", False),
    ]
    assert bench.candidates == [("", ()), ("base", ())]


async def test_a_base_is_tried_once_for_each_command():
    bench = Bench()
    bench.checks.codes = {"pytest": [1, 1, 1, 1]}

    first = await bench.gate(UNIT)
    second = await bench.gate(UNIT)

    assert bench.checks.ran == ["pytest"] * 3
    assert [done.results[0].failed_before for done in (first, second)] == [True, True]


async def test_a_base_that_can_not_be_had_marks_nothing():
    bench = Bench()
    bench.checks.codes = {"pytest": [1]}

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        if commit:
            return Failed(kind=FailureKind.BAD_REQUEST)
        return await bench._candidate(workspace, label)

    bench.workspaces.candidate = candidate
    done = await bench.gate(UNIT)

    assert not done.results[0].failed_before


async def test_work_that_is_its_own_base_has_no_before():
    bench = Bench()
    bench.checks.codes = {"pytest": [1]}

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        made = await bench._candidate(workspace, label, commit=commit)
        return Candidate(made.box, "same", "same", "tree")

    bench.workspaces.candidate = candidate
    await bench.gate(UNIT)

    assert bench.checks.ran == ["pytest"]


async def test_k19_what_the_clone_lacks_comes_with_the_result():
    """K19: a gate that ran without a submodule has checked something else."""
    bench = Bench()
    note = "submodule vendor/lib is not checked out here"

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        made = await bench._candidate(workspace, label, commit=commit)
        return made._replace(notes=(note,))

    bench.workspaces.candidate = candidate
    done = await bench.gate(UNIT)

    assert done.passed
    assert done.notes == (note,)


async def test_b10_a_setup_that_fails_comes_with_its_code_and_what_the_clone_lacked():
    """B10, B14: the agent and the person are told about both."""
    bench = Bench()
    result = CheckResult(name="setup", run="make", passed=False, code=2, output="no .env")
    note = ".env was not copied: it is too large"

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        return Unready(result, (note,))

    bench.workspaces.candidate = candidate
    done = await bench.gate(UNIT)

    assert done == ChecksDone(results=(result,), notes=(note,), error=VERIFICATION_FAILED)
    assert bench.texts("check") == ["✗ setup: no .env"]
    ended = MoveEnded(at=EPOCH, id=1, result=done)
    assert [line.text for line in lines(ended)][1:] == [f"warning: {note}"]
    assert note in failed_gate(done)


async def test_b16_findings_come_with_the_result():
    """B16: protected paths that were changed are shown."""
    bench = Bench()
    bench.changes = (SKIPPED,)

    done = await bench.gate(UNIT, protected=("tests/**",))

    assert [(f.kind, f.path, f.text, f.verdict) for f in done.findings] == [
        ("skipped_test", "tests/test_a.py", "@pytest.mark.skip", Verdict.ASK),
        ("protected", "tests/test_a.py", "changed", Verdict.NOTE),
    ]
    assert done.passed
    assert bench.texts("finding") == [
        "! skipped test: tests/test_a.py; protected (changed): tests/test_a.py"
    ]


async def test_b16_where_it_fails_the_gate_no_check_is_run():
    bench = Bench()
    bench.changes = (SKIPPED,)

    done = await bench.gate(UNIT, protected=("tests/**",), protection=Protection.FAIL)

    assert not done.passed
    assert bench.checks.ran == []


async def test_b15_b16_without_commands_it_is_looked_at_and_no_clone_is_made():
    """B15, B16: leftover conflict markers of our own merge also fail the gate."""
    bench = Bench()
    ours = ("<<<<<<< HEAD", "a", "=======", "b", f">>>>>>> {'a' * 40}")
    bench.changes = (FileChange("a.txt", "M", ours),)

    done = await bench.gate()

    assert (done.passed, done.error) == (False, VERIFICATION_FAILED)
    assert [finding.kind for finding in done.findings] == ["conflict_markers"]
    assert done.tree == "tree of w-0"
    assert bench.texts("warning") == ["VERIFICATION_EMPTY"]
    assert bench.candidates == []


async def test_v10_where_nobody_reviews_the_work_an_ask_fails_the_gate():
    bench = Bench()
    bench.changes = (SKIPPED,)

    done = await bench.gate(integrity=Integrity.ASK, unreviewed=True)

    assert [finding.kind for finding in done.findings if finding.fatal] == ["skipped_test"]
    assert "- don't skip tests in tests/test_a.py" in failed_gate(done)


async def test_a_candidate_that_can_not_be_made_is_the_result():
    bench = Bench()
    trouble = Failed(kind=FailureKind.BAD_REQUEST, message="no room")

    async def candidate(workspace, label, *, commit="", base="", follows="", restore=()):
        return trouble

    bench.workspaces.candidate = candidate

    assert await bench.gate(UNIT) == trouble


# --- whose gate ---


async def gate_of_target(target):
    return Gate(checks=(Check(name=target, run="make"),))


@pytest.mark.parametrize(
    "move",
    [
        OpenWorkspace(workspace="w", target="main"),
        Integrate(workspace="w", target="main", message="Merge w"),
    ],
)
async def test_k19_what_is_opened_or_merged_comes_with_the_targets_gate(move):
    world = InMemoryWorld()
    await world.workspaces.open("w", "main", "t")
    hands = Hands({}, workspaces=world.workspaces, launcher=world.launcher, gates=gate_of_target)

    result = await hands.perform("t", move, Gallery(), 10.0)

    assert result.gate == Gate(checks=(Check(name="main", run="make"),))
