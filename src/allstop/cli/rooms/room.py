"""A room in the terminal: agents that talk, and a person who can say something at any time."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.output import FAILED, FINISHED, LIMIT, STOPPED, WAITS, Context, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.rooms.driver import RoomDriver
    from allstop.app.rooms.threads import ThreadSnapshot
    from allstop.cli.rooms.screen import RoomScreen
    from allstop.core.ids import RunId
    from allstop.core.room_specs import Ending, SessionSpec
    from allstop.ports import Live
    from allstop.rooms.session import Summary


class Asked(NamedTuple):
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
    help="One answer; so many rounds; or until Allstop.",
)
@click.option("--agents", metavar="A,B", help="Who sits in the room, in the order of speaking.")
@click.option("--first", metavar="NAME", help="Who speaks first.")
@click.option("--max-rounds", type=click.IntRange(1), help="Rounds after which Collaborate ends.")
@click.option(
    "--respect-final/--ignore-final",
    default=None,
    help="Whether an agent that says it is done ends Autopilot.",
)
@click.option("--thread", default="default", show_default=True, help="Which talk of the room.")
@click.option("--resume", is_flag=True, help="Go on with a session that was interrupted.")
@click.option("--instead", is_flag=True, help="End an interrupted session and begin this one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event and line.")
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
    """Let agents talk about GOAL. What you type is heard; "Allstop" ends it.

    Without GOAL, type: @gpt and a question, or @router autopilot gpt claude: and a goal.
    """
    if resume and (goal is not None or instead):
        raise click.UsageError("--resume goes on with a session; it takes no GOAL")
    names = tuple(name.strip() for name in (agents or "").split(",") if name.strip())
    asked = Asked(goal, mode, names, first, max_rounds, respect_final, thread, resume, instead)
    with context.project() as project:
        return run(lambda: talk(project, asked, as_json=as_json))


async def talk(project: Project, asked: Asked, *, as_json: bool = False) -> int:
    import anyio

    from allstop.app.rooms.driver import room_driver
    from allstop.app.rooms.threads import read

    async with room_driver(project, asked.thread) as place:
        found = await read(project, asked.thread)
        sitting = _Sitting(project, place, found)
        spec = _spec(project, asked)
        if spec is not None:  # this takes its time, and Ctrl-C still ends everything
            place.ensure_agents(spec.agents)
        with _screen(as_json=as_json) as screen, _signals() as signals:
            sitting.screen = screen
            place.engine.view(sitting.live)
            async with anyio.create_task_group() as group:
                group.start_soon(sitting.show)
                group.start_soon(sitting.heed_signals, signals)
                await sitting.begin(asked, spec)
                group.start_soon(sitting.heed_typing, asked.goal is None and not asked.resume)
                await sitting.over()
                group.cancel_scope.cancel()
            await sitting.catch_up()
            return sitting.exit_code()


def _screen(*, as_json: bool) -> AbstractContextManager[RoomScreen]:
    from allstop.cli.rooms.screen import JsonRoomScreen, PlainRoomScreen

    if as_json:
        return JsonRoomScreen()
    if all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        from allstop.cli.rooms.terminal import TerminalRoomScreen

        return TerminalRoomScreen()
    return PlainRoomScreen()


def _spec(project: Project, asked: Asked) -> SessionSpec | None:
    from allstop.app.rooms.session_spec import SessionRequest, session_spec
    from allstop.core.room_specs import TalkMode

    if asked.goal is None:
        return None
    wish = SessionRequest(
        asked.goal,
        TalkMode(asked.mode),
        asked.agents,
        asked.first,
        asked.max_rounds,
        asked.respect_final,
    )
    return session_spec(project, wish)


def _signals() -> AbstractContextManager[AsyncIterator[signal.Signals]]:
    import anyio

    return anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)


class _Sitting:
    """One process's part in a room."""

    screen: RoomScreen

    def __init__(self, project: Project, place: RoomDriver, found: ThreadSnapshot) -> None:
        import anyio

        self._project = project
        self._place = place
        self._view = found.view
        self._before = found.room.last
        self._leaving = anyio.Event()  # nobody will type any more
        self._stirred = anyio.Event()
        self._stays = False
        self._began = False

    async def begin(self, asked: Asked, spec: SessionSpec | None) -> None:
        if asked.resume:
            await self._place.resume_session()
            self._began = True
        elif spec is not None:
            await self._place.begin(spec, instead=asked.instead)
            self._began = True
        else:
            self._stays = True
            self.screen.note(
                "Type @NAME and a question, or @router collaborate A B: GOAL; Ctrl-D leaves."
            )

    def live(self, run: RunId, live: Live) -> None:
        """Words of the move that is under way; it may not have been shown yet."""
        from allstop.views.rooms import call_id

        state = self._place.engine.state(run)
        move = state.open_move if state else None
        self.screen.live(live, call_id(self._place.thread, move.id) if move else "")

    async def show(self) -> None:
        from allstop.app.runs.follow import follow

        async with follow(self._project.journal, self._place.run, self._view.seq) as batches:
            async for batch in batches:
                for record in batch:
                    self._take(record.seq, record.event)

    def _take(self, seq: int, event: object) -> None:
        from allstop.core.events import Opened

        if isinstance(event, Opened) or seq <= self._view.seq:
            return
        for told in self._view.take(event):  # type: ignore[arg-type]
            self.screen.event(told)
        self.screen.standing(self._view.room)
        self._stirred.set()

    async def catch_up(self) -> None:
        """Show the last of it: the room may have come to rest before it was followed."""
        for record in await self._project.journal.read(self._place.run, after=self._view.seq):
            self._take(record.seq, record.event)

    async def over(self) -> None:
        """Wait until the session is, or until only a person who isn't here could go on."""
        import anyio

        while True:
            await self._place.engine.idle()
            run_state = self._place.engine.state(self._place.run)
            session = run_state.pilot.session if run_state else None
            if session is None and not self._stays and self._began:
                return
            if session is None and self._leaving.is_set():
                return
            if session is not None and not self.screen.is_interactive:
                return
            self._stirred = anyio.Event()
            await self._stirred.wait()

    async def heed_signals(self, signals: AsyncIterator[signal.Signals]) -> None:
        async for number in signals:
            await self._stop(number.name)

    async def _stop(self, by: str) -> None:
        from allstop.app.rooms.threads import stop
        from allstop.app.stop.in_process import stop_one

        async def tell() -> None:
            heard = await stop(self._project, self._place.thread, by)
            if not heard.stopped:
                self._leave()

        await stop_one(self._place, tell, by, self.screen.note)

    def _leave(self) -> None:
        self._stays = False
        self._began = True
        self._leaving.set()
        self._stirred.set()

    async def heed_typing(self, stays: bool) -> None:
        from allstop.app.stop.in_process import stop_one
        from allstop.core.commands import is_allstop
        from allstop.core.errors import AllstopError

        async for line in self.screen.typed():
            heed = partial(self._heed_line, line)
            try:
                if is_allstop(line):
                    await stop_one(self._place, heed, "user", self.screen.note)
                else:
                    await heed()
            except AllstopError as error:
                hint = f" ({error.hint})" if error.hint else ""
                self.screen.note(f"{error.message}{hint}")
        if stays:
            self._leave()

    async def _heed_line(self, line: str) -> None:
        from allstop.app.rooms.threads import handle_input

        heard = await handle_input(self._project, self._place.thread, line)
        if heard.began is not None:
            await self._place.begin(heard.began)
            self._began = True
        elif heard.note:
            self.screen.note(heard.note)

    def _tell_hold(self) -> bool:
        """Whether everything is paused or frozen; then nothing that happens here would show it."""
        from allstop.core.helm import Hold

        if (hold := self._place.engine.helm.hold) is Hold.NONE:
            return False
        goes_on = f"allstop resume, then allstop room --resume --thread {self._place.thread}"
        self.screen.note(f"all {hold}. Go on: {goes_on}")
        return True

    def exit_code(self) -> int:
        last = self._view.room.last
        if self._view.room.session is not None:
            return STOPPED if self._tell_hold() else WAITS
        return exit_code(last) if last is not None and last is not self._before else FINISHED


def exit_code(summary: Summary) -> int:
    from allstop.core.room_specs import Ending

    codes: dict[Ending, int] = {
        Ending.STOPPED_BY_USER: STOPPED,
        Ending.CANCELED_BY_USER: STOPPED,
        Ending.AGENT_FAILED: FAILED,
        Ending.MALFORMED: FAILED,
        Ending.EMERGENCY_CAP: LIMIT,
    }
    return codes.get(summary.reason, FINISHED)
