"""The gate: what the work changed is looked at, then the checks run on a clean clone of it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

import anyio
from msgspec.structs import replace

from allstop.core.gate import findings
from allstop.core.ids import RunId
from allstop.core.moves import (
    Check,
    CheckResult,
    ChecksDone,
    Failed,
    Finding,
    Item,
    Protection,
    RunChecks,
    gate_error,
)
from allstop.core.plain import last_line
from allstop.loop.heard import Heard
from allstop.ports import Box, Candidate, Checks, Launcher, Live, Workspaces

REMEMBERED = 1000
"""How many commands' results on a base are known at most."""

ENDED = "Command was ended"


class Checking:
    def __init__(
        self,
        checks: Checks,
        workspaces: Workspaces,
        launcher: Launcher,
        unverified: Callable[[], str],
    ) -> None:
        self._launcher = launcher
        self._unverified = unverified
        self._checks = checks
        self._workspaces = workspaces
        self._failed_on: dict[tuple[str, str], bool] = {}  # a base and a command: did it fail

    async def run(self, run: RunId, move: RunChecks, watch: Heard) -> ChecksDone | Failed:
        restore = move.protected if move.protection is Protection.RESTORE else ()
        candidate = await self._workspaces.candidate(
            move.workspace, run, commit=move.commit, restore=restore
        )
        if isinstance(candidate, Failed):
            return candidate
        if isinstance(candidate, CheckResult):
            said = f"✗ {candidate.name}: {last_line(candidate.output)}"
            await watch.saw(Item(kind="check", text=said))
            return ChecksDone(results=(candidate,))
        changes = await self._workspaces.changes(candidate)
        found = findings(changes, move.protected, move.protection)
        for finding in found:
            await watch.saw(Item(kind="finding", text=told(finding)))
        if not move.checks and (warning := self._unverified()):
            await watch.saw(Item(kind="warning", text=warning))
        results: tuple[CheckResult, ...] = ()
        if move.keep_going or not any(finding.fatal for finding in found):
            results = await self._run_all(run, move, candidate.box, watch)
            results = await self._with_baseline(run, move, candidate, results, watch)
        done = ChecksDone(results=results, findings=found, tree=candidate.tree)
        return replace(done, error=gate_error(done))

    async def _run_all(
        self, run: RunId, move: RunChecks, place: Box, watch: Heard
    ) -> tuple[CheckResult, ...]:
        results: list[CheckResult] = []
        for number, check in enumerate(move.checks):
            watch.live(Live("check", f"● {check.name} running (0s / {check.timeout_s:.0f}s)"))
            for later in move.checks[number + 1 :]:
                watch.live(Live("check", f"○ {later.name} waiting"))
            result = await self._run_one(run, check, place, watch)
            results.append(result)
            said = verdict(result, check.timeout_s)
            watch.live(Live("check", said))
            await watch.saw(Item(kind="check", text=said))
            if check.required and not result.passed and not move.keep_going:
                break
        return tuple(results)

    async def _run_one(self, run: RunId, check: Check, place: Box, watch: Heard) -> CheckResult:
        result: CheckResult | None = None
        began = anyio.current_time()
        with watch.patience.part(check.timeout_s) as patience, patience.scope:
            result = await self._checks.run(check, place, run, watch.live)
        if result is not None:
            why = "" if result.passed else self._launcher.overran(run)
            return replace(result, output=f"{result.output}\n{ENDED}: {why}") if why else result
        timed_out = not patience.why
        return CheckResult(
            name=check.name,
            run=check.run,
            required=check.required,
            passed=False,
            timed_out=timed_out,
            code=None if timed_out else -signal.SIGKILL,
            seconds=check.timeout_s if timed_out else round(anyio.current_time() - began, 2),
            output=f"Command timed out after {check.timeout_s:g}s"
            if timed_out
            else f"{ENDED}: {patience.why}",
        )

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
        if not unknown:
            return
        before = await self._workspaces.candidate(workspace, run, commit=base)
        if not isinstance(before, Candidate):
            return
        for check in unknown:
            watch.live(Live("check", f"● {check.name} running on {base[:10]}, without the work"))
            result = await self._run_one(run, check, before.box, watch)
            while len(self._failed_on) >= REMEMBERED:
                del self._failed_on[next(iter(self._failed_on))]
            self._failed_on[base, check.run] = not result.passed


def verdict(result: CheckResult, timeout_s: float) -> str:
    time = f"({result.seconds:.0f}s / {timeout_s:.0f}s)"
    if result.passed:
        return f"✓ {result.name} passed {time}"
    if result.timed_out:
        return f"✗ {result.name} TIMEOUT {time}"
    if result.code is None:
        return f"✗ {result.name} could not be run {time}"
    return f"✗ {result.name} failed with exit code {result.code} {time}"


def told(finding: Finding) -> str:
    sign = "✗" if finding.fatal else "!"
    text = f": {finding.text}" if finding.text else ""
    return f"{sign} {finding.kind.replace('_', ' ')} {finding.path}{text}"
