"""One model call on its way through the gateway: reserved, passed on, measured and settled."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.gateway.box_server import remember
from allstop.adapters.gateway.http_connection import ConnectionEndError, HttpConnection, HttpRequest
from allstop.adapters.gateway.model_connection import (
    LoginError,
    Target,
    Upstream,
    UpstreamError,
    UpstreamReply,
)
from allstop.core.moves import Usage
from allstop.metering.call_reservation import (
    CallEstimates,
    Reservation,
    most_input_of,
    usage_of,
)
from allstop.metering.event_stream import EventDecoder, EventTooLargeError
from allstop.metering.model_routes import Route
from allstop.metering.refusals import Refusal, answer
from allstop.metering.request_body import (
    BodyError,
    FetchError,
    ModelCall,
    check_free,
    parsed_bytes,
    read_call,
    write_body,
)
from allstop.metering.usage import CallUsage, UsageReader
from allstop.ports import CallAccount, Left

MAX_REPLY_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024

ALONE_S = 300.0
"""A call waits so long to be alone. Others may be reserved for by a process that has died."""

MAX_FAILING = 4
"""Calls that fail one after the other, before the turn is over: some agents try for ever."""


class CallRecord(Struct, frozen=True, kw_only=True):
    """A model call that was sent."""

    model: str
    status: int  # HTTP; 0: there was no answer
    usage: CallUsage = CallUsage()
    first_ms: int = 0  # until the first piece of the reply
    total_ms: int = 0
    request_id: str = ""
    is_cut: bool = False  # the reply ended at the output cap that the budget left
    is_estimated: bool = False  # the provider reported no usable numbers
    number: int = 0  # of its reservation


class Limit(NamedTuple):
    """A limit of the account, by which the provider or another run is held."""

    message: str
    wait_s: float | None  # None: long, or unknown; the turn ends


Judge = Callable[[int, Mapping[str, str], bytes], Limit | None]
"""Tells from an error's status, headers and body whether the account is limited."""

Lost = Callable[[UpstreamError], None]
"""Gets the error of a call that the provider didn't answer, or not to its end."""

Held = Callable[[], Awaitable[Limit | None]]
"""The limit that the account has now, by another run."""

Seen = Callable[[Mapping[str, str]], None]
"""Gets the headers of each answer of the provider, which may tell limits."""

Unpaid = Callable[[ModelCall], str]
"""Tells why the limits on money don't allow a call; "" if they do."""

CostOf = Callable[[str, int, int], int]
"""The most that a model's call of so many tokens of input and output can cost."""

UsageOf = Callable[[CallRecord], Usage]
"""The usage of a call with its cost."""

Report = Callable[[CallRecord], Awaitable[None]]

Keep = Callable[[CallRecord, bytes, bytes], Awaitable[None]]
"""Keeps a call with the body that was sent and the beginning of the reply."""

MAX_KEPT_BYTES = 4 * 1024 * 1024


