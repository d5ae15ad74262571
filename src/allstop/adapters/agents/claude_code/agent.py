"""The Claude Code agent: runs one process per turn, in the turn's box."""

from collections.abc import Callable
from uuid import uuid4

from msgspec.structs import replace

from allstop import ports
from allstop.adapters.agents.api.error_kinds import redact_key
from allstop.adapters.agents.claude_code import items
from allstop.adapters.agents.claude_code.launch import (
    PermissionMode,
    Program,
    TurnThread,
    build_launch,
)
from allstop.adapters.agents.claude_code.todo_list import Plan
from allstop.adapters.agents.claude_code.turn import TurnProcess
from allstop.adapters.agents.claude_code.turn_fold import TurnFold
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.reset_times import LocalTime, SystemZone
from allstop.core.moves import Failed, FailureKind, TurnDone

MAX_PLANS = 100
STARTED_OVER = "Claude Code did not find the conversation and started a new one"


def _new_thread() -> str:
    return str(uuid4())


class ClaudeCodeAgent:
    """Keeps only plans between turns, to show them; Claude Code stores conversations in its home."""

    abilities = ports.Abilities(
        resume=True,
        fork=True,
        steer=True,
        asks=True,
        plan=True,
        usage=True,
        structured=True,
        needs_box=True,
        token_cap=ports.TokenCap.AFTER,
        compact=True,
    )

    def __init__(
        self,
        program: Program,
        *,
        launcher: ports.Launcher,
        clock: ports.Clock,
        fallback_box: ports.Box,
        flat_rate: bool = False,
        new_thread: Callable[[], str] = _new_thread,
    ) -> None:
        """`fallback_box` is for turns without a workspace; with a login, all turns use its home."""
        self._program = program
        self._launcher = launcher
        self._clock = clock
        self._fallback_box = fallback_box
        self._flat_rate = flat_rate
        self._new_thread = new_thread
        self._plans: dict[str, Plan] = {}

    async def take_turn(self, turn: ports.Turn, watch: ports.Watch) -> TurnDone | Failed:
        thread = self._thread_of(turn)
        if thread.is_new:
            await watch.opened(thread.id)
        try:
            end, is_lost = await self._run(turn, thread, watch)
            if is_lost:
                # Claude Code died before the first message, or the conversation was removed
                await watch.saw(items.notice(STARTED_OVER))
                end, _ = await self._run(turn, TurnThread(id=thread.id), watch)
        except (ports.LaunchError, ports.UnsafeError) as error:
            return failed_launch(error)
        return self._finish(end)

    async def close(self) -> None:
        pass

    def _thread_of(self, turn: ports.Turn) -> TurnThread:
        if turn.thread is not None and not turn.fork:
            return TurnThread(id=turn.thread, resumed=turn.thread)
        return TurnThread(id=self._new_thread(), resumed=turn.thread)

    async def _run(
        self, turn: ports.Turn, thread: TurnThread, watch: ports.Watch
    ) -> tuple[TurnDone | Failed, bool]:
        fold = TurnFold(thread.id, turn.max_tokens, self._plan(thread.id))
        box = turn.place or self._fallback_box
        if self._program.login:
            box = replace(box, home=self._fallback_box.home)
        launch = build_launch(self._program, turn, box, thread)
        async with self._launcher.launch(launch) as child:
            is_ruled = self._program.ruled and not turn.asks_first
            mode = PermissionMode.ASK if turn.asks_first else self._program.permissions
            process = TurnProcess(child, fold, watch, self._local_time, mode, is_ruled=is_ruled)
            is_resumed = thread.resumed is not None
            prompt = None if turn.compacts else turn.prompt.whole
            end = await process.run(prompt, is_resumed=is_resumed)
        if isinstance(end, TurnDone) and turn.compacts and not fold.has_compacted:
            message = "Claude Code did not compact the conversation"
            end = Failed(kind=FailureKind.BAD_REQUEST, message=message, usage=end.usage)
        if isinstance(end, TurnDone):
            end = replace(end, signals=process.tools.signals)
        return end, fold.is_lost and is_resumed

    def _plan(self, thread: str) -> Plan:
        """The plan of a conversation; a forgotten one starts empty and shows only changes."""
        plan = self._plans[thread] = self._plans.pop(thread, Plan())
        if len(self._plans) > MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        return plan

    def _local_time(self) -> LocalTime:
        now = self._clock.now()
        return LocalTime(now=now, local=SystemZone())

    def _finish(self, end: TurnDone | Failed) -> TurnDone | Failed:
        usage = replace(end.usage, cost_microusd=0) if self._flat_rate else end.usage
        if isinstance(end, TurnDone):
            return replace(end, usage=usage)
        return replace(end, usage=usage, message=redact_key(end.message, self._program.key))
