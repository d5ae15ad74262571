"""Carries out one move. Knows nothing of pilots or journals."""

from __future__ import annotations

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

    async def perform(self, run: RunId, move: Work, watch: Watch, within_s: float) -> Result:
        """Do it, within a time that the run's own limits give; cancelling ends what was started."""
        match move:
            case TakeTurn():
                return await self._take_turn(run, move, watch, within_s)
            case RunChecks():
                return await self._run_checks(run, move, watch, within_s)
            case OpenWorkspace():
                return await self._workspaces.open(move.workspace, move.target, run)
            case Deliver():
                return await self._workspaces.deliver(move.workspace, move.branch, run)
            case Spawn():
                raise AssertionError("the drive itself opens child runs")
        assert_never(move)

    async def freeze(self, run: RunId) -> None:
        if run in self._patience:
            self._patience[run].hold()
        await self._launcher.freeze(run)

    async def thaw(self, run: RunId) -> None:
        await self._launcher.thaw(run)
        if run in self._patience:
            self._patience[run].release()

    async def _take_turn(self, run: RunId, move: TakeTurn, watch: Watch, within_s: float) -> Result:
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
        patience = Patience(min(move.timeout_s, within_s), move.idle_s)
        self._patience[run] = patience
        result: TurnDone | Failed | None = None
        try:
            with patience:
                result = await agent.take_turn(turn, _Heard(watch, patience))
        finally:
            del self._patience[run]
        if result is None:
            result = _ran_out(patience, move, within_s)
        return result if move.workspace is None else await self._keep(run, move.workspace, result)

    async def _keep(self, run: RunId, workspace: str, result: TurnDone | Failed) -> Result:
        """What the agent left uncommitted is its work too, also when it failed."""
        change = await self._workspaces.keep(workspace, run)
        if isinstance(change, Failed):
            return result if isinstance(result, Failed) else with_(change, usage=result.usage)
        return with_(result, change=change)

    async def _run_checks(
        self, run: RunId, move: RunChecks, watch: Watch, within_s: float
    ) -> Result:
        patience = Patience(within_s)
        done: Result | None = None
        with patience:
            place = await self._workspaces.candidate(move.workspace, run)
            if isinstance(place, Failed):
                return place
            done = await self._check_all(run, move, place, watch)
        return done or Failed(kind=FailureKind.TIMED_OUT, message="the run's time was up")

    async def _check_all(self, run: RunId, move: RunChecks, place: Box, watch: Watch) -> ChecksDone:
        results: list[CheckResult] = []
        for check in move.checks:
            result = await self._run_check(run, check, place, watch)
            results.append(result)
            await watch.saw(Item(kind="check", text=verdict(result)))
            if check.required and not result.passed:
                break
        return ChecksDone(results=tuple(results))

    async def _run_check(self, run: RunId, check: Check, place: Box, watch: Watch) -> CheckResult:
        patience = Patience(check.timeout_s)
        self._patience[run] = patience
        result: CheckResult | None = None
        try:
            with patience:
                result = await self._checks.run(check, place, run, watch.live)
        finally:
            del self._patience[run]
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


def verdict(result: CheckResult) -> str:
    if result.passed:
        return f"✓ {result.name} passed ({result.seconds:.0f}s)"
    if result.timed_out:
        return f"✗ {result.name} TIMEOUT ({result.seconds:.0f}s)"
    return f"✗ {result.name} failed with exit code {result.code} ({result.seconds:.0f}s)"


def _ran_out(patience: Patience, move: TakeTurn, within_s: float) -> Failed:
    if patience.stalled:
        message = f"no sign of life for {move.idle_s:g} s"
        return Failed(kind=FailureKind.STALLED, message=message)
    seconds = min(move.timeout_s, within_s)
    return Failed(kind=FailureKind.TIMED_OUT, message=f"not done after {seconds:g} s")


class _Heard:
    """Passes on what an agent says; each word is a sign of life."""

    def __init__(self, watch: Watch, patience: Patience) -> None:
        self._watch = watch
        self._patience = patience

    def live(self, live: Live) -> None:
        self._patience.touch()
        self._watch.live(live)

    async def opened(self, thread: str) -> None:
        await self._watch.opened(thread)

    async def saw(self, item: Item) -> None:
        self._patience.touch()
        await self._watch.saw(item)

    async def ask(self, ask: Ask) -> bool:
        self._patience.hold()  # a person's time to think is not the agent's silence
        try:
            return await self._watch.ask(ask)
        finally:
            self._patience.release()
