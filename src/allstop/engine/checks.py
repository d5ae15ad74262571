"""The gate: what the work changed is looked at, then the checks run on a clean clone of it."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Sequence
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.board.change_findings import describe_finding, findings
from allstop.core.gate import Check, Protection
from allstop.core.ids import RunId
from allstop.core.moves import (
    CheckResult,
    ChecksDone,
    Failed,
    FailureKind,
    Finding,
    Item,
    RunChecks,
    gate_error,
)
from allstop.core.text import last_line
from allstop.engine.activity_watch import Heard
from allstop.engine.deadlines import Deadlines
from allstop.engine.disk_watch import Space
from allstop.ports import Candidate, Checks, Launcher, Live, Subject, Unready, Workspaces

REMEMBERED = 1000
"""How many commands' results on a base are known at most."""

ENDED = "Command was ended"

CLONING = Check(name="setup", run="clone the work and set it up")


class _Ran(NamedTuple):
    result: CheckResult
    filled_its_clone: bool = False  # which is gone by now


class Checking:
    def __init__(
        self,
        checks: Checks,
        workspaces: Workspaces,
        launcher: Launcher,
        unverified: Callable[[], str],
        space: Space,
    ) -> None:
        self._launcher = launcher
        self._unverified = unverified
        self._checks = checks
        self._workspaces = workspaces
        self._space = space
        self._failed_on: dict[tuple[str, str], bool] = {}  # a base and a command: did it fail

    async def run(self, run: RunId, move: RunChecks, watch: Heard) -> ChecksDone | Failed:
        if not move.checks:
            return await self._look(run, move, watch)
        candidate = await self._cloned(run, move, watch)
        if isinstance(candidate, Failed):
            return candidate
        if isinstance(candidate, Unready):
            return await _unready(candidate, watch)
        found = await self._findings(move, candidate, watch)
        results: tuple[CheckResult, ...] = ()
        if move.keep_going or not any(finding.fatal for finding in found):
            results = await self._run_all(run, move, candidate, watch)
            results = await self._with_baseline(run, move, candidate, results, watch)
        return _coded(
            ChecksDone(results=results, findings=found, tree=candidate.tree, notes=candidate.notes)
        )

    async def _look(self, run: RunId, move: RunChecks, watch: Heard) -> ChecksDone | Failed:
        """Where no command is configured, what was changed is looked at; that needs no clone."""
        work = await self._workspaces.subject(
            move.workspace, run, commit=move.commit, follows=move.follows
        )
        if isinstance(work, Failed):
            return work
        found = await self._findings(move, work, watch)
        if warning := self._unverified():
            await watch.saw(Item(kind="warning", text=warning))
        return _coded(ChecksDone(findings=found, tree=work.tree))

    async def _findings(
        self, move: RunChecks, work: Subject | Candidate, watch: Heard
    ) -> tuple[Finding, ...]:
        changes = await self._workspaces.changes(work)
        found = findings(changes, move.protected, move.protection)
        for finding in found:
            await watch.saw(Item(kind="finding", text=describe_finding(finding)))
        return found

    async def _cloned(
        self, run: RunId, move: RunChecks, watch: Heard
    ) -> Candidate | Unready | Failed:
        restore = move.protected if move.protection is Protection.RESTORE else ()
        return await self._candidate(
            run, move.workspace, watch, commit=move.commit, follows=move.follows, restore=restore
        )

    async def _candidate(
        self,
        run: RunId,
        workspace: str,
        watch: Heard,
        *,
        commit: str,
        follows: str = "",
        restore: Sequence[str] = (),
    ) -> Candidate | Unready | Failed:
        made: Candidate | Unready | Failed | None = None
        with (
            watch.deadlines.part(math.inf) as deadlines,
            deadlines.scope,
            self._space.watched(run, workspace, deadlines, self._workspaces.candidate_outgrown),
        ):
            made = await self._workspaces.candidate(
                workspace, run, commit=commit, follows=follows, restore=restore
            )
        if isinstance(made, Unready):
            return made._replace(result=self._with_cause(run, made.result))
        if made is not None:
            return made
        await self._clear_up(workspace, deadlines)
        return Unready(_cut_off(CLONING, deadlines.why, 0.0))

    async def _run_all(
        self, run: RunId, move: RunChecks, candidate: Candidate, watch: Heard
    ) -> tuple[CheckResult, ...]:
        results: list[CheckResult] = []
        for number, check in enumerate(move.checks):
            watch.live(Live("check", f"● {check.name} running (0s / {check.timeout_s:.0f}s)"))
            for later in move.checks[number + 1 :]:
                watch.live(Live("check", f"○ {later.name} waiting"))
            ran = await self._run_one(run, move.workspace, check, candidate, watch)
            results.append(ran.result)
            said = verdict(ran.result, check.timeout_s)
            watch.live(Live("check", said))
            await watch.saw(Item(kind="check", text=said))
            if check.required and not ran.result.passed and not move.keep_going:
                break
            if ran.filled_its_clone and number + 1 < len(move.checks):
                again = await self._cloned(run, replace(move, follows=""), watch)
                if not isinstance(again, Candidate):
                    results.append(_as_check(again))
                    break
                candidate = again
        return tuple(results)

    async def _run_one(
        self, run: RunId, workspace: str, check: Check, candidate: Candidate, watch: Heard
    ) -> _Ran:
        result: CheckResult | None = None
        began = anyio.current_time()
        with (
            watch.deadlines.part(check.timeout_s) as deadlines,
            deadlines.scope,
            self._space.watched(run, workspace, deadlines, self._workspaces.candidate_outgrown),
        ):
            result = await self._checks.run(check, candidate.box, run, watch.live)
        if result is not None:
            return _Ran(self._with_cause(run, result))
        took_s = round(anyio.current_time() - began, 2) if deadlines.why else check.timeout_s
        result = _cut_off(check, deadlines.why, took_s)
        return _Ran(result, filled_its_clone=await self._clear_up(workspace, deadlines))

    def _with_cause(self, run: RunId, result: CheckResult) -> CheckResult:
        """Whoever was told only that its program was killed can't know why."""
        why = "" if result.passed else self._launcher.overran(run)
        return replace(result, output=f"{result.output}\n{ENDED}: {why}") if why else result

    async def _clear_up(self, workspace: str, deadlines: Deadlines) -> bool:
        """Whether it was ended for the room it took; what it wrote is of no use to anybody."""
        if deadlines.kind is not FailureKind.OUT_OF_ROOM:
            return False
        await self._workspaces.drop_candidate(workspace)
        return True

    # --- was it so before ---

    async def _with_baseline(
        self,
        run: RunId,
        move: RunChecks,
        candidate: Candidate,
        results: tuple[CheckResult, ...],
        watch: Heard,
    ) -> tuple[CheckResult, ...]:
        """Mark what fails without the work too. What timed out is not waited for once more."""
        doubtful = [
            check
            for check, result in zip(move.checks, results, strict=False)
            if check.required and not result.passed and not result.timed_out
        ]
        if candidate.base != candidate.commit:
            await self._learn(run, move.workspace, candidate.base, doubtful, watch)
        return tuple(
            replace(result, failed_before=self._failed_on.get((candidate.base, result.run), False))
            if not result.passed
            else result
            for result in results
        )

    async def _learn(
        self, run: RunId, workspace: str, base: str, checks: Sequence[Check], watch: Heard
    ) -> None:
        """Run them once on the base; a base that can't be had teaches nothing."""
        unknown = [check for check in checks if (base, check.run) not in self._failed_on]
        before: Candidate | Unready | Failed | None = None
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


