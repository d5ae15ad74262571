"""An agent whose turns reach their model only through the gateway."""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from allstop.adapters.agents.account_windows import windows_in_headers
from allstop.adapters.agents.api.call_usage import TokenCounts
from allstop.adapters.agents.exception_groups import first_error
from allstop.adapters.gateway.model_call import CallRecord, Metering
from allstop.adapters.gateway.model_connection import Target, Tokens, Upstream
from allstop.adapters.gateway.tunnels import Tunnels
from allstop.adapters.gateway.turn_gateway import OwnAnswers, TurnGateway
from allstop.app.gateway.account_limit import AccountLimit
from allstop.app.gateway.hosts import REFUSED_ITEM as REFUSED_ITEM
from allstop.app.gateway.hosts import proxy_variables
from allstop.app.gateway.money_limit import MoneyLimit
from allstop.core.moves import Failed, FailureKind, Item, ModelCall, TurnDone, Usage
from allstop.core.run import usage_of_call
from allstop.core.text import counted, one_line
from allstop.engine.call_account import account_within
from allstop.ports import (
    GATEWAY_PORT,
    LATE_CALLS,
    UNREACHED,
    Abilities,
    Agent,
    Box,
    Clock,
    Live,
    Network,
    TokenCap,
    Turn,
    Watch,
)
from allstop.views.model_calls import describe_call

if TYPE_CHECKING:
    from allstop.adapters.agents.api.token_prices import TokenPrice
    from allstop.app.gateway.kept_calls import KeptCalls

CALL_ITEM = "model call"
MAX_NAME_CHARS = 200
"""Of a model or a request's id, which the box and the provider choose."""


Meet = Callable[[str, Failed], Awaitable[None]]
"""Holds the account of a run that has met a limit with a known end."""


ALLOW = '; network = "allow" in [sandbox] opens the hosts that you list'

GRACE_S = 5.0
"""What an agent has to end its turn by itself."""

_OF_MODEL = frozenset(
    {
        *(FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.BILLING),
        *(FailureKind.OVERLOADED, FailureKind.AUTH, FailureKind.CONTEXT, FailureKind.NETWORK),
        *(FailureKind.BAD_REQUEST, FailureKind.EXITED, FailureKind.CRASHED),
    }
)
"""Failures that a failed call of the model may have caused."""


