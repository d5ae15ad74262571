"""Claude Code as an agent: each turn is a process of its own, in the turn's box."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from uuid import uuid4

from msgspec.structs import replace

from allstop.adapters.agents.api.error_kinds import redact_key
from allstop.adapters.agents.claude_code import items
from allstop.adapters.agents.claude_code.launch import Leave, Opening, Program, launch_of
from allstop.adapters.agents.claude_code.todo_list import Plan
from allstop.adapters.agents.claude_code.turn import Exchange
from allstop.adapters.agents.claude_code.turn_fold import Telling
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.reset_times import LocalTime
from allstop.core.moves import Failed, TurnDone
from allstop.ports import (
    Abilities,
    Box,
    Clock,
    Launcher,
    LaunchError,
    TokenCap,
    Turn,
    UnsafeError,
    Watch,
)

MOST_PLANS = 100


def _new_thread() -> str:
    return str(uuid4())


class ClaudeCodeAgent:
    """A conversation is a file in the home of its box; between turns only plans are kept, to show."""

    abilities = Abilities(
        resume=True,
        fork=True,
        steer=True,
        asks=True,
        plan=True,
        usage=True,
        structured=True,
        needs_box=True,
        token_cap=TokenCap.AFTER,
    )

    def __init__(
        self,
        program: Program,
        *,
        launcher: Launcher,
        clock: Clock,
        fallback_box: Box,
        flat_rate: bool = False,
        new_thread: Callable[[], str] = _new_thread,
    ) -> None:
        """`room` is for turns without a workspace; its home is for all, where there is a login."""
        self._program = program
        self._launcher = launcher
        self._clock = clock
        self._fallback_box = fallback_box
        self._flat_rate = flat_rate
        self._new_thread = new_thread
        self._plans: dict[str, Plan] = {}

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        opening = self._opening(turn)
        if opening.is_new:
            await watch.opened(opening.thread)
        try:
            end, is_lost = await self._once(turn, opening, watch)
            if is_lost:  # it died before anything was said in it, or somebody has removed it
                await watch.saw(items.notice("its conversation was not there: it begins again"))
                end, _ = await self._once(turn, Opening(thread=opening.thread), watch)
        except (LaunchError, UnsafeError) as error:
            return failed_launch(error)
        return self._settled(end)

    async def close(self) -> None:
        pass

    def _opening(self, turn: Turn) -> Opening:
        if turn.thread is not None and not turn.fork:
            return Opening(thread=turn.thread, resumed=turn.thread)
        return Opening(thread=self._new_thread(), resumed=turn.thread)

    async def _once(
        self, turn: Turn, opening: Opening, watch: Watch
    ) -> tuple[TurnDone | Failed, bool]:
        telling = Telling(opening.thread, turn.max_tokens, self._plan(opening.thread))
        box = turn.place or self._fallback_box
        if self._program.login:
            box = replace(box, home=self._fallback_box.home)
        launch = launch_of(self._program, turn, box, opening)
        async with self._launcher.launch(launch) as child:
            is_ruled = self._program.ruled and not turn.asks_first
            leave = Leave.ASK if turn.asks_first else self._program.leave
            exchange = Exchange(child, telling, watch, self._moment, leave, is_ruled=is_ruled)
            is_going_on = opening.resumed is not None
            end = await exchange.take(turn.prompt.whole, is_going_on=is_going_on)
        if isinstance(end, TurnDone):
            end = replace(end, signals=exchange.tools.signals)
        return end, telling.is_lost and is_going_on

    def _plan(self, thread: str) -> Plan:
        """The latest conversations count; of one that was forgotten, what changes is told."""
        plan = self._plans[thread] = self._plans.pop(thread, Plan())
        if len(self._plans) > MOST_PLANS:
            del self._plans[next(iter(self._plans))]
        return plan

    def _moment(self) -> LocalTime:
        now = self._clock.now()
        return LocalTime(now=now, local=now.astimezone().tzinfo or UTC)

    def _settled(self, end: TurnDone | Failed) -> TurnDone | Failed:
        usage = replace(end.usage, cost_microusd=0) if self._flat_rate else end.usage
        if isinstance(end, TurnDone):
            return replace(end, usage=usage)
        return replace(end, usage=usage, message=redact_key(end.message, self._program.key))
