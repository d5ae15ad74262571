"""Opens the way to other hosts for boxes: of checks, of the setup command, and of agents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from allstop.adapters.agents.exception_groups import first_error
from allstop.core.moves import Failed, Item, TurnDone
from allstop.ports import (
    HOSTS_PORT,
    UNREACHED,
    Abilities,
    Agent,
    Box,
    Launcher,
    Live,
    OpenHosts,
    Turn,
    Watch,
)

if TYPE_CHECKING:
    from allstop.adapters.gateway.tunnels import Connect

REFUSED_ITEM = "gateway"


def proxy_variables(port: int) -> Mapping[str, str]:
    """The programs' variables for the proxy on the box's own loopback.

    Only for HTTPS: plain HTTP isn't passed on, and often goes to a server in the box itself.
    """
    proxy, own = f"http://127.0.0.1:{port}", "localhost,127.0.0.1,::1,127.0.0.0/8"
    names = {"HTTPS_PROXY": proxy, "NO_PROXY": own}
    lower = {name.lower(): value for name, value in names.items()}
    return {**names, **lower, "NODE_USE_ENV_PROXY": "1"}  # else node doesn't read the others


def hosts_opener(launcher: Launcher, table: str, connect: Connect | None = None) -> OpenHosts:
    """`table` of the settings has the hosts, for the sentences about those that lack."""

    @asynccontextmanager
    async def open_hosts(box: Box, tell: Callable[[str], None]) -> AsyncIterator[Box]:
        if box.hosts is None or not launcher.isolation.boxed:
            yield box
            return
        from allstop.adapters.gateway.hosts_gateway import HostsGateway
        from allstop.adapters.gateway.tunnels import Tunnels, connect_checked

        gateway = HostsGateway(Tunnels(box.hosts, table, tell, connect or connect_checked))
        env = {**box.env, **proxy_variables(HOSTS_PORT)}
        try:
            async with anyio.create_task_group() as group:
                with anyio.CancelScope(shield=True):  # cancelled before it has begun, it never ends
                    await group.start(gateway.run)
                try:
                    yield replace(box, gateway=gateway, env=env)
                finally:
                    gateway.close()
        except ExceptionGroup as failures:
            raise first_error(failures) from failures

    return open_hosts


class HostsAgent:
    """An agent without a gateway to its model, in a box that reaches the allowed hosts."""

    def __init__(self, agent: Agent, open_hosts: OpenHosts, *, fallback_box: Box) -> None:
        """`fallback_box` is for turns without a workspace."""
        self._agent = agent
        self._open_hosts = open_hosts
        self._fallback_box = fallback_box

    @property
    def abilities(self) -> Abilities:
        return self._agent.abilities

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        refused = list[str]()

        def tell(sentence: str) -> None:
            refused.append(sentence)
            watch.live(Live(UNREACHED, sentence))

        async with self._open_hosts(turn.place or self._fallback_box, tell) as box:
            result = await self._agent.take_turn(replace(turn, place=box), watch)
        for sentence in refused:
            await watch.saw(Item(kind=REFUSED_ITEM, text=sentence))
        return result

    async def close(self) -> None:
        await self._agent.close()
