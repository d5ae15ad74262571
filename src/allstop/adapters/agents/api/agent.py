"""An agent that is a model behind an API: a turn is one call, with no tools and no workspace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

import anyio
from msgspec.structs import replace

from allstop.adapters.agents.api.call_usage import spent
from allstop.adapters.agents.api.error_kinds import (
    CallError,
    Fault,
    broken,
    is_no_such_place,
    rejects,
    verdict,
    without_key,
)
from allstop.adapters.agents.api.http_client import Bounds, Endpoint
from allstop.adapters.agents.api.json_schemas import without_nulls
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import Question, ask
from allstop.adapters.agents.api.token_prices import Tariff
from allstop.adapters.agents.no_conversations import NO_COPY
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.core.prompt import CacheLifetime
from allstop.ports import Abilities, Clock, TokenCap, Turn, Watch

LINGER_S = 1.0
"""What a provider has, after the reply, to end its stream so that the connection can be kept."""

_INSTRUCTION = "Reply with one JSON object that fits this schema, and with nothing else:"

E = TypeVar("E")


class Way(Protocol):
    """One way to ask a model."""

    @property
    def api(self) -> str: ...

    @property
    def shaped_by(self) -> tuple[str, ...]:
        """The parameters that give the reply its shape; none where only words ask for it."""
        ...

    async def ask(self, question: Question, reply: Reply) -> None:
        """Return once the reply is complete; raise CallError if it never will be."""
        ...


class ModelAgent:
    """Knows several ways, the best first. One that its server does not know is never tried again."""

    abilities = Abilities(usage=True, structured=True, token_cap=TokenCap.EXACT)

    def __init__(
        self,
        ways: tuple[Way, ...],
        *,
        name: str,
        endpoint: Endpoint,
        tariff: Tariff,
        clock: Clock,
        bounds: Bounds,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._ways = ways
        self._name = name
        self._endpoint = endpoint
        self._tariff = tariff
        self._clock = clock
        self._bounds = bounds
        self._close = close

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        if turn.fork:
            return NO_COPY
        question = ask(turn, self._name)
        if isinstance(question, Failed):
            return question
        reply = Reply(watch.live, is_envelope=question.schema is not None)
        failed = await self._call(question, reply)
        usage = self._usage(question, reply)
        if failed is not None:
            return replace(failed, message=self._explained(failed), usage=usage)
        text = reply.text()
        return TurnDone(
            text=without_nulls(text, question.schema) if question.schema else text, usage=usage
        )

    async def close(self) -> None:
        await self._close()

    async def _call(self, question: Question, reply: Reply) -> Failed | None:
        try:
            with anyio.fail_after(self._bounds.total_s):
                await self._ask(question, reply)
            if not reply.text().strip():
                raise broken("the model said nothing")
        except TimeoutError:
            message = f"no complete answer within {self._bounds.total_s:g} s"
            return Failed(kind=FailureKind.TIMED_OUT, message=message)
        except CallError as error:
            return verdict(error.fault, self._clock.now())
        return None

    async def _ask(self, question: Question, reply: Reply) -> None:
        while True:
            way = self._ways[0]
            try:
                await way.ask(question, reply)
            except CallError as error:
                left = tuple(w for w in self._ways if not _is_closed(w, way, error.fault))
                if not left or (left == self._ways and way in left):
                    raise
                self._ways = left
            else:
                return

    def _usage(self, question: Question, reply: Reply) -> Usage:
        if not reply.begun:
            return Usage()
        for_hour = question.lifetime is CacheLifetime.HOUR
        used = spent(reply.reported, question.chars, reply.chars, for_hour=for_hour)
        return Usage(
            input=used.input,
            cached=used.cached,
            output=used.output,
            cost_microusd=self._tariff.microusd(used, self._clock.now()),
            model=self._endpoint.model,
        )

    def _explained(self, failed: Failed) -> str:
        message = without_key(failed.message, self._endpoint.key)
        if failed.kind is FailureKind.AUTH and self._endpoint.key_name:
            message += f"; the key is the one in {self._endpoint.key_name}"
        return f"{self._endpoint.model}: {message}"


def _is_closed(way: Way, tried: Way, fault: Fault) -> bool:
    """Whether the answer to the way that was tried says that this one leads nowhere."""
    if is_no_such_place(fault):
        return way.api == tried.api
    return way is tried and rejects(fault, tried.shaped_by)


async def read(
    stream: AbstractAsyncContextManager[AsyncIterator[E]],
    take: Callable[[E, Reply], None],
    reply: Reply,
) -> None:
    """Every event, until the provider has said that the reply is complete."""
    reply.begun = True
    with anyio.CancelScope() as rest:
        async with stream as events:
            async for event in events:
                take(event, reply)
                if reply.complete:
                    rest.deadline = anyio.current_time() + LINGER_S
    if not reply.complete:
        raise broken("the stream ended before the reply did")


def told_in_words(question: Question, way: Way) -> str:
    """The system text; with the schema in it where no parameter carries it."""
    if question.schema is None or way.shaped_by:
        return question.system
    return "\n\n".join(filter(None, (question.system, _INSTRUCTION, json.dumps(question.schema))))


def field(value: object, *names: str) -> Any:
    """What is at the end of a path; None where it is not there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
