"""What a person can tell a run."""

from typing import TypeAlias

from msgspec import Struct

from allstop.core.board_specs import BoardSpec, Mode
from allstop.core.brakes import Limits
from allstop.core.ids import AgentName
from allstop.core.review_comments import Remark, in_words
from allstop.core.room_specs import SessionSpec
from allstop.core.tasks import Changes, NewTask


class _Command(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="command", tag=True
):
    pass


class Say(_Command, frozen=True, tag="say"):
    text: str
    remarks: tuple[Remark, ...] = ()  # of lines of its work

    @property
    def words(self) -> str:
        return in_words(self.text, self.remarks)


class Pause(_Command, frozen=True, tag="pause"):
    """No new move; the current one ends in peace."""


class Resume(_Command, frozen=True, tag="resume"):
    """Lifts a pause, a freeze and an Allstop."""


class Freeze(_Command, frozen=True, tag="freeze"):
    """Processes stop where they are."""


class Thaw(_Command, frozen=True, tag="thaw"):
    pass


class Allstop(_Command, frozen=True, tag="allstop"):
    """Everything ends now."""


class Interrupt(_Command, frozen=True, tag="interrupt"):
    """The move that is under way ends now, and what came of it does not count."""


class StartSession(_Command, frozen=True, tag="start_session"):
    """Let the agents of a room talk."""

    session: SessionSpec
    instead: bool = False  # of one that was interrupted


class Abort(_Command, frozen=True, tag="abort"):
    """Ends the run for good; what it made is kept."""


class Retry(_Command, frozen=True, tag="retry"):
    """Try again now: what waits to be tried again, or a board's task that ended."""

    task: str = ""
    text: str = ""  # for its agent
    remarks: tuple[Remark, ...] = ()


class Skip(_Command, frozen=True, tag="skip"):
    """Go on as if a board's task were done."""

    task: str = ""


class AddTasks(_Command, frozen=True, tag="add_tasks"):
    """Each after those it needs."""

    tasks: tuple[NewTask, ...]


class EditTask(_Command, frozen=True, tag="edit_task"):
    task: str
    changes: Changes


class RemoveTask(_Command, frozen=True, tag="remove_task"):
    """Nobody will do it; its record stays."""

    task: str


class Pin(_Command, frozen=True, tag="pin"):
    """Put a task in front of all scores, or take it back."""

    task: str
    on: bool = True


class Order(_Command, frozen=True, tag="order"):
    """Put tasks in front of all scores, in this order."""

    tasks: tuple[str, ...]


class Assign(_Command, frozen=True, tag="assign"):
    """Start this one, whatever the mode."""

    task: str
    agent: AgentName | None = None


class Approve(_Command, frozen=True, tag="approve"):
    task: str


class Redo(_Command, frozen=True, tag="redo"):
    """Back to the agent, with a comment."""

    task: str
    text: str
    remarks: tuple[Remark, ...] = ()


class Reject(_Command, frozen=True, tag="reject"):
    """The work is kept, but nobody will merge it."""

    task: str


class RollBack(_Command, frozen=True, tag="roll_back"):
    """Take a task's work out of the target; the task is pending again."""

    task: str


class SetMode(_Command, frozen=True, tag="set_mode"):
    mode: Mode


class Equip(_Command, frozen=True, tag="equip"):
    """How a board works from now on."""

    spec: BoardSpec
    anew: bool = True  # what is begun, and what fails in a row, is counted from zero


class Answer(_Command, frozen=True, tag="answer"):
    """What an agent wanted to know."""

    text: str


class Take(_Command, frozen=True, tag="take"):
    """A person works on a board's task by hand at which nobody is at work: it is not started."""

    task: str


class Give(_Command, frozen=True, tag="give"):
    """A person has worked on a task by hand; its agent goes on from this commit."""

    commit: str
    task: str = ""  # said to a board, of one at which nobody is at work


class Permit(_Command, frozen=True, tag="permit"):
    """Whether an agent may do what it asked to do."""

    ask: str
    allow: bool
    session: bool = False  # also the very same again
    answers: tuple[str, ...] = ()  # to its questions, one for each
    message: str = ""  # for the agent


class Raise(_Command, frozen=True, tag="raise"):
    """New limits, in place of the ones the run was opened with."""

    limits: Limits


TaskCommand: TypeAlias = (
    AddTasks
    | EditTask
    | RemoveTask
    | Pin
    | Order
    | Assign
    | Take
    | Give
    | Retry
    | Skip
    | Approve
    | Redo
    | Reject
    | RollBack
)
"""What a board is told of one task."""

Command: TypeAlias = (
    Say
    | Pause
    | Resume
    | Freeze
    | Thaw
    | Allstop
    | Interrupt
    | Abort
    | Answer
    | Permit
    | Give
    | Raise
    | SetMode
    | Equip
    | StartSession
    | TaskCommand
)


def is_allstop(text: str) -> bool:
    """Whether typed text is the word itself, and not a sentence that merely contains it."""
    return "".join(letter for letter in text.lower() if letter.isalpha()) == "allstop"
