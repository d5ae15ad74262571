"""An agent that is codex, behind its app-server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.api.call_usage import capped
from allstop.adapters.agents.api.error_kinds import without_key
from allstop.adapters.agents.api.token_prices import Tariff
from allstop.adapters.agents.codex.app_server import AppServer
from allstop.adapters.agents.codex.error_kinds import failed
from allstop.adapters.agents.codex.launch import Approvals, Setup, launch_of
from allstop.adapters.agents.codex.shared_server import SharedServer
from allstop.adapters.agents.codex.turn import Conversation, Params
from allstop.adapters.agents.codex.turn_fold import Ended
from allstop.adapters.agents.launch_failure import unstarted
from allstop.adapters.agents.rpc_peer import GoneError, RefusedError, SilentError
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.ports import (
    Abilities,
    Clock,
    Launcher,
    LaunchError,
    TokenCap,
    Turn,
    UnsafeError,
    Watch,
)

IN_USE = "already has an active writer"


class CodexAgent:
    """With a workspace each turn has a server of its own; without, all share one."""

    abilities = Abilities(
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
        token_cap=TokenCap.AFTER,
    )

    def __init__(
        self,
        setup: Setup,
        *,
        name: str,
        launcher: Launcher,
        clock: Clock,
        tariff: Callable[[str], Tariff] | None = None,
    ) -> None:
        """`tariff`: what a model costs, by its name; which one it is, codex tells."""
        self._setup = setup
        self._launcher = launcher
        self._clock = clock
        self._tariff = tariff
        self._shared = SharedServer(
            launcher, launch_of(setup, None, f"agent-{name}"), setup.answer_within_s
        )

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        try:
            async with self._server(turn) as server, server.pumped() as group:
                return await self._talk(server, turn, watch, group)
        except (LaunchError, UnsafeError) as error:
            return unstarted(error)

    async def close(self) -> None:
        await self._shared.close()

    @asynccontextmanager
    async def _server(self, turn: Turn) -> AsyncIterator[AppServer]:
        if turn.place is None:
            async with self._shared.lent() as server:
                yield server
            return
        launch = launch_of(self._setup, turn.place, turn.run)
        async with self._launcher.launch(launch) as child:
            yield AppServer(child, self._setup.answer_within_s)

    async def _talk(
        self, server: AppServer, turn: Turn, watch: Watch, group: TaskGroup
    ) -> TurnDone | Failed:
        is_free = self._setup.ruled and self._launcher.isolation.boxed and not turn.asks_first
        conversation = Conversation(server, turn, watch, is_free=is_free)
        try:
            await server.greet()
            await conversation.open(self._policy(turn))
            ended = await conversation.take(group)
        except GoneError as error:
            result = Failed(kind=FailureKind.CRASHED, message=error.message)
        except SilentError as error:
            server.give_up(error.message)
            result = Failed(kind=FailureKind.STALLED, message=error.message)
        except RefusedError as error:
            in_use = IN_USE in error.message
            kind = FailureKind.NETWORK if in_use else FailureKind.BAD_REQUEST
            result = Failed(kind=kind, message=error.message)
        else:
            await self._leave(conversation, server, turn)
            return self._result(conversation, ended, server)
        return replace(result, usage=self._usage(conversation))

    async def _leave(self, conversation: Conversation, server: AppServer, turn: Turn) -> None:
        """Nothing that the turn started goes on after it."""
        if turn.place is not None:
            await server.say_goodbye()
            return
        try:
            await conversation.clean()
        except (RefusedError, GoneError, SilentError) as error:
            server.give_up(error.message)

    def _result(
        self, conversation: Conversation, ended: Ended, server: AppServer
    ) -> TurnDone | Failed:
        usage = self._usage(conversation)
        if ended.status == "completed":
            return TurnDone(
                text=conversation.fold.text,
                thread=conversation.thread,
                usage=usage,
                signals=conversation.desk.signals,
            )
        if ended.status == "interrupted" and conversation.is_capped:
            return capped(usage, conversation.max_tokens)
        if ended.status == "interrupted":
            message = "codex interrupted the turn by itself"
            return Failed(kind=FailureKind.CRASHED, message=message, usage=usage)
        why = failed(ended.error, server.limits, self._clock.now())
        return replace(why, message=without_key(why.message, self._setup.key), usage=usage)

    def _policy(self, turn: Turn) -> Params:
        """Our box is the sandbox; where there is none, codex's own must do."""
        boxed = self._launcher.isolation.boxed
        own = "workspace-write" if turn.place else "read-only"
        asks_first = turn.asks_first or self._setup.ruled
        asks = Approvals.UNTRUSTED if asks_first else self._setup.approvals
        policy: Params = {
            "approvalPolicy": asks.value,
            "approvalsReviewer": "user",
            "sandbox": "danger-full-access" if boxed else own,
            "modelProvider": self._setup.provider,
        }
        return {**policy, "model": self._setup.model} if self._setup.model else policy

    def _usage(self, conversation: Conversation) -> Usage:
        spent, model = conversation.fold.spent, conversation.opened.model
        tariff = self._tariff(model) if self._tariff else None
        return Usage(
            input=spent.input,
            cached=spent.cached,
            output=spent.output,
            cost_microusd=tariff.microusd(spent, self._clock.now()) if tariff else 0,
            model=model if spent.input else "",
        )
