"""The control room as a process: listens, drives, and lets everybody go when it is told to end."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import anyio
import uvicorn

from allstop.adapters.live_text import LiveTextReceiver, receive_live_text
from allstop.adapters.processes.socket_owner.connection_peers import ConnectionPeers
from allstop.app.control_room import claim_control_room
from allstop.app.live_runs import LiveRuns
from allstop.app.live_text import LISTENERS_FOLDER, LiveText
from allstop.app.runs.rewind import Rewinder
from allstop.app.supervisor import RunKinds, Supervisor, start_supervisor
from allstop.app.usage import TurnReader
from allstop.core.errors import AllstopError
from allstop.ports import Live
from allstop.server import static_files
from allstop.server.access import admission
from allstop.server.access.credentials import OneTimeKeys, kept_token
from allstop.server.access.idle_connections import PunctualProtocol
from allstop.server.access.listen_address import check_reach, listening, terms_of, url_of
from allstop.server.app_state import Desk
from allstop.server.guard import Guard, Locks
from allstop.server.log_file import logging_to
from allstop.server.settings_reload import SettingsKeeper
from allstop.server.site import Site
from allstop.server.stream.broadcast import Hub
from allstop.server.stream.frames import Place
from allstop.server.stream.recent_events import Ring
from allstop.server.stream.view_changes import Changes

if TYPE_CHECKING:
    from allstop.app.project import Project
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


Say = Callable[[str], None]


async def serve(
    project: Project, kinds: RunKinds, say: Say, tell_ready: Callable[[Ready], None]
) -> None:
    """Until it is told to end.

    Raises:
        AllstopError: it can't be had here, or there is one already.
    """
    wishes = project.settings.server
    check_reach(wishes)
    with (
        claim_control_room(project.folder) as announcement,
        logging_to(project.folder / "logs" / "server.log", lambda: project.secrets),
        listening(wishes.host, wishes.port) as listener,
    ):
        port = listener.getsockname()[1]
        url, locks = url_of(wishes, port), _locks(project, wishes, port)
        async with (
            _desk(project, kinds, locks.keys, say) as desk,
            anyio.create_task_group() as group,
        ):
            site = Site(desk, static_files.files_in(static_files.FOLDER))
            server = _server(Guard(site, locks), wishes)
            group.start_soon(_heed_signals, desk.hub, server)
            announcement.publish(url)
            tell_ready(Ready(url, f"{url}/?key={locks.keys.make()}"))
            await server.serve(sockets=[listener])
            group.cancel_scope.cancel()


@asynccontextmanager
async def _desk(
    project: Project, kinds: RunKinds, keys: OneTimeKeys, say: Say
) -> AsyncIterator[Desk]:
    """Everything that answers are made from, at work for as long as the block lasts."""
    live_runs = LiveRuns(project)
    await live_runs.begin()
    changes = Changes(live_runs)
    await changes.begin()
    ring = Ring(Place(live_runs.pos, time.time_ns() // 1_000_000))
    hub = Hub(live_runs, changes, ring)
    live_runs.subscribe(hub.hear)
    async with start_supervisor(project, kinds, say) as driver, anyio.create_task_group() as group:
        keeper = SettingsKeeper(project, say, driver.settings_changed)
        driver.view(LiveText(project.kinds, driver.engine, hub.show).show)
        with receive_live_text(project.folder / LISTENERS_FOLDER) as receiver:
            for work in (live_runs.follow, hub.beat, keeper.keep, driver.remove_old_workspaces):
                group.start_soon(work)
            group.start_soon(_overhear, receiver, hub)
            group.start_soon(_go_on, driver, say)
            rewinder, turns = Rewinder(project.journal, project.kinds), TurnReader(project.journal)
            yield Desk(project, driver, live_runs, hub, keys, keeper, rewinder, turns)
            group.cancel_scope.cancel()


async def _go_on(driver: Supervisor, say: Say) -> None:
    """Boards go on by themselves after a crash or a restart; all else waits for a person."""
    try:
        if await driver.resume_interrupted_board():
            say("The board goes on: it was at work when its process ended.")
    except AllstopError as error:
        say(f"The board does not go on by itself: {error.message}")


async def _overhear(receiver: LiveTextReceiver, hub: Hub) -> None:
    """What is being said in runs that other processes drive."""
    while True:
        for run, kind, call, text in await receiver.receive():
            hub.show(run, Live(kind, text), call)


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
            h11_max_incomplete_event_size=admission.LONGEST_TARGET + admission.LONGEST_HEADERS,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=5,
            ssl_certfile=wishes.tls_cert,
            ssl_keyfile=wishes.tls_key,
        )
    )


def _locks(project: Project, wishes: Wishes, port: int) -> Locks:
    return Locks(
        terms=terms_of(wishes, port),
        token=kept_token(project.folder / "token"),
        keys=OneTimeKeys(),
        cookie=f"allstop-{port}",
        is_secure=bool(wishes.tls_cert or wishes.behind_proxy),
        is_agent=ConnectionPeers().comes_from_agent,
    )