class Metering:
    """What the calls of one turn share."""

    def __init__(
        self,
        target: Target,
        upstream: Upstream,
        account: CallAccount,
        *,
        judge: Judge,
        lost: Lost = lambda error: None,
        held: Held,
        seen: Seen,
        report: Report,
        keep: Keep | None = None,
        unpaid: Unpaid = lambda call: "",
        cost_of: CostOf = lambda model, total, output: 0,
        usage_of: UsageOf = lambda record: Usage(
            input=record.usage.input, output=record.usage.output
        ),
    ) -> None:
        self.target = target
        self.upstream = upstream
        self.account = account
        self.estimates = CallEstimates()
        self.judge = judge
        self.lost = lost
        self.held = held
        self.seen = seen
        self.report = report
        self.keep = keep
        self.unpaid = unpaid
        self.usage_of = usage_of
        self._cost_of = cost_of
        self.records: list[CallRecord] = []
        self.fetches: list[str] = []  # what the provider was asked to go to other hosts for
        self.over = ""  # why the budget refused a call, or cut one
        self.limit: Limit | None = None  # of the account; it ends the turn
        self.failing = 0  # calls that failed since the last one that went well
        self.went_well = 0
        self.hopeless = anyio.Event()  # set when no further call of the turn can go well
        self._reading = anyio.Lock()

    async def read(self, route: Route, body: bytes) -> ModelCall:
        """Read one body at a time, so that many large ones don't delay a stop.

        Raises BodyError.
        """
        async with self._reading:
            await checkpoint()
            return read_call(route, body)

    async def check_free(self, body: bytes) -> None:
        """Raises BodyError."""
        async with self._reading:
            await checkpoint()
            check_free(body)

    def end(self, why: str) -> None:
        """Allow no further call: the budget is used up."""
        self.over = why
        self.hopeless.set()

    def fail(self, error: UpstreamError | None = None) -> None:
        """Count a failed call. `error`: if the provider didn't answer it to its end."""
        if error is not None:
            self.lost(error)
        self.failing += 1
        if self.failing >= MAX_FAILING:
            self.hopeless.set()

    def succeed(self) -> None:
        self.failing = 0
        self.went_well += 1

    def without_key(self, body: bytes) -> bytes:
        """An error's body without the key: some servers repeat it."""
        for secret in (self.target.key, self.upstream.token):
            if len(secret) > 8:
                body = body.replace(secret.encode(), b"[the key]")
        return body

    async def reserve(self, call: ModelCall) -> tuple[int, Reservation] | None:
        """Reserve the call, after those under way if need be; None: over the budget.

        A call whose tokens may turn out to be more than it reserves is made only while no other is
        under way, so that all of them together pass a budget by no more than one call.
        """

        has_waited = False

        def cost(total: int, output: int) -> int:
            return self._cost_of(call.model, total, output)

        def plan(left: Left) -> Reservation | None:
            is_alone = left == self.account.left_if_settled
            planned = self.estimates.plan(call, *left, cost, is_alone=is_alone or has_waited)
            if planned is None or self.target.is_capped or not planned.is_lowered:
                return planned
            return planned if is_alone else None

        reserved = None
        with anyio.move_on_after(ALONE_S) as wait:
            reserved = await self.account.reserve(plan)
        if wait.cancelled_caught:
            has_waited = True
            reserved = await self.account.reserve(plan)
        if reserved is None or self.target.is_capped:
            return reserved
        number, reservation = reserved
        return number, replace(reservation, output=None, is_lowered=False)

    def why_over(self, call: ModelCall) -> str:
        """Why the budget has no room for a call."""
        tokens, microusd = self.account.left
        total, parts = self.estimates.input_of(call.size), []
        used = sum(record.usage.tokens for record in self.records)
        if tokens is not None:
            parts.append(f"{max(0, tokens):,} tokens")
        if microusd is not None:
            parts.append(f"${max(0, microusd) / 1e6:.4f}")
        cost = self._cost_of(call.model, total, 0)
        return (
            f"the turn has used {used:,} tokens, its budget leaves {' and '.join(parts)}, and its "
            f"next call needs about {total:,} tokens"
            + (f" (${cost / 1e6:.4f})" if microusd is not None else "")
            + " for the input alone"
        )


async def refuse(
    connection: HttpConnection,
    target: Target,
    refusal: Refusal,
    message: str,
    retry_after_s: int | None = None,
) -> None:
    given = answer(target.provider, refusal, f"Allstop: {message}", retry_after_s=retry_after_s)
    await connection.whole(given.status, given.headers, given.body)


async def pass_free(
    metering: Metering, connection: HttpConnection, request: HttpRequest, route: Route
) -> None:
    """Pass on a request that costs nothing."""
    try:
        await metering.check_free(request.body)
    except BodyError as error:
        await _refuse_body(metering, connection, error)
        return
    sent = metering.upstream.send(request.method, route.path, request.headers, request.body)
    try:
        async with sent as reply:
            if reply.status >= 400:
                await _pass_error(metering, connection, reply, await _beginning(reply))
            else:
                await _forward(connection, reply, None)
    except UpstreamError as error:
        await _fail(metering, connection, error)


async def pass_call(
    metering: Metering, connection: HttpConnection, request: HttpRequest, route: Route
) -> None:
    """Pass on a model call, as far as the budget and the account allow."""
    needed = parsed_bytes(request.body)
    if not connection.room.take(needed):
        message = "too many large requests at the same time"
        await refuse(connection, metering.target, Refusal.TOO_LARGE, message)
        return
    try:
        made = await _prepared(metering, connection, request, route)
    finally:
        connection.room.give_back(needed)
    if made is not None:
        await _make(metering, made, request, route)


