"""A kind of run: everything that views and the app ask about it, with defaults that fit any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from allstop.core.commands import Command, Resume
from allstop.core.events import Event, Opened
from allstop.core.helm import Helm
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.moves import Outcome
from allstop.core.run import Pilot, RunState
from allstop.views.live_state import LiveState
from allstop.views.log import Line, lines

if TYPE_CHECKING:
    from allstop.board.state import BoardState
    from allstop.rooms.session import Session, Summary

Log = Callable[[Event], list[Line]]
"""Takes the events of one record in order and returns the lines of the log for each."""


class Kind:
    """One kind of run. A subclass overrides what is different about its runs."""

    pilot: Pilot[Any]
    has_workspace: ClassVar[bool] = False
    """Whether each run works in a clone of its own."""
    has_sessions: ClassVar[bool] = False
    """Whether a run holds sessions, as a room does."""
    message_event: ClassVar[str] = ""
    """The name of the stream event that carries the messages of its live state; "": none."""
    message_type: ClassVar[Any] = None
    """The type of these messages, for the description of the API."""
    is_endless: ClassVar[bool] = False
    """Whether a run stays open when it has nothing to do."""
    waits_as: ClassVar[str] = ""
    """The inbox kind of a wait for a person; "" decides by the wait itself."""
    wait_options: ClassVar[tuple[str, ...]] = ("retry",)
    """The commands that the inbox offers for such a wait."""
    detail_type: ClassVar[type[Struct] | None] = None
    """The type of `detail`, for the description of the API."""
    detail_event: ClassVar[str] = ""
    """The name of the stream event that carries `detail`."""

    @property
    def name(self) -> str:
        return self.pilot.kind

    def begin(self, opened: Opened) -> LiveState:
        """Return the state of a run after `opened`."""
        return LiveState(self.pilot, opened)

    def log(self) -> Log:
        return lines

    def resume_command(self, run: RunId, opened: Opened) -> str:
        """The command that continues a run which no process drives."""
        root = root_of(run)
        return "allstop run" if root == BOARD else f"allstop resume {root}"

    def takes_effect(self, called: str, run: RunId, state: RunState[Any]) -> str:
        """Says when a command takes effect that was given while no process drives the run."""
        resume = f"allstop resume {called}"
        return f"No process drives {called}: it takes effect after `{resume}`."

    def go_on_command(self, run: RunId, state: RunState[Any]) -> Command:
        """The command that continues a run which waits for a person."""
        return Resume()

    def go_on_words(self, run: RunId, state: RunState[Any]) -> str:
        """The command line that continues a run which waits for a person."""
        return self.resume_command(run, state.opened)

    def hurry_command(self, called: str, state: RunState[Any]) -> str:
        """The command line that ends a wait which would end by itself."""
        return f"allstop stop {called}"

    def kept_after_abort(self, called: str) -> str:
        """Say what an aborted run leaves behind, as the end of a sentence."""
        return ""

    def rest_outcome(self, state: RunState[Any], since: datetime | None) -> Outcome | None:
        """How an endless run at rest has done since then; None if something waits for a person."""
        return Outcome.DONE

    def actions(
        self, state: RunState[Any], status: str, helm: Helm, now: datetime
    ) -> tuple[str, ...]:
        """The commands that an open run accepts now, the best first."""
        if status in ("pausing", "frozen"):
            return ("resume", "stop")
        return ("resume",) if status in ("paused", "stopped", "interrupted") else ("pause", "stop")

    def warning(self, state: RunState[Any]) -> str:
        """Describe a problem that doesn't stop the run; "" if there is none."""
        return ""

    def workspace(self, opened: Opened) -> str:
        """The workspace whose changes `allstop diff RUN` shows; "" if the run has no own one."""
        return ""

    def changed_files(self, state: RunState[Any]) -> int:
        """How many files its own workspace has changed."""
        return 0

    def needs_look(self, state: RunState[Any]) -> bool:
        """Whether a person should look at the changes before the run continues."""
        return False

    def call_id(self, state: RunState[Any]) -> str:
        """The call that streamed text answers; "" if text is shown as it is."""
        return ""

    def output(self, state: RunState[Any], text: str, now: datetime) -> Struct | None:
        """The message for live text of the agent; None if viewers get only the text itself."""
        return None

    def decisions(self, events: Sequence[Event]) -> list[Any]:
        """A receipt for each decision that the pilot recorded."""
        return []

    def plan(self, state: RunState[Any], helm: Helm, now: datetime) -> list[str]:
        """The goal and the next step in a few lines, above the receipts."""
        return []

    def detail(
        self, run: RunId, state: RunState[Any], view: Struct, helm: Helm, now: datetime
    ) -> Struct | None:
        """Return the details of this kind for the API and the page."""
        return None

    def board(self, state: RunState[Any]) -> BoardState | None:
        return None

    def session(self, state: RunState[Any]) -> Session | None:
        """The session under way."""
        return None

    def last_session(self, state: RunState[Any]) -> Summary | None:
        """The session that ended last, if none is under way."""
        return None
