"""Tunnels from a box to other hosts (HTTP CONNECT): by name, without reading what passes."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress

import anyio
from anyio.abc import ByteStream

from allstop.adapters.gateway.http_connection import HttpConnection, HttpRequest
from allstop.adapters.gateway.socket_stream import connect_address
from allstop.addresses.resolved_address import RefusedError, Resolve, check_host, resolve
from allstop.policy.allowed_hosts import (
    TLS_PORT,
    Place,
    is_allowed,
    missing_rule,
    named_without_proxy,
    parse_place,
)
from allstop.policy.tls_server_name import OtherHostError, ServerNameCheck

CONNECT_TIMEOUT_S = 15.0
IDLE_S = 600.0
CHUNK = 64 * 1024
MAX_SHOWN_CHARS = 200
MAX_REFUSED = 50

Dial = Callable[[str, int], Awaitable[ByteStream]]
"""Connects to an address; raises OSError."""

Connect = Callable[[Place], Awaitable[ByteStream]]
"""Connects to an allowed place; raises UnreachableError."""


class UnreachableError(Exception):
    """An allowed host can't be connected to; the message says why."""


async def connect_checked(
    place: Place, resolve: Resolve = resolve, dial: Dial = connect_address
) -> ByteStream:
    """Connect to exactly an address that was checked: the name is looked up once."""
    try:
        with anyio.fail_after(CONNECT_TIMEOUT_S):
            addresses = await check_host(place.host, resolve)
            return await _dial_any([str(each) for each in addresses], place.port, dial)
    except RefusedError as error:
        raise UnreachableError(str(error)) from error
    except TimeoutError as error:
        raise UnreachableError("the connection timed out") from error
    except OSError as error:
        raise UnreachableError(f"the connection failed: {error.strerror or error}") from error


async def _dial_any(addresses: Sequence[str], port: int, dial: Dial) -> ByteStream:
    for address in addresses[:-1]:
        with suppress(OSError):
            return await dial(address, port)
    return await dial(addresses[-1], port)


class Tunnels:
    def __init__(
        self,
        rules: Sequence[str],
        table: str,
        tell: Callable[[str], None],
        connect: Connect = connect_checked,
    ) -> None:
        """`table` of the settings has the rules. `tell` gets a sentence for each refused host."""
        self._rules = rules
        self._table = table
        self._tell = tell
        self._connect = connect
        self._refused: set[str] = set()

    async def open(self, connection: HttpConnection, request: HttpRequest) -> None:
        """Answer a CONNECT request; returns when the tunnel is over."""
        place = parse_place(request.target)
        if place is None:
            shown = request.target[:MAX_SHOWN_CHARS]
            why = f"{shown} could not be reached: only names of hosts with a port are allowed"
            await self._refuse(connection, 403, shown, why)
            return
        if not is_allowed(place, self._rules):
            await self._refuse(connection, 403, str(place), missing_rule(place, self._table))
            return
        try:
            far = await self._connect(place)
        except UnreachableError as error:
            await self._refuse(
                connection, 502, str(place), f"{place} could not be reached: {error}"
            )
            return
        try:
            ahead = await connection.switch_protocol()
            await _pass_both_ways(connection.stream, far, ahead, ServerNameCheck(place.host))
        except OtherHostError as error:
            self._remember(f"{place} {error}", f"{place} could not be reached: {error}")
        finally:
            await anyio.aclose_forcefully(far)

    async def refuse_plain(self, connection: HttpConnection, request: HttpRequest) -> None:
        """Answer a request for a proxy of plain HTTP: there is none."""
        host = request.target.partition("://")[2].partition("/")[0][:MAX_SHOWN_CHARS]
        why = f"{host} could not be reached by plain HTTP: use https"
        await self._refuse(connection, 403, host, why)

    def saw_name(self, name: str) -> None:
        """A program looked up a name itself, instead of using the proxy."""
        if (
            parse_place(f"{name}:{TLS_PORT}") is not None
        ):  # else a name of this machine, or a search
            self._remember(name, named_without_proxy(name, self._rules, self._table))

    async def _refuse(self, connection: HttpConnection, status: int, place: str, why: str) -> None:
        self._remember(place, why)
        headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        await connection.whole(status, headers, f"Allstop: {why}\n".encode())

    def _remember(self, place: str, why: str) -> None:
        if place not in self._refused and len(self._refused) < MAX_REFUSED:
            self._refused.add(place)
            self._tell(why)


async def _pass_both_ways(
    box: ByteStream, far: ByteStream, ahead: bytes, check: ServerNameCheck
) -> None:
    """Until both ends have closed their side, one breaks, or nothing has passed for IDLE_S.

    Raises OtherHostError.
    """
    refused: list[OtherHostError] = []
    with anyio.move_on_after(IDLE_S) as idle:
        async with anyio.create_task_group() as group:

            async def copy(
                source: AsyncIterable[bytes], drain: ByteStream, passed: Callable[[bytes], bytes]
            ) -> None:
                try:
                    async for data in source:
                        idle.deadline = anyio.current_time() + IDLE_S
                        await drain.send(passed(data))
                    await drain.send_eof()
                except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                    group.cancel_scope.cancel()
                except OtherHostError as error:  # not through the group, which would wrap it
                    refused.append(error)
                    group.cancel_scope.cancel()

            group.start_soon(copy, _after(ahead, box), far, check.feed)
            group.start_soon(copy, far, box, bytes)
    if refused:
        raise refused[0]


async def _after(ahead: bytes, source: ByteStream) -> AsyncIterator[bytes]:
    if ahead:
        yield ahead
    async for data in source:
        yield data
