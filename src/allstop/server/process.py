"""The server process: listens, drives runs, and ends all streams when it gets a signal."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio
import uvicorn

from allstop.adapters.live_text import LiveTextReceiver, receive_live_text
from allstop.adapters.processes.socket_owner.connection_peers import ConnectionPeers
from allstop.app.control_room import claim_control_room
from allstop.app.live_runs import LiveRuns
from allstop.app.live_text import LISTENERS_FOLDER, LiveText
from allstop.app.machines import introduce
from allstop.app.runs.rewind import Rewinder
from allstop.app.supervisor import RunKinds, Supervisor, start_supervisor
from allstop.app.turns import TurnReader
from allstop.core.errors import AllstopError
from allstop.ports import Live, PositionedRecord
from allstop.server import static_files
from allstop.server.access import admission
from allstop.server.access.credentials import OneTimeKeys, load_or_create_token
from allstop.server.access.idle_connections import TimeoutProtocol
from allstop.server.access.listen_address import allowed_by, check_tls, listening, url_of
from allstop.server.app_state import AppState
from allstop.server.guard import AccessControl, Guard
from allstop.server.log_file import logging_to
from allstop.server.router import Site
from allstop.server.settings_reload import SettingsReloader
from allstop.server.stream.broadcast import Broadcast
from allstop.server.stream.frames import Position
from allstop.server.stream.recent_events import RecentEvents
from allstop.server.stream.view_changes import ViewChanges
from allstop.views.machines import CONTROL_ROOM
from allstop.views.model_calls import CallTotals

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model.machine import Server as ServerSettings

MAX_CONNECTIONS = 4096

log = logging.getLogger("allstop.server")


class Ready(NamedTuple):
    url: str
    link: str  # signs a browser in, once


class _Server(uvicorn.Server):
    """Leaves signals to `_handle_signals`, which ends the event streams first."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


Say = Callable[[str], None]


async def serve(
    project: Project, kinds: RunKinds, say: Say, tell_ready: Callable[[Ready], None]
) -> None:
    """Serve until a signal comes.

    Raises AllstopError if the settings don't allow it, or a server already runs for this project.
    """
    settings = project.settings.server
    check_tls(settings)
    with (
        claim_control_room(project.folder) as announcement,
        logging_to(project.folder / "logs" / "server.log", lambda: project.secrets),
        listening(settings.host, settings.port) as listener,
    ):
        port = listener.getsockname()[1]
        url, access = url_of(settings, port), _access(project, settings, port)
        async with (
            _app_state(project, kinds, access.keys, say) as state,
            anyio.create_task_group() as group,
        ):
            site = Site(state, static_files.load_files(static_files.FOLDER))
            server = _server(Guard(site, access), settings)
            group.start_soon(_handle_signals, state.broadcast, server)
            announcement.publish(url)
            tell_ready(Ready(url, f"{url}/?key={access.keys.make()}"))
            await server.serve(sockets=[listener])
            group.cancel_scope.cancel()


@asynccontextmanager
async def _app_state(
    project: Project, kinds: RunKinds, keys: OneTimeKeys, say: Say
) -> AsyncIterator[AppState]:
    """Make the state that requests use; its background tasks run until the block ends."""
    live_runs = LiveRuns(project)
    await live_runs.begin()
    await introduce(project, CONTROL_ROOM)
    changes = ViewChanges(live_runs)
    await changes.begin()
    recent = RecentEvents(Position(live_runs.pos, time.time_ns() // 1_000_000))
    broadcast = Broadcast(live_runs, changes, recent)
    live_runs.subscribe(broadcast.add_records)
    call_totals = CallTotals()
    live_runs.subscribe(partial(_count_calls, call_totals))
    listeners = project.folder / LISTENERS_FOLDER
    # the socket outlives its reader: another one could get its number otherwise
    async with start_supervisor(project, kinds, say) as driver:
        with receive_live_text(listeners) as receiver:
            async with anyio.create_task_group() as group:
                reloader = SettingsReloader(project, say, driver.settings_changed)
                driver.view(LiveText(project.kinds, driver.engine, broadcast.add_text).show)
                for work in (
                    live_runs.follow,
                    broadcast.run,
                    reloader.watch,
                    driver.remove_old_workspaces,
                ):
                    group.start_soon(work)
                group.start_soon(_forward_live_text, receiver, broadcast)
                group.start_soon(_resume_board, driver, say)
                rewinder = Rewinder(project.journal, project.kinds)
                turns = TurnReader(project.journal)
                yield AppState(
                    project,
                    driver,
                    live_runs,
                    broadcast,
                    keys,
                    reloader,
                    rewinder,
                    turns,
                    call_totals,
                )
                group.cancel_scope.cancel()


def _count_calls(totals: CallTotals, placed: Sequence[PositionedRecord]) -> None:
    for _, record in placed:
        totals.take(record.run, record.event)


async def _resume_board(driver: Supervisor, say: Say) -> None:
    """Resume the board after a crash or a restart; other runs wait for a person.

    In a fleet, also if the control room that drives it ends.
    """
    await _try_to_resume(driver.resume_interrupted_board, say)
    while driver.project.shared_remote:
        await _try_to_resume(driver.take_over_board, say)


async def _try_to_resume(resume: Callable[[], Awaitable[bool]], say: Say) -> None:
    try:
        if await resume():
            say("The board continues: it was running when its process ended.")
    except AllstopError as error:
        say(f"The board can't continue by itself: {error.message}")


async def _forward_live_text(receiver: LiveTextReceiver, broadcast: Broadcast) -> None:
    """Forward the live text of runs that other processes drive."""
    while True:
        for run, kind, call, text in await receiver.receive():
            broadcast.add_text(run, Live(kind, text), call)


async def _handle_signals(broadcast: Broadcast, server: _Server) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            server.force_exit = server.should_exit  # a second signal ends it at once
            server.should_exit = True
            broadcast.close()


def _server(app: Guard, settings: ServerSettings) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=TimeoutProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=admission.MAX_TARGET_CHARS + admission.MAX_HEADER_CHARS,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=5,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
        )
    )


def _access(project: Project, settings: ServerSettings, port: int) -> AccessControl:
    return AccessControl(
        allowed_names=allowed_by(settings, port),
        token=load_or_create_token(project.folder / "token"),
        keys=OneTimeKeys(),
        cookie=f"allstop-{port}",
        is_secure=bool(settings.tls_cert or settings.behind_proxy),
        is_agent=ConnectionPeers().comes_from_agent,
    )
