"""The gateway of a box that reaches other hosts, but no model: of a check, a setup or an agent."""

from allstop.adapters.gateway.box_server import BoxServer
from allstop.adapters.gateway.http_connection import HttpConnection, HttpRequest
from allstop.adapters.gateway.tunnels import Tunnels
from allstop.ports import HOSTS_PORT

HEADERS = (("content-type", "text/plain; charset=utf-8"), ("connection", "close"))


class HostsGateway(BoxServer):
    def __init__(self, tunnels: Tunnels) -> None:
        super().__init__(HOSTS_PORT, tunnels.saw_name)
        self._tunnels = tunnels

    async def _answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        if self._is_over:
            await connection.whole(410, HEADERS, b"Allstop: this program was stopped\n")
        elif request.is_tunnel:
            with self._cut_at_end():
                await self._tunnels.open(connection, request)
        elif request.is_for_proxy:
            await self._tunnels.refuse_plain(connection, request)
        else:
            await connection.whole(404, HEADERS, b"Allstop: this is a proxy for HTTPS\n")
