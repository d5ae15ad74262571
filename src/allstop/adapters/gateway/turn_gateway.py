"""The gateway of one turn: serves its box's loopback until the turn ends."""

from collections.abc import Mapping
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from allstop.adapters.gateway.box_server import BoxServer, remember
from allstop.adapters.gateway.http_connection import ConnectionEndError, HttpConnection, HttpRequest
from allstop.adapters.gateway.model_call import Metering, pass_call, pass_free, refuse
from allstop.adapters.gateway.tunnels import Tunnels
from allstop.metering.model_routes import Route, find_route
from allstop.metering.refusals import Answer, Refusal
from allstop.ports import GATEWAY_PORT

OwnAnswers: TypeAlias = Mapping[tuple[str, str], Answer]
"""What the gateway answers itself, by method and path."""


class TurnGateway(BoxServer):
    """Passes on calls to the turn's model, and with `tunnels` connections to other hosts."""

    def __init__(
        self,
        metering: Metering,
        tunnels: Tunnels | None = None,
        own_answers: OwnAnswers | None = None,
    ) -> None:
        super().__init__(GATEWAY_PORT, tunnels.saw_name if tunnels else lambda name: None)
        self.metering = metering
        self._tunnels = tunnels
        self._own_answers = own_answers or {}
        self.paths: list[str] = []  # requests that aren't allowed
        self.cut = 0  # calls that the end of the turn cut off
        self.late = 0  # calls after it

    async def _answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        target = self.metering.target
        route = find_route(target.provider, request.method, request.target)
        own = self._own_answers.get((request.method, request.target.partition("?")[0]))
        if self._is_over:
            self.late += 1
            await self._refuse_over(connection)
        elif request.is_upgrade:
            message = "this gateway speaks plain HTTP only"
            await refuse(connection, target, Refusal.NO_UPGRADE, message)
        elif request.is_compressed:
            message = "a compressed request can't be metered"
            await refuse(connection, target, Refusal.BAD_BODY, message)
        elif request.is_too_large:
            await refuse(connection, target, Refusal.TOO_LARGE, "the request is too large")
        elif own is not None:
            await connection.whole(own.status, own.headers, own.body)
        elif self._tunnels is not None and request.is_tunnel:
            with self._cut_at_end():
                await self._tunnels.open(connection, request)
        elif self._tunnels is not None and request.is_for_proxy:
            await self._tunnels.refuse_plain(connection, request)
        elif route is None:
            path = request.target.partition("?")[0][:100]
            remember(self.paths, f"{request.method} {path}")
            await refuse(connection, target, Refusal.NOT_ALLOWED, f"{path} is not allowed")
        else:
            await self._pass(connection, request, route)

    async def _pass(self, connection: HttpConnection, request: HttpRequest, route: Route) -> None:
        """Pass on a request, until the turn ends or the client closes the connection."""
        passes = pass_free if route.wire is None else pass_call
        is_gone = False
        with self._cut_at_end() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_when_closed, connection, group)
                try:
                    await passes(self.metering, connection, request, route)
                except ConnectionEndError:  # not through the group, which would wrap it
                    is_gone = True
                group.cancel_scope.cancel()
        if is_gone:
            raise ConnectionEndError
        if scope.cancelled_caught:
            self.cut += 1
            await self._refuse_over(connection)

    async def _refuse_over(self, connection: HttpConnection) -> None:
        if connection.is_answered:
            raise ConnectionEndError
        await refuse(connection, self.metering.target, Refusal.TURN_OVER, "this turn is over")


async def _cancel_when_closed(connection: HttpConnection, group: TaskGroup) -> None:
    await connection.until_closed()
    group.cancel_scope.cancel()
