"""The codex agent: takes turns through codex's app-server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop import ports
from allstop.adapters.agents.api.call_usage import capped_turn
from allstop.adapters.agents.api.error_kinds import redact_key
from allstop.adapters.agents.api.token_prices import TokenPrice
from allstop.adapters.agents.codex.app_server import AppServer, SharedServer
from allstop.adapters.agents.codex.error_kinds import failure_of_turn
from allstop.adapters.agents.codex.launch import Approvals, Setup, build_launch
from allstop.adapters.agents.codex.turn import Conversation, Params
from allstop.adapters.agents.codex.turn_fold import Ended
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.rpc_peer import NoAnswerError, PeerGoneError, RequestFailedError
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage

IN_USE = "already has an active writer"


class CodexAgent:
    """Starts an app-server per turn in a workspace; turns without a workspace share one."""

    abilities = ports.Abilities(
        resume=True,
        fork=True,
        steer=True,
        asks=True,
        plan=True,
        diff=True,
        usage=True,
        structured=True,
        review=True,
        needs_box=True,
        token_cap=ports.TokenCap.AFTER,
        compact=True,
    )

    def __init__(
        self,
        setup: Setup,
        *,
        name: str,
        launcher: ports.Launcher,
        clock: ports.Clock,
        price_of: Callable[[str], TokenPrice] | None = None,
    ) -> None:
        """`price_of`: the price of a model by its name, which codex reports."""
        self._setup = setup
        self._launcher = launcher
        self._clock = clock
        self._price_of = price_of
        self._shared = SharedServer(
            launcher, build_launch(setup, None, f"agent-{name}"), setup.answer_within_s
        )

    async def take_turn(self, turn: ports.Turn, watch: ports.Watch) -> TurnDone | Failed:
        try:
            async with self._server(turn) as server, server.reading() as group:
                return await self._converse(server, turn, watch, group)
        except (ports.LaunchError, ports.UnsafeError) as error:
            return failed_launch(error)

    async def close(self) -> None:
        await self._shared.close()

    @asynccontextmanager
    async def _server(self, turn: ports.Turn) -> AsyncIterator[AppServer]:
        if turn.place is None:
            async with self._shared.borrow() as server:
                yield server
            return
        launch = build_launch(self._setup, turn.place, turn.run)
        async with self._launcher.launch(launch) as child:
            yield AppServer(child, self._setup.answer_within_s)

    async def _converse(
        self, server: AppServer, turn: ports.Turn, watch: ports.Watch, group: TaskGroup
    ) -> TurnDone | Failed:
        is_unrestricted = (
            self._setup.ruled and self._launcher.isolation.boxed and not turn.asks_first
        )
        conversation = Conversation(server, turn, watch, is_unrestricted=is_unrestricted)
        try:
            await server.initialize()
            await conversation.open(self._policy(turn))
            ended = await conversation.run(group)
        except PeerGoneError as error:
            result = Failed(kind=FailureKind.CRASHED, message=error.message)
        except NoAnswerError as error:
            server.give_up(error.message)
            result = Failed(kind=FailureKind.STALLED, message=error.message)
        except RequestFailedError as error:
            in_use = IN_USE in error.message
            kind = FailureKind.NETWORK if in_use else FailureKind.BAD_REQUEST
            result = Failed(kind=kind, message=error.message)
        else:
            await self._clean_up(conversation, server, turn)
            return self._result(conversation, ended, server, turn)
        return replace(result, usage=self._usage(conversation))

    async def _clean_up(
        self, conversation: Conversation, server: AppServer, turn: ports.Turn
    ) -> None:
        """End everything that the turn started."""
        if turn.place is not None:
            await server.close()
            return
        try:
            await conversation.end_commands()
        except (RequestFailedError, PeerGoneError, NoAnswerError) as error:
            server.give_up(error.message)

    def _result(
        self, conversation: Conversation, ended: Ended, server: AppServer, turn: ports.Turn
    ) -> TurnDone | Failed:
        usage = self._usage(conversation)
        if ended.status == "completed" and turn.compacts and not conversation.fold.has_compacted:
            message = "codex did not compact the conversation"
            return Failed(kind=FailureKind.BAD_REQUEST, message=message, usage=usage)
        if ended.status == "completed":
            return TurnDone(
                text=conversation.fold.text,
                thread=conversation.thread,
                usage=usage,
                signals=conversation.tools.signals,
                context=conversation.fold.context,
            )
        if ended.status == "interrupted" and conversation.is_capped:
            return capped_turn(usage, conversation.max_tokens)
        if ended.status == "interrupted":
            message = "codex interrupted the turn on its own"
            return Failed(kind=FailureKind.CRASHED, message=message, usage=usage)
        failure = failure_of_turn(ended.error, server.limits, self._clock.now())
        return replace(failure, message=redact_key(failure.message, self._setup.key), usage=usage)

    def _policy(self, turn: ports.Turn) -> Params:
        """The policy of the conversation; codex's own sandbox is used only without a box."""
        boxed = self._launcher.isolation.boxed
        own_sandbox = "workspace-write" if turn.place else "read-only"
        asks_first = turn.asks_first or self._setup.ruled
        asks = Approvals.UNTRUSTED if asks_first else self._setup.approvals
        policy: Params = {
            "approvalPolicy": asks.value,
            "approvalsReviewer": "user",
            "sandbox": "danger-full-access" if boxed else own_sandbox,
            "modelProvider": self._setup.provider,
        }
        return {**policy, "model": self._setup.model} if self._setup.model else policy

    def _usage(self, conversation: Conversation) -> Usage:
        used, model = conversation.fold.used, conversation.opened.model
        price = self._price_of(model) if self._price_of else None
        return Usage(
            input=used.input,
            cached=used.cached,
            output=used.output,
            cost_microusd=price.microusd(used, self._clock.now()) if price else 0,
            model=model if used.input else "",
            partial=price is not None and not price.is_known(self._clock.now()),
        )
