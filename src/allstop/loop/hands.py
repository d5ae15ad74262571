"""Carries out one move. Knows nothing of pilots or journals."""

from __future__ import annotations

import math
from typing import assert_never

from msgspec.structs import replace as with_

from allstop.core.approvals import Ask
from allstop.core.ids import RunId
from allstop.core.moves import (
    Check,
    CheckResult,
    ChecksDone,
    Deliver,
    Failed,
    FailureKind,
    Item,
    OpenWorkspace,
    Result,
    RunChecks,
    Spawn,
    TakeTurn,
    TurnDone,
    Usage,
    Work,
)
from allstop.loop.patience import Patience
from allstop.ports import Agents, Box, Checks, Launcher, Live, Turn, Watch, Workspaces


class Hands:
    def __init__(
        self,
        agents: Agents,
        *,
        checks: Checks,
        workspaces: Workspaces,
        launcher: Launcher,
    ) -> None:
        self._agents = agents
        self._checks = checks
        self._workspaces = workspaces
        self._launcher = launcher
        self._patience: dict[RunId, Patience] = {}
        self._frozen: set[RunId] = set()

    async def perform(self, run: RunId, move: Work, watch: Watch, within_s: float) -> Result | None:
        """Do it, within a time that the run's own limits give; None when it was cut.

        Cancelling ends what was started.
        """
        patience = self._patience[run] = _patience_for(move, within_s)
        if run in self._frozen:
            patience.hold()
        result: Result | None = None
        try:
            with patience.scope:
                result = await self._do(run, move, _Heard(watch, patience))
            if patience.ran_out and not patience.was_cut:
                result = await self._after_time(run, move, patience, within_s)
        finally:
            del self._patience[run]
        return result

    def cut(self, run: RunId) -> None:
        """End what is being done for this run, now."""
        if run in self._patience:
            self._patience[run].cut()

    async def _do(self, run: RunId, move: Work, watch: _Heard) -> Result:
        match move:
            case TakeTurn():
                return await self._take_turn(run, move, watch)
            case RunChecks():
                return await self._run_checks(run, move, watch)
            case OpenWorkspace():
                return await self._workspaces.open(move.workspace, move.target, run)
            case Deliver():
                return await self._workspaces.deliver(move.workspace, move.branch, run)
            case Spawn():
                raise AssertionError("the drive itself opens child runs")
        assert_never(move)

    async def _after_time(
        self, run: RunId, move: Work, patience: Patience, within_s: float
    ) -> Result | None:
        """A turn that ran out of time may have left work behind."""
        failed = _ran_out(patience, move, within_s)
        if not isinstance(move, TakeTurn) or move.workspace is None:
            return failed
        again = self._patience[run] = Patience(math.inf)
        with again.scope:
            return await self._keep(run, move.workspace, failed)
        return None

    async def freeze(self, run: RunId) -> None:
        self._frozen.add(run)
        if run in self._patience:
            self._patience[run].hold()
        await self._launcher.freeze(run)

    async def thaw(self, run: RunId) -> None:
        self._frozen.discard(run)
        held = self._patience.get(run)
        await self._launcher.thaw(run)
        if held is not None:
            held.release()

    async def _take_turn(self, run: RunId, move: TakeTurn, watch: _Heard) -> Result:
        if (agent := self._agents.get(move.agent)) is None:
            return Failed(kind=FailureKind.BAD_REQUEST, message=f"no agent named {move.agent!r}")
        turn = Turn(
            run=run,
            prompt=move.prompt,
            place=self._workspaces.place(move.workspace) if move.workspace else None,
            thread=move.thread,
            idle_s=move.idle_s,
            max_tokens=move.max_tokens,
        )
        result = await agent.take_turn(turn, watch)
        if move.workspace is None:
            return result
        watch.patience.relax()  # the agent's time is over
        return await self._keep(run, move.workspace, result)

    async def _keep(self, run: RunId, workspace: str, result: TurnDone | Failed) -> Result:
        """What the agent left uncommitted is its work too, also when it failed."""
        change = await self._workspaces.keep(workspace, run)
        if isinstance(change, Failed):
            return result if isinstance(result, Failed) else with_(change, usage=result.usage)
        return with_(result, change=change)

    async def _run_checks(self, run: RunId, move: RunChecks, watch: _Heard) -> Result:
        place = await self._workspaces.candidate(move.workspace, run)
        if isinstance(place, Failed):
            return place
        results: list[CheckResult] = []
        for check in move.checks:
            result = await self._run_check(run, check, place, watch)
            results.append(result)
            await watch.saw(Item(kind="check", text=verdict(result)))
            if check.required and not result.passed:
                break
        return ChecksDone(results=tuple(results))

    async def _run_check(self, run: RunId, check: Check, place: Box, watch: _Heard) -> CheckResult:
        patience = Patience(check.timeout_s)
        watch.patience.begin(patience)
        result: CheckResult | None = None
        with patience.scope:
            result = await self._checks.run(check, place, run, watch.live)
        watch.patience.inner = None
        if result is not None:
            return result
        return CheckResult(
            name=check.name,
            run=check.run,
            required=check.required,
            passed=False,
            timed_out=True,
            seconds=check.timeout_s,
            output=f"Command timed out after {check.timeout_s:g}s",
        )


def _patience_for(move: Work, within_s: float) -> Patience:
    if isinstance(move, TakeTurn):
        return Patience(min(move.timeout_s, within_s), move.idle_s)
    return Patience(within_s)


def verdict(result: CheckResult) -> str:
    if result.passed:
        return f"✓ {result.name} passed ({result.seconds:.0f}s)"
    if result.timed_out:
        return f"✗ {result.name} TIMEOUT ({result.seconds:.0f}s)"
    return f"✗ {result.name} failed with exit code {result.code} ({result.seconds:.0f}s)"


def _ran_out(patience: Patience, move: Work, within_s: float) -> Failed:
    if not isinstance(move, TakeTurn):
        return Failed(kind=FailureKind.TIMED_OUT, message="the run's time was up")
    used = Usage(input=move.max_tokens or 0)  # nobody knows; what it may have used counts
    if patience.stalled:
        message = f"no sign of life for {move.idle_s:g} s"
        return Failed(kind=FailureKind.STALLED, message=message, usage=used)
    seconds = min(move.timeout_s, within_s)
    message = f"not done after {seconds:g} s"
    return Failed(kind=FailureKind.TIMED_OUT, message=message, usage=used)


class _Heard:
    """Passes on what an agent says; each word is a sign of life."""

    def __init__(self, watch: Watch, patience: Patience) -> None:
        self._watch = watch
        self.patience = patience

    def live(self, live: Live) -> None:
        self.patience.touch()
        self._watch.live(live)

    async def opened(self, thread: str) -> None:
        await self._watch.opened(thread)

    async def saw(self, item: Item) -> None:
        self.patience.touch()
        await self._watch.saw(item)

    async def ask(self, ask: Ask) -> bool:
        self.patience.hold()  # a person's time to think is not the agent's silence
        try:
            return await self._watch.ask(ask)
        finally:
            self.patience.release()
