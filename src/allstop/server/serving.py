"""The control room as a process: listens, drives, and lets everybody go when it is told to end."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import uvicorn

from allstop.app.announcing import room_for_one
from allstop.app.station import station
from allstop.app.watching import Watcher
from allstop.core.errors import AllstopError
from allstop.server import door, pages
from allstop.server.changes import Changes
from allstop.server.desk import Desk
from allstop.server.frames import Place
from allstop.server.guard import Guard, Locks
from allstop.server.hub import Hub
from allstop.server.keys import OneTimeKeys, kept_token
from allstop.server.logs import logging_to
from allstop.server.punctual import PunctualProtocol
from allstop.server.ring import Ring
from allstop.server.site import Site
from allstop.server.upkeep import SettingsKeeper

if TYPE_CHECKING:
    from allstop.app.house import House
    from allstop.settings.model.host import Server as Wishes

MOST_CONNECTIONS = 4096

log = logging.getLogger("allstop.server")


class Ready(NamedTuple):
    """It listens."""

    url: str
    link: str  # lets a browser in, once


class _Server(uvicorn.Server):
    """Signals are ours: those who listen to the stream must be let go first."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    house: House, say: Callable[[str], None], tell_ready: Callable[[Ready], None]
) -> None:
    """Until it is told to end.

    Raises:
        AllstopError: it can't be had here, or there is one already.
    """
    wishes = house.settings.server
    check_reach(wishes)
    with (
        room_for_one(house.folder) as announcement,
        logging_to(house.folder / "logs" / "server.log", lambda: house.secrets),
        _listening(wishes.host, wishes.port) as listener,
    ):
        port = listener.getsockname()[1]
        url = _url(wishes, port)
        locks = _locks(house, wishes, port)
        watcher = Watcher(house)
        await watcher.begin()
        changes = Changes(watcher)
        await changes.begin()
        ring = Ring(Place(watcher.pos, time.time_ns() // 1_000_000))
        hub = Hub(watcher, changes, ring, lambda: house.secrets)
        watcher.tell(hub.hear)
        keeper = SettingsKeeper(house, say)
        async with station(house, say) as driver, anyio.create_task_group() as group:
            driver.view(hub.show)
            desk = Desk(house, driver, watcher, hub, locks.keys, keeper)
            server = _server(Guard(Site(desk, pages.files_in(pages.FOLDER)), locks), wishes)
            group.start_soon(watcher.follow)
            group.start_soon(hub.beat)
            group.start_soon(keeper.keep)
            group.start_soon(_heed_signals, hub, server)
            announcement.say(url)
            tell_ready(Ready(url, f"{url}/?key={locks.keys.make()}"))
            await server.serve(sockets=[listener])
            group.cancel_scope.cancel()


async def _heed_signals(hub: Hub, server: _Server) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            server.force_exit = server.should_exit  # the second one waits for nobody
            server.should_exit = True
            hub.close()


def _server(app: Guard, wishes: Wishes) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=PunctualProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=door.LONGEST_TARGET + door.LONGEST_HEADERS,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=5,
            ssl_certfile=wishes.tls_cert,
            ssl_keyfile=wishes.tls_key,
        )
    )


def _locks(house: House, wishes: Wishes, port: int) -> Locks:
    names = ["127.0.0.1", "localhost", "[::1]", *([] if _is_any(wishes.host) else [wishes.host])]
    terms = door.terms(names, port, "https" if wishes.tls_cert else "http")
    if wishes.hosts:
        terms = _more_names(terms, wishes.hosts, port)
    return Locks(
        terms=terms,
        token=kept_token(house.folder / "token"),
        keys=OneTimeKeys(),
        cookie=f"allstop-{port}",
        is_secure=bool(wishes.tls_cert),
    )


def _more_names(terms: door.Terms, names: tuple[str, ...], port: int) -> door.Terms:
    """By these a proxy may call, on the usual ports of the web, with TLS."""
    more = [door.terms(names, each, scheme) for each, scheme in ((443, "https"), (port, "https"))]
    return door.Terms(
        terms.hosts.union(*(each.hosts for each in more)),
        terms.origins.union(*(each.origins for each in more)),
    )


def check_reach(wishes: Wishes) -> None:
    """Raises AllstopError where other machines could listen in."""
    if bool(wishes.tls_cert) != bool(wishes.tls_key):
        raise AllstopError("TLS needs both a certificate and its key", "[server] tls_cert, tls_key")
    for file in (wishes.tls_cert, wishes.tls_key):
        if file and not Path(file).is_file():
            raise AllstopError(f"there is no file {file}", "[server] tls_cert and tls_key name it")
    if _is_loopback(wishes.host) or wishes.tls_cert or wishes.behind_proxy:
        return
    hint = "set [server] tls_cert and tls_key, or behind_proxy = true if a proxy of yours does TLS"
    raise AllstopError(f"{wishes.host} can be reached by others, and there is no TLS", hint)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::", "*")  # noqa: S104 - it is looked for, not used


def _url(wishes: Wishes, port: int) -> str:
    host = "127.0.0.1" if _is_any(wishes.host) else wishes.host
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if wishes.tls_cert else 'http'}://{name}:{port}"


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """The protocol is named because asyncio sends small answers at once only where it is."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _not_listening(host, port, error) from error
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(2048)
        except OSError as error:
            raise _not_listening(host, port, error) from error
        listener.settimeout(0)
        yield listener


def _not_listening(host: str, port: int, error: OSError) -> AllstopError:
    hint = "name another port: allstop up --port 0 takes any that is free"
    return AllstopError(f"can't listen on {host} port {port}: {error.strerror}", hint)
