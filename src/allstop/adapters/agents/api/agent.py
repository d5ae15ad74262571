"""An agent that calls a model's API: one call per turn, without tools or a workspace."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

import anyio
from msgspec.structs import replace

from allstop.adapters.agents.account_windows import windows_in_headers
from allstop.adapters.agents.api import error_kinds
from allstop.adapters.agents.api.call_usage import TokenCounts, count_tokens
from allstop.adapters.agents.api.http_client import CallLimits, Endpoint
from allstop.adapters.agents.api.json_schemas import without_nulls
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import ModelRequest, build_request, prompt_tokens
from allstop.adapters.agents.api.token_prices import TokenPrice
from allstop.adapters.agents.no_conversations import CANNOT_FORK
from allstop.adapters.agents.provider_errors import Fault, failure_of
from allstop.adapters.agents.reset_times import LocalTime
from allstop.core.moves import Failed, FailureKind, ModelCall, TurnDone, Usage
from allstop.core.prompt import CacheLifetime
from allstop.core.text import one_line
from allstop.metering.call_reservation import Reservation, lacks_price, plan_call
from allstop.ports import Abilities, CallAccount, Clock, Left, Live, TokenCap, Turn, Watch

LINGER_S = 1.0
"""How long a provider may take to end its stream after the reply, to keep the connection."""

_INSTRUCTION = "Reply with one JSON object that fits this schema, and with nothing else:"

E = TypeVar("E")


_UNREACHED = frozenset({FailureKind.NETWORK, FailureKind.TIMED_OUT})
"""Failures of the connection: the message names the address."""


class ApiVariant(Protocol):
    """One API and one method to get structured replies from it."""

    @property
    def api(self) -> str: ...

    @property
    def schema_parameters(self) -> tuple[str, ...]:
        """Request parameters that carry the reply's schema; empty if only the text does."""
        ...

    async def send(self, request: ModelRequest, reply: Reply) -> None:
        """Return when the reply is complete; raise CallError if the call fails."""
        ...


class Client(Protocol):
    """Sends the requests of all variants."""

    last_headers: Mapping[str, str]
    last_status: int

    async def close(self) -> None: ...


Connected: TypeAlias = tuple[tuple[ApiVariant, ...], Client]
"""The variants of an API in the order to try, and their client."""


