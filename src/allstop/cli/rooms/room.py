"""The command `room`: agents talk in this terminal, and a person can join in."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.output import FINISHED, STOPPED, WAITS, Context, code_of, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.rooms.driver import RoomDriver
    from allstop.app.rooms.threads import ThreadSnapshot
    from allstop.cli.rooms.screen import RoomScreen
    from allstop.core.ids import RunId
    from allstop.core.room_specs import SessionSpec
    from allstop.ports import Live
    from allstop.rooms.session import Summary


class RoomOptions(NamedTuple):
    goal: str | None
    mode: str = "collaborate"
    agents: tuple[str, ...] = ()
    first: str | None = None
    max_rounds: int | None = None
    respect_final: bool | None = None
    thread: str = "default"
    resume: bool = False
    instead: bool = False


@click.command()
@click.argument("goal", required=False)
@click.option(
    "--mode",
    type=click.Choice(["single", "collaborate", "autopilot"]),
    default="collaborate",
    show_default=True,
    help="One answer, a number of rounds, or until Allstop.",
)
@click.option("--agents", metavar="A,B", help="The agents of the room, in speaking order.")
@click.option("--first", metavar="NAME", help="The agent that speaks first.")
@click.option("--max-rounds", type=click.IntRange(1), help="Number of rounds in collaborate mode.")
@click.option(
    "--respect-final/--ignore-final",
    default=None,
    help="Whether an agent can end autopilot by saying it is done.",
)
@click.option("--thread", default="default", show_default=True, help="The thread of the room.")
@click.option("--resume", is_flag=True, help="Resume an interrupted session.")
@click.option("--instead", is_flag=True, help="End an interrupted session and start this one.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def room(
    context: Context,
    goal: str | None,
    mode: str,
    agents: str | None,
    first: str | None,
    max_rounds: int | None,
    respect_final: bool | None,
    thread: str,
    resume: bool,
    instead: bool,
    as_json: bool,
) -> int:
    """Let agents discuss a goal; you can join in.

    Type a message at any time; "Allstop" ends the session. Without GOAL, type @gpt and a
    question, or @router autopilot gpt claude: and a goal.

    \b
    Examples:
      allstop room "Agree on a database schema" --agents gpt,claude --max-rounds 3
      allstop room --resume
    """
    if resume and (goal is not None or instead):
        raise click.UsageError(
            "--resume continues a session; it can't be combined with GOAL or --instead"
        )
    names = tuple(name.strip() for name in (agents or "").split(",") if name.strip())
    options = RoomOptions(
        goal, mode, names, first, max_rounds, respect_final, thread, resume, instead
    )
    with context.project() as project:
        return run(lambda: run_room(project, options, as_json=as_json))


async def run_room(project: Project, options: RoomOptions, *, as_json: bool = False) -> int:
    import anyio

    from allstop.app.rooms.driver import room_driver
    from allstop.app.rooms.session_spec import start_request
    from allstop.app.rooms.threads import read
    from allstop.cli.queued_start import queue_start

    if options.goal is not None and not project.settings.loop.auto_execute:
        wanted = _spec(project, options)
        assert wanted is not None, "it has a goal"
        request = start_request(options.thread, wanted)
        return await queue_start(project, request, as_json=as_json)
    async with room_driver(project, options.thread) as driver:
        found = await read(project, options.thread)
        terminal = _TerminalSession(project, driver, found)
        spec = _spec(project, options)
        if spec is not None:  # slow, so it comes while Ctrl-C still ends the program
            driver.ensure_agents(spec.agents)
        with _screen(as_json=as_json) as screen, _signals() as signals:
            terminal.screen = screen
            driver.engine.view(terminal.live)
            async with anyio.create_task_group() as group:
                group.start_soon(terminal.show)
                leave = group.cancel_scope.cancel
                group.start_soon(terminal.handle_signals, signals, leave)
                await terminal.begin(options, spec)
                group.start_soon(terminal.handle_input, options.goal is None and not options.resume)
                await terminal.wait_until_over()
                group.cancel_scope.cancel()
            await terminal.catch_up()
            return terminal.exit_code()


def _screen(*, as_json: bool) -> AbstractContextManager[RoomScreen]:
    from allstop.cli.rooms.screen import JsonRoomScreen, PlainRoomScreen

    if as_json:
        return JsonRoomScreen()
    if all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        from allstop.cli.rooms.terminal import TerminalRoomScreen

        return TerminalRoomScreen()
    return PlainRoomScreen()


def _spec(project: Project, options: RoomOptions) -> SessionSpec | None:
    from allstop.app.rooms.session_spec import SessionRequest, session_spec
    from allstop.core.room_specs import TalkMode

    if options.goal is None:
        return None
    wish = SessionRequest(
        options.goal,
        TalkMode(options.mode),
        options.agents,
        options.first,
        options.max_rounds,
        options.respect_final,
    )
    return session_spec(project, wish)


def _signals() -> AbstractContextManager[AsyncIterator[signal.Signals]]:
    import anyio

    return anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)


class _TerminalSession:
    """Shows a room in this terminal and passes typed lines on."""

    screen: RoomScreen

    def __init__(self, project: Project, driver: RoomDriver, found: ThreadSnapshot) -> None:
        import anyio

        self._project = project
        self._driver = driver
        self._view = found.view
        self._before = found.room.last
        self._has_left = anyio.Event()  # nobody will type any more
        self._changed = anyio.Event()
        self._stays = False
        self._began = False
        self._is_paused = False  # by SIGTERM

    async def begin(self, options: RoomOptions, spec: SessionSpec | None) -> None:
        if options.resume:
            await self._driver.resume_session()
            self._began = True
        elif spec is not None:
            await self._driver.begin(spec, instead=options.instead)
            self._began = True
        else:
            self._stays = True
            self.screen.note(
                "Type @NAME and a question, or @router collaborate A B: GOAL; Ctrl-D leaves."
            )

    def live(self, run: RunId, live: Live) -> None:
        """Show streamed text of the open move, whose event may not have been shown yet."""
        from allstop.views.rooms import call_id

        state = self._driver.engine.state(run)
        move = state.open_move if state else None
        self.screen.live(live, call_id(self._driver.thread, move.id) if move else "")

    async def show(self) -> None:
        from allstop.app.runs.follow import follow

        async with follow(self._project.journal, self._driver.run, self._view.seq) as batches:
            async for batch in batches:
                for record in batch:
                    self._show_record(record.seq, record.event)

    def _show_record(self, seq: int, event: object) -> None:
        from allstop.core.events import Opened

        if isinstance(event, Opened) or seq <= self._view.seq:
            return
        for told in self._view.take(event):  # type: ignore[arg-type]
            self.screen.event(told)
        self.screen.show_status(self._view.room)
        self._changed.set()

    async def catch_up(self) -> None:
        """Show the last records: the room may rest before the follower has read them."""
        for record in await self._project.journal.read(self._driver.run, after=self._view.seq):
            self._show_record(record.seq, record.event)

    async def wait_until_over(self) -> None:
        """Wait until the session ends, or until only an absent person could continue it."""
        import anyio

        while True:
            await self._driver.engine.idle()
            run_state = self._driver.engine.state(self._driver.run)
            session = run_state.pilot.session if run_state else None
            if session is None and not self._stays and self._began:
                return
            if session is None and self._has_left.is_set():
                return
            if session is not None and not self.screen.is_interactive:
                return
            self._changed = anyio.Event()
            await self._changed.wait()

    async def handle_signals(
        self, signals: AsyncIterator[signal.Signals], leave: Callable[[], None]
    ) -> None:
        """Ctrl-C stops the session. SIGTERM pauses it, and the process ends."""
        from allstop.cli.interrupts import pause_and_leave

        async for number in signals:
            if number == signal.SIGTERM and self._view.room.session is not None:
                await pause_and_leave(self._pause, leave, self.screen.note)
            else:
                await self._stop(number.name)

    async def _pause(self, by: str) -> None:
        from allstop.core.commands import Pause

        await self._driver.engine.command(self._driver.run, Pause(), by=by)
        self._is_paused = True

    async def _stop(self, by: str) -> None:
        from allstop.app.rooms.threads import stop
        from allstop.app.stop.in_process import stop_one

        async def tell() -> None:
            reply = await stop(self._project, self._driver.thread, by)
            if not reply.stopped:
                self._leave()

        await stop_one(self._driver, tell, by, self.screen.note)

    def _leave(self) -> None:
        self._stays = False
        self._began = True
        self._has_left.set()
        self._changed.set()

    async def handle_input(self, stays: bool) -> None:
        from allstop.app.stop.in_process import stop_one
        from allstop.core.commands import is_allstop
        from allstop.core.errors import AllstopError

        async for line in self.screen.typed():
            heed = partial(self._handle_line, line)
            try:
                if is_allstop(line):
                    await stop_one(self._driver, heed, "user", self.screen.note)
                else:
                    await heed()
            except AllstopError as error:
                hint = f" ({error.hint})" if error.hint else ""
                self.screen.note(f"{error.message}{hint}")
        if stays:
            self._leave()

    async def _handle_line(self, line: str) -> None:
        from allstop.app.rooms.session_spec import start_request
        from allstop.app.rooms.threads import handle_input
        from allstop.app.runs.queued_starts import queue

        reply = await handle_input(self._project, self._driver.thread, line)
        if reply.began is not None and not self._project.settings.loop.auto_execute:
            queued = await queue(self._project, start_request(self._driver.thread, reply.began))
            self.screen.note(f"{queued} waits for approval: allstop approve {queued}")
        elif reply.began is not None:
            await self._driver.begin(reply.began)
            self._began = True
        elif reply.note:
            self.screen.note(reply.note)

    def _note_hold(self) -> bool:
        """Say how to continue if this or everything is held; return whether it is."""
        from allstop.core.helm import Hold

        command = f"allstop room --resume --thread {self._driver.thread}"
        if (hold := self._driver.engine.helm.hold) is Hold.NONE:
            if self._is_paused:
                self.screen.note(f"Paused. Continue: {command}")
            return self._is_paused
        command = f"allstop resume, then {command}"
        self.screen.note(f"Everything is {hold}. Continue: {command}")
        return True

    def exit_code(self) -> int:
        last = self._view.room.last
        if self._view.room.session is not None:
            return STOPPED if self._note_hold() else WAITS
        return exit_code(last) if last is not None and last is not self._before else FINISHED


def exit_code(summary: Summary) -> int:
    from allstop.kinds.room import outcome_of

    return code_of(outcome_of(summary))