async def _prepared(
    metering: Metering, connection: HttpConnection, request: HttpRequest, route: Route
) -> _Call | None:
    """The call with its reservation; None if it was refused."""
    try:
        call = await metering.read(route, request.body)
    except BodyError as error:
        await _refuse_body(metering, connection, error)
        return None
    if (limit := metering.limit or await metering.held()) is not None:
        await _refuse_limited(metering, connection, limit)
        return None
    if unpaid := metering.unpaid(call):
        metering.end(unpaid)
        await refuse(connection, metering.target, Refusal.OVER_BUDGET, unpaid)
        return None
    if (reserved := await metering.reserve(call)) is None:
        metering.end(metering.why_over(call))
        await refuse(connection, metering.target, Refusal.OVER_BUDGET, metering.over)
        return None
    try:
        return _Call(metering, connection, call, *reserved)
    except BodyError as error:
        metering.account.settle(reserved[0], Usage())
        await _refuse_body(metering, connection, error)
        return None


async def _make(metering: Metering, made: _Call, request: HttpRequest, route: Route) -> None:
    number, call = made.record.number, made.call
    try:
        await made.run(request, route)
    finally:
        record = made.record
        metering.account.settle(number, metering.usage_of(record))
        metering.estimates.learn(call, record.usage)
        metering.records.append(record)
        if metering.keep is not None:
            with anyio.CancelScope(shield=True):
                await metering.keep(record, made.sent, bytes(made.received))
    await metering.report(record)


class _Call:
    def __init__(
        self,
        metering: Metering,
        connection: HttpConnection,
        call: ModelCall,
        number: int,
        reservation: Reservation,
    ) -> None:
        self._metering = metering
        self._connection = connection
        self._reservation = reservation
        self._reader = UsageReader(call.wire)
        self._began = anyio.current_time()
        self._first_ms = 0
        self.record = CallRecord(model=call.model, status=0, number=number)
        is_vendors = metering.target.is_vendors
        self.sent = write_body(call, reservation.output, is_vendors=is_vendors)
        self.call = replace(call, body={})  # it isn't needed any more, and may be large
        self.received = bytearray()  # its beginning, if calls are kept

    async def run(self, request: HttpRequest, route: Route) -> None:
        metering = self._metering
        sent = metering.upstream.send("POST", route.path, request.headers, self.sent)
        try:
            async with sent as reply:
                metering.seen(reply.headers)
                if reply.status >= 400:
                    await self._pass_error(reply)
                else:
                    await self._pass_reply(reply)
        except UpstreamError as error:
            metering.fail(error)
            if isinstance(error, LoginError):
                metering.hopeless.set()
            await _fail(metering, self._connection, error)
        except anyio.get_cancelled_exc_class():
            if not self.record.status:  # the provider may have read all of it
                has_left = self._connection.has_left
                most = most_input_of(self.call.size) if has_left else self._reservation.input
                usage = CallUsage(input=most)
                self.record = replace(self.record, usage=usage, is_estimated=True)
            raise

    async def _pass_reply(self, reply: UpstreamReply) -> None:
        if reply.is_page:
            raise UpstreamError("the server sent a web page instead of an API response")
        self._charge(reply)  # even if it is cut at once, its input counts
        try:
            await _forward(self._connection, reply, self._meter(reply))
        finally:
            self._charge(reply)
        self._judge_reply()

    def _judge_reply(self) -> None:
        """Count the reply as failed if it is an error, or has no end."""
        metering, reader = self._metering, self._reader
        if reader.error is not None:
            metering.judge(0, {}, json.dumps({"error": reader.error}).encode())
            metering.fail()
        elif reader.is_complete or reader.finish:
            metering.succeed()
        else:
            metering.fail(UpstreamError("the reply broke off, or is no reply of a model"))

    def _meter(self, reply: UpstreamReply) -> _ReplyMeter:
        received = None if self._metering.keep is None else self.received
        return _ReplyMeter(self._reader, self._on_first, received, is_stream=reply.is_stream)

    def _on_first(self) -> None:
        self._first_ms = self._ms()

    def _charge(self, reply: UpstreamReply) -> None:
        reported = self._reader.reported
        usage = usage_of(
            reported,
            self._reservation,
            self.call,
            self._reader.chars,
            has_left=self._connection.has_left,
        )
        is_cut = self._reservation.is_lowered and self._reader.was_cut
        self._answered(reply)
        self.record = replace(
            self.record,
            usage=usage,
            first_ms=self._first_ms,
            is_cut=is_cut,
            is_estimated=(reported.input, reported.output) != (usage.input, usage.output),
        )
        if is_cut:
            self._metering.over = "a reply was cut off at the end of the budget"

    def _answered(self, reply: UpstreamReply) -> None:
        self.record = replace(
            self.record,
            status=reply.status,
            total_ms=self._ms(),
            request_id=reply.request_id,
        )

    async def _pass_error(self, reply: UpstreamReply) -> None:
        """An error costs nothing. One by which the account is limited for long ends the turn."""
        body = await _beginning(reply)
        self.received += body
        self._answered(reply)
        limit = self._metering.judge(reply.status, reply.headers, body)
        self._metering.fail()
        if limit is not None and limit.wait_s is None:
            await _refuse_limited(self._metering, self._connection, limit)
            return
        await _pass_error(self._metering, self._connection, reply, body)

    def _ms(self) -> int:
        return round((anyio.current_time() - self._began) * 1000)


