"""Room threads as the app starts and drives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.api_models import load_http_client
from allstop.app.rooms import threads
from allstop.app.rooms.driver import RoomDriver
from allstop.app.rooms.session_spec import SessionRequest, session_spec, start_request
from allstop.app.runs.commands import refuse_if_stopped
from allstop.app.runs.queued_starts import queue
from allstop.app.start_requests import StartRoom
from allstop.app.supervisor import RunKind, Supervisor
from allstop.core.ids import RunId
from allstop.core.room_specs import SessionSpec
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.app.runs.status import RunRecord


class RoomRunKind(RunKind):
    request = StartRoom

    async def open(self, supervisor: Supervisor, request: StartRoom) -> RunId:
        session = SessionRequest(
            goal=request.goal,
            mode=request.mode,
            agents=request.agents,
            first=request.first,
            max_rounds=request.max_rounds,
            respect_final=request.respect_final,
        )
        spec = session_spec(supervisor.project, session)
        await self._start(supervisor, request.thread, spec, instead=request.instead)
        return threads.run_of(request.thread)

    async def resume(self, supervisor: Supervisor, recorded: RunRecord, by: str) -> None:
        """A thread that no process drives continues its interrupted session."""
        if supervisor.is_driven(recorded.run):
            await super().resume(supervisor, recorded, by)
            return
        thread = str(recorded.opened.spec["thread"])
        found = await threads.read(supervisor.project, thread)
        if found.room.session is not None:
            await load_http_client()
        await RoomDriver(supervisor.runtime, thread).resume_session()

    def has_name(self, run: RunId) -> bool:
        return threads.thread_of(run) is not None

    async def say(self, supervisor: Supervisor, run: RunId, text: str) -> str:
        """Handle text that a person types in the room; it may start a session.

        Raises AllstopError if the text is invalid, or the session can't start.
        """
        thread = threads.thread_of(run)
        assert thread is not None, "a room's run is named by its thread"
        result = await threads.handle_input(supervisor.project, thread, text)
        if result.began is not None:
            await refuse_if_stopped(supervisor.project)
            if not supervisor.project.settings.loop.auto_execute:
                queued = await queue(supervisor.project, start_request(thread, result.began))
                return f"{queued} waits for your approval: allstop approve {queued}"
            async with supervisor.lock:
                await self._start(supervisor, thread, result.began, instead=False)
        return result.note

    async def _start(
        self, supervisor: Supervisor, thread: str, spec: SessionSpec, *, instead: bool
    ) -> None:
        run = threads.run_of(thread)
        if not supervisor.drives(run) and supervisor.is_driven(run):
            raise HeldError(run, supervisor.project.journal.holders()[run])
        await load_http_client()
        await RoomDriver(supervisor.runtime, thread).begin(spec, instead=instead)
