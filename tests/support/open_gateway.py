"""Runs the gateway of one turn in the test's process, without a box."""

import socket
import ssl
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import httpx2

from allstop.adapters.gateway.model_call import Metering
from allstop.adapters.gateway.model_connection import Target, Upstream
from allstop.adapters.gateway.turn_gateway import TurnGateway
from allstop.engine.call_account import account_within
from allstop.metering.wire_formats import Provider
from allstop.ports import BoxSockets

KEY = "sk-real-key-that-no-box-sees"
PLACEHOLDER = "placeholder"


def loopback(kind):
    bound = socket.socket(socket.AF_INET, kind)
    bound.bind(("127.0.0.1", 0))
    if kind is socket.SOCK_STREAM:
        bound.listen(16)
    return bound


def lookup(name):
    """A query for the address of a name, as resolvers send it."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\x00\x00\x01\x00\x01"


@asynccontextmanager
async def open_gateway(
    base_url,
    *,
    provider=Provider.OPENAI,
    max_tokens=None,
    judge=lambda *_: None,
    limit=None,
    key=KEY,
    tls=None,
    is_capped=True,
    own_answers=None,
):
    """Its client, its records, and the addresses of its two sockets."""
    target = Target(provider=provider, base_url=base_url, key=key, is_capped=is_capped)
    reported = []

    seen = []

    async def held():
        return limit

    async def report(record):
        reported.append(record)

    metering = Metering(
        target,
        Upstream(target, tls or ssl.create_default_context()),
        account_within(max_tokens),
        judge=judge,
        held=held,
        seen=seen.append,
        report=report,
    )
    gateway = TurnGateway(metering, own_answers=own_answers)
    calls, names = loopback(socket.SOCK_STREAM), loopback(socket.SOCK_DGRAM)
    addresses = calls.getsockname(), names.getsockname()
    async with anyio.create_task_group() as group:
        await group.start(gateway.run)
        gateway.serve(BoxSockets(calls=calls.detach(), names=names.detach()))
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{addresses[0][1]}", trust_env=False, timeout=30
        ) as client:
            try:
                yield SimpleNamespace(
                    client=client,
                    gateway=gateway,
                    metering=metering,
                    records=reported,
                    seen=seen,
                    calls=addresses[0],
                    names=addresses[1],
                )
            finally:
                gateway.close()
                await metering.upstream.close()