class _ReplyMeter:
    """Feeds a reply's bytes to the reader of usage."""

    def __init__(
        self,
        reader: UsageReader,
        on_first: Callable[[], None],
        received: bytearray | None,
        *,
        is_stream: bool,
    ) -> None:
        """`received` gets the beginning of the reply."""
        self._reader = reader
        self._on_first = on_first
        self._received = received
        self._events = EventDecoder() if is_stream else None
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Raises UpstreamError if the reply is too large."""
        if not self._size:
            self._on_first()
        self._size += len(chunk)
        if self._size > MAX_REPLY_BYTES:
            raise UpstreamError(f"the reply is larger than {MAX_REPLY_BYTES:,} bytes")
        if self._received is not None:
            self._received += chunk[: max(0, MAX_KEPT_BYTES - len(self._received))]
        if self._events is None:
            self._pieces.append(chunk)
            return
        try:
            for data in self._events.feed(chunk):
                self._reader.event(data)
        except EventTooLargeError as error:
            raise UpstreamError(str(error)) from error

    def end(self) -> None:
        if self._events is None:
            self._reader.whole(b"".join(self._pieces))


async def _forward(
    connection: HttpConnection, reply: UpstreamReply, meter: _ReplyMeter | None
) -> None:
    """Pass on a reply as it comes; a slow client slows the provider down."""
    await connection.head(reply.status, reply.passed_headers)
    async for chunk in reply.chunks:
        if meter is not None:
            meter.feed(chunk)
        await connection.data(chunk)
    if meter is not None:
        meter.end()
    await connection.end()


async def _pass_error(
    metering: Metering, connection: HttpConnection, reply: UpstreamReply, body: bytes
) -> None:
    headers = [pair for pair in reply.passed_headers if pair[0] != "content-length"]
    await connection.whole(reply.status, headers, metering.without_key(body))


async def _refuse_body(metering: Metering, connection: HttpConnection, error: BodyError) -> None:
    if isinstance(error, FetchError):
        remember(metering.fetches, str(error))
    await refuse(connection, metering.target, Refusal.BAD_BODY, str(error))


async def _refuse_limited(metering: Metering, connection: HttpConnection, limit: Limit) -> None:
    if limit.wait_s is None:
        metering.limit = limit
        metering.hopeless.set()
        await refuse(connection, metering.target, Refusal.OVER_BUDGET, limit.message)
    else:
        wait_s = max(1, round(limit.wait_s + 0.5))
        await refuse(connection, metering.target, Refusal.HELD, limit.message, wait_s)


async def _fail(metering: Metering, connection: HttpConnection, error: UpstreamError) -> None:
    if connection.is_answered:  # the client notices that the reply is incomplete
        raise ConnectionEndError from error
    is_logged_out = isinstance(error, LoginError)
    refusal = Refusal.LOGGED_OUT if is_logged_out else Refusal.UNREACHABLE
    await refuse(connection, metering.target, refusal, str(error))


async def _beginning(reply: UpstreamReply) -> bytes:
    body = bytearray()
    async for chunk in reply.chunks:
        body += chunk
        if len(body) >= MAX_ERROR_BYTES:
            break
    return bytes(body[:MAX_ERROR_BYTES])