class ModelAgent:
    """Tries the variants of the API in order; drops one for good if the server doesn't support it."""

    abilities = Abilities(usage=True, structured=True, token_cap=TokenCap.EXACT)

    def __init__(
        self,
        connect: Callable[[Endpoint, CallLimits], Connected],
        endpoint: Endpoint,
        *,
        name: str,
        price: TokenPrice,
        clock: Clock,
        limits: CallLimits | None = None,
    ) -> None:
        self._limits = limits or CallLimits()
        self._variants, self._client = connect(endpoint, self._limits)
        self._name = name
        self._endpoint = endpoint
        self._price = price
        self._clock = clock

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        if turn.fork:
            return CANNOT_FORK
        request = build_request(turn, self._name)
        if isinstance(request, Failed):
            return request
        reply = Reply(watch.live, is_envelope=request.schema is not None)
        if turn.account is None:
            return await self._answer(request, reply, watch)
        reserved = await self._reserve(request, turn.account)
        if isinstance(reserved, Failed):
            return reserved
        number, reservation = reserved
        if reservation.output is not None:
            request = replace(request, max_output=reservation.output)
        used = self._usage(TokenCounts(input=reservation.input))  # if it is cancelled at once
        try:
            result = await self._answer(
                request, reply, watch, number, is_lowered=reservation.is_lowered
            )
            used = result.usage
        finally:
            turn.account.settle(
                number, self._usage(self._counts(request, reply)) if reply.started else used
            )
        return result

    async def _reserve(
        self, request: ModelRequest, account: CallAccount
    ) -> tuple[int, Reservation] | Failed:
        model, now = self._endpoint.model, self._clock.now()
        if account.left.microusd is not None and not self._price.is_bounded(now):
            return Failed(kind=FailureKind.OUT_OF_BUDGET, message=lacks_price(model))
        prompt = prompt_tokens(request)

        def plan(left: Left) -> Reservation | None:
            return plan_call(prompt, request.max_output, *left, self._most_microusd)

        if (reserved := await account.reserve(plan)) is not None:
            return reserved
        message = f"the prompt needs up to {prompt:,} tokens, more than the budget leaves"
        return Failed(kind=FailureKind.OUT_OF_BUDGET, message=message)

    def _most_microusd(self, total: int, output: int) -> int:
        return self._price.most_microusd(total, output, self._clock.now())

    async def _answer(
        self,
        request: ModelRequest,
        reply: Reply,
        watch: Watch,
        number: int = 0,
        *,
        is_lowered: bool = False,
    ) -> TurnDone | Failed:
        """`is_lowered`: a budget lowered the cap of the reply."""
        began = anyio.current_time()
        failed = await self._call(request, reply)
        headers = self._client.last_headers
        if windows := windows_in_headers(headers, self._clock.now()):
            watch.live(Live("limit", "", windows))
        counts = self._counts(request, reply)
        usage = self._usage(counts)
        call = ModelCall(
            model=self._endpoint.model,
            status=self._client.last_status,
            input=counts.input,
            cached=counts.cached,
            output=counts.output,
            reasoning=counts.reasoning,
            cost_microusd=None if usage.partial else usage.cost_microusd,
            first_ms=0 if reply.first_at is None else round((reply.first_at - began) * 1000),
            total_ms=round((anyio.current_time() - began) * 1000),
            request_id=one_line(
                headers.get("x-request-id") or headers.get("request-id") or "", 200
            ),
            number=number,
            cut=is_lowered and reply.is_cut,
            provider=self._endpoint.provider,
        )
        if failed is not None:
            return replace(failed, message=self._explained(failed), usage=usage, call=call)
        text = reply.text()
        return TurnDone(
            text=without_nulls(text, request.schema) if request.schema else text,
            usage=usage,
            call=call,
        )

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, request: ModelRequest, reply: Reply) -> Failed | None:
        try:
            with anyio.fail_after(self._limits.total_s):
                await self._send(request, reply)
            if not reply.text().strip():
                raise error_kinds.invalid_reply("the model's reply is empty")
        except TimeoutError:
            message = f"no complete answer within {self._limits.total_s:g} s"
            return Failed(kind=FailureKind.TIMED_OUT, message=message)
        except error_kinds.CallError as error:
            return failure_of(error.fault, LocalTime(now=self._clock.now()))
        return None

    async def _send(self, request: ModelRequest, reply: Reply) -> None:
        while True:
            variant = self._variants[0]
            try:
                await variant.send(request, reply)
            except error_kinds.CallError as error:
                left = tuple(
                    each for each in self._variants if not _is_ruled_out(each, variant, error.fault)
                )
                if not left or (left == self._variants and variant in left):
                    raise
                self._variants = left
            else:
                return

    def _counts(self, request: ModelRequest, reply: Reply) -> TokenCounts:
        if not reply.started:
            return TokenCounts()
        for_hour = request.lifetime is CacheLifetime.HOUR
        return count_tokens(reply.reported, request.chars, reply.chars, for_hour=for_hour)

    def _usage(self, used: TokenCounts) -> Usage:
        if used == TokenCounts():
            return Usage()
        return Usage(
            input=used.input,
            cached=used.cached,
            output=used.output,
            cost_microusd=self._price.microusd(used, self._clock.now()),
            model=self._endpoint.model,
            partial=not self._price.is_known(self._clock.now()),
        )

    def _explained(self, failed: Failed) -> str:
        message = error_kinds.redact_key(failed.message, self._endpoint.key)
        if failed.kind is FailureKind.AUTH and self._endpoint.key_name:
            message += f"; check the key in {self._endpoint.key_name}"
        where = f" at {self._endpoint.address}" if failed.kind in _UNREACHED else ""
        return f"{self._endpoint.model}{where}: {message}"


def _is_ruled_out(variant: ApiVariant, tried: ApiVariant, fault: Fault) -> bool:
    """Whether the error from the variant that was tried shows that this one can't work."""
    if error_kinds.is_unknown_path(fault):
        return variant.api == tried.api
    return variant is tried and error_kinds.rejects_parameters(fault, tried.schema_parameters)


async def read_stream(
    stream: AbstractAsyncContextManager[AsyncIterator[E]],
    take: Callable[[E, Reply], None],
    reply: Reply,
) -> None:
    """Read every event until the provider reports that the reply is complete."""
    with anyio.CancelScope() as scope:
        async with stream as events:
            reply.started = True
            async for event in events:
                if reply.first_at is None:
                    reply.first_at = anyio.current_time()
                take(event, reply)
                if reply.complete:
                    scope.deadline = anyio.current_time() + LINGER_S
    if not reply.complete:
        raise error_kinds.invalid_reply("the stream ended before the reply did")


def system_text(request: ModelRequest, variant: ApiVariant) -> str:
    """The system text, with the schema appended if no parameter carries it."""
    if request.schema is None or variant.schema_parameters:
        return request.system
    return "\n\n".join(filter(None, (request.system, _INSTRUCTION, json.dumps(request.schema))))


def get(value: object, *names: str) -> Any:
    """The value at a path of nested objects, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
