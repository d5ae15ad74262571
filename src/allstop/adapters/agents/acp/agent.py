"""The ACP agent: runs one process per turn, in the turn's box."""

from collections.abc import Mapping
from datetime import UTC
from secrets import token_hex

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.acp import error_kinds, tools
from allstop.adapters.agents.acp.connection import Connection
from allstop.adapters.agents.acp.launch import Setup, build_launch
from allstop.adapters.agents.acp.messages import Ended, Tokens
from allstop.adapters.agents.acp.turn import TurnProcess
from allstop.adapters.agents.api.error_kinds import redact_key
from allstop.adapters.agents.exception_groups import first_error
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.offered_tools import TurnTools
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.agents.rpc_peer import NoAnswerError, PeerGoneError, RequestFailedError
from allstop.adapters.agents.turn_socket import SocketAccess, TurnSockets, open_turn_socket
from allstop.core.mcp import Message
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage, reported_microusd
from allstop.ports import Abilities, Clock, Launcher, LaunchError, Turn, UnsafeError, Watch

_ENDS: Mapping[str, tuple[FailureKind, str]] = {
    "max_tokens": (FailureKind.BAD_REQUEST, "the model's reply was too long and was cut off"),
    "max_turn_requests": (FailureKind.EXITED, "the agent reached its limit of model calls"),
    "refusal": (FailureKind.BAD_REQUEST, "the model refused"),
    "cancelled": (FailureKind.CRASHED, "the agent interrupted the turn on its own"),
}


class AcpAgent:
    """Keeps only the cost of each conversation; the agent stores conversations in its home."""

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
        self._costs: dict[str, float] = {}  # per conversation so far, in dollars

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        try:
            async with anyio.create_task_group() as group:
                result = await self._with_tools(turn, watch, group)
        except ExceptionGroup as errors:
            raise first_error(errors) from errors
        return result

    async def _with_tools(self, turn: Turn, watch: Watch, group: TaskGroup) -> TurnDone | Failed:
        turn_tools, tokens = TurnTools(watch), (token_hex(), token_hex())
        try:
            with open_turn_socket(turn_tools, self._sockets, turn, group, tokens) as access:
                result = await self._in_process(turn, watch, turn_tools, access)
        except (LaunchError, UnsafeError) as error:
            return failed_launch(error)
        if isinstance(result, TurnDone):
            return replace(result, signals=turn_tools.signals)
        return result

    async def close(self) -> None:
        if self._sockets is not None:
            self._sockets.close()

    async def _in_process(
        self, turn: Turn, watch: Watch, turn_tools: TurnTools, access: SocketAccess | None
    ) -> TurnDone | Failed:
        launch, servers = build_launch(self._setup, turn.place, turn.run), list[Message]()
        if access is not None:
            launch = access.add_to(launch)
            program = access.program(self._launcher.isolation)
            servers += [tools.server(program, token) for token in access.tokens]
        async with self._launcher.launch(launch) as child:
            connection = Connection(child, self._setup.answer_within_s)
            return await self._run(TurnProcess(connection, turn, watch, turn_tools, servers), turn)

    async def _run(self, process: TurnProcess, turn: Turn) -> TurnDone | Failed:
        ended: Ended | Failed
        try:
            ended = await process.run(self._setup.session)
        except PeerGoneError as error:
            ended = Failed(kind=FailureKind.CRASHED, message=error.message)
        except NoAnswerError as error:
            ended = Failed(kind=FailureKind.STALLED, message=error.message)
        except RequestFailedError as error:
            ended = error_kinds.failure_of_request(error.fault, self._local_time())
        await process.finish()
        tokens = ended.usage if isinstance(ended, Ended) else None
        result = self._result(process, ended) if isinstance(ended, Ended) else ended
        if isinstance(result, TurnDone):
            usage = self._usage(process, turn, tokens)
            return replace(result, usage=usage, context=process.fold.context)
        has_used = tokens is not None or process.fold.has_worked
        usage = self._usage(process, turn, tokens) if has_used else Usage()
        return replace(result, usage=usage, message=redact_key(result.message, self._setup.key))

    def _result(self, process: TurnProcess, ended: Ended) -> TurnDone | Failed:
        reason, text = ended.stop_reason, process.fold.text
        if reason == "end_turn":
            is_error = ended.usage is None and error_kinds.is_error(text)
            if process.fold.has_failed or is_error:
                return error_kinds.failure_of_text(text.strip(), self._local_time())
            return TurnDone(text=text, thread=process.thread)
        if reason == "cancelled" and process.denied:  # some agents end the turn after a denial
            why = f"The turn ended because this was not allowed: {process.denied}"
            return TurnDone(text=text or why, thread=process.thread)
        kind, why = _ENDS.get(
            reason, (FailureKind.CRASHED, f"the agent ended the turn with {reason!r}")
        )
        return Failed(kind=kind, message=f"{why}: {text}" if text else why)

    def _usage(self, process: TurnProcess, turn: Turn, tokens: Tokens | None) -> Usage:
        used = process.fold.count_tokens(tokens, turn.prompt.chars)
        cost = 0.0 if self._setup.flat_rate else self._cost(process, turn)
        return Usage(
            input=used.input,
            cached=used.cached,
            output=used.output,
            cost_microusd=reported_microusd(cost),
            partial=True,  # ACP agents report the last model call, an estimate, or nothing
        )

    def _cost(self, process: TurnProcess, turn: Turn) -> float:
        """The turn's share of the total; 0 for a resumed conversation without an earlier total."""
        total, thread = process.fold.cost, process.thread
        if total is None:
            return 0.0
        before = self._costs.get(thread, 0.0 if thread != turn.thread else total)
        self._costs[thread] = total
        return max(0.0, total - before)

    def _local_time(self) -> LocalTime:
        now = self._clock.now()
        return LocalTime(now=now, local=UTC)  # the agent runs with TZ=UTC
