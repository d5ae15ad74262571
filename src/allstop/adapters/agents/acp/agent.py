"""An agent behind ACP: each turn is a process of its own, in the turn's box."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from secrets import token_hex

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.acp import error_kinds, tools
from allstop.adapters.agents.acp.connection import Connection
from allstop.adapters.agents.acp.launch import Setup, launch_of
from allstop.adapters.agents.acp.messages import Ended, Tokens
from allstop.adapters.agents.acp.turn import Exchange
from allstop.adapters.agents.api.error_kinds import redact_key
from allstop.adapters.agents.exception_groups import first_error
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.agents.rpc_peer import NoAnswerError, PeerGoneError, RequestFailedError
from allstop.adapters.agents.turn_socket import SocketAccess, TurnSockets, open_turn_socket
from allstop.adapters.agents.turn_tools import TurnTools
from allstop.core.mcp import Message
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.ports import Abilities, Clock, Launcher, LaunchError, Turn, UnsafeError, Watch

_ENDS: Mapping[str, tuple[FailureKind, str]] = {
    "max_tokens": (FailureKind.BAD_REQUEST, "its model's reply was cut: it was too long"),
    "max_turn_requests": (FailureKind.EXITED, "it has asked its model as often as it may"),
    "refusal": (FailureKind.BAD_REQUEST, "its model refused"),
    "cancelled": (FailureKind.CRASHED, "it interrupted the turn by itself"),
}


class AcpAgent:
    """A conversation is the agent's own, in the home of its box. What it cost is told in sums."""

    abilities = Abilities(
        resume=True, fork=True, asks=True, plan=True, diff=True, usage=True, needs_box=True
    )

    def __init__(
        self, setup: Setup, *, launcher: Launcher, clock: Clock, sockets: TurnSockets | None = None
    ) -> None:
        self._setup = setup
        self._launcher = launcher
        self._clock = clock
        self._sockets = sockets
        self._costs: dict[str, float] = {}  # of each conversation so far, in dollars

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        try:
            async with anyio.create_task_group() as group:
                result = await self._heard(turn, watch, group)
        except ExceptionGroup as errors:
            raise first_error(errors) from errors
        return result

    async def _heard(self, turn: Turn, watch: Watch, group: TaskGroup) -> TurnDone | Failed:
        desk, words = TurnTools(watch), (token_hex(), token_hex())
        try:
            with open_turn_socket(desk, self._sockets, turn, group, words) as way:
                result = await self._in_box(turn, watch, desk, way)
        except (LaunchError, UnsafeError) as error:
            return failed_launch(error)
        return replace(result, signals=desk.signals) if isinstance(result, TurnDone) else result

    async def close(self) -> None:
        if self._sockets is not None:
            self._sockets.close()

    async def _in_box(
        self, turn: Turn, watch: Watch, desk: TurnTools, way: SocketAccess | None
    ) -> TurnDone | Failed:
        launch, servers = launch_of(self._setup, turn.place, turn.run), list[Message]()
        if way is not None:
            launch = way.add_to(launch)
            program = way.program(self._launcher.isolation)
            servers += [tools.server(program, word) for word in way.tokens]
        async with self._launcher.launch(launch) as child:
            connection = Connection(child, self._setup.answer_within_s)
            return await self._once(Exchange(connection, turn, watch, desk, servers), turn)

    async def _once(self, exchange: Exchange, turn: Turn) -> TurnDone | Failed:
        ended: Ended | Failed
        try:
            ended = await exchange.take(self._setup.wishes)
        except PeerGoneError as error:
            ended = Failed(kind=FailureKind.CRASHED, message=error.message)
        except NoAnswerError as error:
            ended = Failed(kind=FailureKind.STALLED, message=error.message)
        except RequestFailedError as error:
            ended = error_kinds.refused(error.fault, self._moment())
        await exchange.finish()
        tokens = ended.usage if isinstance(ended, Ended) else None
        result = self._result(exchange, ended) if isinstance(ended, Ended) else ended
        if isinstance(result, TurnDone):
            return replace(result, usage=self._usage(exchange, turn, tokens))
        has_used = tokens is not None or exchange.fold.has_worked
        usage = self._usage(exchange, turn, tokens) if has_used else Usage()
        return replace(result, usage=usage, message=redact_key(result.message, self._setup.key))

    def _result(self, exchange: Exchange, ended: Ended) -> TurnDone | Failed:
        reason, text = ended.stop_reason, exchange.fold.text
        if reason == "end_turn":
            unpaid = ended.usage is None and error_kinds.is_error(text)
            if exchange.fold.has_failed or unpaid:
                return error_kinds.failed(text.strip(), self._moment())
            return TurnDone(text=text, thread=exchange.thread)
        if reason == "cancelled" and exchange.denied:  # a no is the end of the turn for some
            why = f"The turn ended because this was not allowed: {exchange.denied}"
            return TurnDone(text=text or why, thread=exchange.thread)
        kind, why = _ENDS.get(reason, (FailureKind.CRASHED, f"it ended the turn by {reason!r}"))
        return Failed(kind=kind, message=f"{why}: {text}" if text else why)

    def _usage(self, exchange: Exchange, turn: Turn, tokens: Tokens | None) -> Usage:
        spent = exchange.fold.spent(tokens, turn.prompt.chars)
        cost = 0.0 if self._setup.flat_rate else self._cost(exchange, turn)
        return Usage(
            input=spent.input,
            cached=spent.cached,
            output=spent.output,
            cost_microusd=round(cost * 1_000_000),
        )

    def _cost(self, exchange: Exchange, turn: Turn) -> float:
        """Of this turn. A conversation of which no sum is known yet was not seen from its start."""
        total, thread = exchange.fold.cost, exchange.thread
        if total is None:
            return 0.0
        before = self._costs.get(thread, 0.0 if thread != turn.thread else total)
        self._costs[thread] = total
        return max(0.0, total - before)

    def _moment(self) -> LocalTime:
        now = self._clock.now()
        return LocalTime(now=now, local=UTC)  # its TZ is set so