def _cut_off(check: Check, why: str, took_s: float) -> CheckResult:
    """It was ended for this reason; without one, because its time was over."""
    return CheckResult(
        name=check.name,
        run=check.run,
        required=check.required,
        passed=False,
        code=-signal.SIGKILL if why else None,
        timed_out=not why,
        seconds=took_s,
        output=f"{ENDED}: {why}" if why else f"Command timed out after {check.timeout_s:g}s",
    )


async def _unready(candidate: Unready, watch: Heard) -> ChecksDone:
    result, notes = candidate
    await watch.saw(Item(kind="check", text=f"✗ {result.name}: {last_line(result.output)}"))
    return _coded(ChecksDone(results=(result,), notes=notes))


def _coded(done: ChecksDone) -> ChecksDone:
    return replace(done, error=gate_error(done))


def _as_check(made: Unready | Failed) -> CheckResult:
    """What has no clean clone can't be checked."""
    if isinstance(made, Unready):
        return made.result
    return CheckResult(name=CLONING.name, run=CLONING.run, passed=False, output=made.message)


def verdict(result: CheckResult, timeout_s: float) -> str:
    time = f"({result.seconds:.0f}s / {timeout_s:.0f}s)"
    if result.passed:
        return f"✓ {result.name} passed {time}"
    if result.required:
        return f"✗ {result.name} {_how(result)} {time}"
    return f"⚠ {result.name} {_how(result)} {time}, not required"


def _how(result: CheckResult) -> str:
    """It did not pass."""
    if result.timed_out:
        return "TIMEOUT"
    if (last := last_line(result.output)).startswith(ENDED):
        return last.removeprefix("Command ")
    if result.code is None:
        return "could not be run"
    return f"failed with exit code {result.code}"