class GatewayAgent:
    """Gives each turn of an agent a gateway of its own, in a box without a network."""

    def __init__(
        self,
        agent: Agent,
        target: Target,
        tls: ssl.SSLContext,
        *,
        clock: Clock,
        fallback_box: Box,
        price_of: Callable[[str], TokenPrice],
        held_now: Callable[[str], Awaitable[Failed | None]],
        meet: Meet | None = None,
        kept: KeptCalls | None = None,
        grace_s: float = GRACE_S,
        hosts: tuple[str, ...] = (),
        without_network: Callable[[Box], Box] = lambda box: replace(box, network=Network.NONE),
        login: Tokens | None = None,
        own_answers: OwnAnswers | None = None,
    ) -> None:
        """`fallback_box` is for turns without a workspace; `hosts` are reached besides the model.

        `login` stands for the key of `target`.
        """
        self._agent = agent
        self._target = target
        self._tls = tls
        self._login = login
        self._own_answers = own_answers
        self._clock = clock
        self._fallback_box = fallback_box
        self._price_of = price_of
        self._held_now = held_now
        self._meet = meet
        self._kept = kept
        self._grace_s = grace_s
        self._hosts = hosts
        self._without_network = without_network

    @property
    def abilities(self) -> Abilities:
        """As of the agent, and every call is measured, and capped if its provider allows it."""
        cap = TokenCap.EXACT if self._target.is_capped else TokenCap.AFTER
        return replace(self._agent.abilities, usage=True, token_cap=cap)

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        limit = AccountLimit(self._clock, lambda: self._held_now(turn.run))

        told: set[int] = set()

        async def report(record: CallRecord) -> None:
            told.add(id(record))
            call = self._measured(record)
            item = Item(kind=CALL_ITEM, text=describe_call(call), call=call)
            watch.live(Live(item.kind, item.text))
            await watch.saw(item)

        def see(headers: Mapping[str, str]) -> None:
            if windows := windows_in_headers(headers, self._clock.now()):
                watch.live(Live("limit", "", windows))

        account = turn.account or account_within(turn.max_tokens)
        money = MoneyLimit(
            account,
            is_priced=lambda model: self._price_of(model).is_known(self._clock.now()),
            is_free=lambda model: self._price_of(model).highest_price(self._clock.now()) == 0,
        )
        metering = Metering(
            self._target,
            Upstream(self._target, self._tls, self._login),
            account,
            judge=limit.judge,
            lost=limit.lost,
            held=limit.held,
            seen=see,
            report=report,
            keep=partial(self._kept.keep, turn.run) if self._kept else None,
            unpaid=money.unpaid,
            cost_of=lambda model, total, output: self._price_of(model).most_microusd(
                total, output, self._clock.now()
            ),
            usage_of=lambda record: usage_of_call(self._measured(record)),
        )
        unreached: list[str] = []

        def tell_unreached(sentence: str) -> None:
            unreached.append(sentence)
            watch.live(Live(UNREACHED, sentence))

        tunnels = Tunnels(self._hosts, "sandbox", tell_unreached) if self._hosts else None
        gateway = TurnGateway(metering, tunnels, self._own_answers)
        box = self._without_network(turn.place or self._fallback_box)
        box = replace(box, gateway=gateway)
        if self._hosts:
            box = replace(box, env={**box.env, **proxy_variables(GATEWAY_PORT)})
        try:
            result = await self._take_turn(replace(turn, place=box), watch, gateway, limit)
        finally:
            _tell_late(gateway, watch)
        for record in metering.records:
            if id(record) not in told:  # its program ended with the reply
                await report(record)
        await self._tell_refused(gateway, unreached, watch)
        return self._settled(result, metering, limit, lacks_price=money.lacks_price)

    async def _take_turn(
        self, turn: Turn, watch: Watch, gateway: TurnGateway, limit: AccountLimit
    ) -> TurnDone | Failed:
        try:
            async with anyio.create_task_group() as group:
                with anyio.CancelScope(shield=True):  # cancelled before it has begun, it never ends
                    await group.start(gateway.run)
                try:
                    result = await self._until_hopeless(turn, watch, gateway.metering, limit)
                finally:
                    gateway.close()
                    await gateway.metering.upstream.close()
        except ExceptionGroup as failures:
            raise first_error(failures) from failures
        return result

    async def _until_hopeless(
        self, turn: Turn, watch: Watch, metering: Metering, limit: AccountLimit
    ) -> TurnDone | Failed:
        """End the agent a while after no call can go well any more: some try for ever.

        Calls of other boxes are held at once, not only when this turn has ended.
        """
        result: TurnDone | Failed = Failed(
            kind=FailureKind.EXITED, message="the agent went on calling its model without success"
        )
        async with anyio.create_task_group() as group:

            async def end() -> None:
                await metering.hopeless.wait()
                if self._meet and limit.failed is not None and limit.failed.retry_at is not None:
                    await self._meet(turn.run, limit.failed)
                await anyio.sleep(self._grace_s)
                group.cancel_scope.cancel()

            group.start_soon(end)
            result = await self._agent.take_turn(turn, watch)
            group.cancel_scope.cancel()
        return result

    async def close(self) -> None:
        await self._agent.close()

    async def _tell_refused(
        self, gateway: TurnGateway, unreached: Iterable[str], watch: Watch
    ) -> None:
        for sentence in (*unreached, *(f"refused: {why}" for why in gateway.metering.fetches)):
            await watch.saw(Item(kind=REFUSED_ITEM, text=one_line(sentence, 500)))
        names = [] if self._hosts else gateway.names  # each has a sentence already
        for what, refused, hint in (("names", names, ALLOW), ("requests", gateway.paths, "")):
            if refused:
                text = one_line(f"refused {what}: {', '.join(refused)}", 500)
                await watch.saw(Item(kind=REFUSED_ITEM, text=text + hint))

    def _settled(
        self,
        result: TurnDone | Failed,
        metering: Metering,
        limit: AccountLimit,
        *,
        lacks_price: bool,
    ) -> TurnDone | Failed:
        """The result with the usage that the gateway has measured, and its own reason to end."""
        usage = self._usage(metering.records)
        if isinstance(result, TurnDone):
            has_worked = metering.went_well and metering.failing < 2
            if has_worked or not metering.failing or limit.last is None:
                return replace(result, usage=usage)
            result = limit.last
        if limit.failed is not None:
            result = limit.failed
        elif metering.over:
            # without a call or a price, another turn would end in the same way
            is_capped = any(record.usage.tokens for record in metering.records) and not lacks_price
            kind = FailureKind.CAPPED if is_capped else FailureKind.OUT_OF_BUDGET
            result = Failed(kind=kind, message=metering.over)
        elif metering.failing and limit.last is not None and result.kind in _OF_MODEL:
            result = _clearer(result, limit.last)
        return replace(result, usage=usage)

    def _usage(self, records: Iterable[CallRecord]) -> Usage:
        made, now = list(records), self._clock.now()
        used = Counter[str]()
        for record in made:
            used[record.model] += record.usage.tokens
        prices = {model: self._price_of(model) for model in used}
        return Usage(
            input=sum(record.usage.input for record in made),
            cached=sum(record.usage.cached for record in made),
            output=sum(record.usage.output for record in made),
            cost_microusd=sum(_cost(record, prices[record.model], now) for record in made),
            model=max(used, key=lambda model: used[model], default=""),
            partial=not all(price.is_known(now) for price in prices.values()),
        )

    def _measured(self, record: CallRecord) -> ModelCall:
        now, price, usage = self._clock.now(), self._price_of(record.model), record.usage
        return ModelCall(
            model=one_line(record.model, MAX_NAME_CHARS),
            status=record.status,
            input=usage.input,
            cached=usage.cached,
            output=usage.output,
            reasoning=usage.reasoning,
            cost_microusd=_cost(record, price, now) if price.is_known(now) else None,
            first_ms=record.first_ms,
            total_ms=record.total_ms,
            request_id=one_line(record.request_id, MAX_NAME_CHARS),
            cut=record.is_cut,
            estimated=record.is_estimated,
            number=record.number,
            provider=self._target.name,
        )


def _clearer(told: Failed, known: Failed) -> Failed:
    """The agent's failure, corrected by what its provider said."""
    if told.kind is not known.kind:
        return known
    return replace(told, retry_at=told.retry_at or known.retry_at)


def _tell_late(gateway: TurnGateway, watch: Watch) -> None:
    """If a stop ended the turn, its receipt has these calls."""
    counts = (
        (gateway.cut, f"{counted(gateway.cut, 'model call')} cut off"),
        (gateway.late, f"{counted(gateway.late, 'model call')} refused after the end"),
    )
    if told := [text for number, text in counts if number]:
        watch.live(Live(LATE_CALLS, ", ".join(told)))


def _cost(record: CallRecord, price: TokenPrice, at: datetime) -> int:
    usage = record.usage
    counts = TokenCounts(
        input=usage.input,
        cached=usage.cached,
        written=usage.written,
        output=usage.output,
        for_hour=usage.for_hour,
    )
    return price.microusd(counts, at)
