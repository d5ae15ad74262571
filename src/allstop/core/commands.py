"""Commands that a person can give to a run."""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from allstop.core.board_specs import BoardSpec, Mode, SprintSpec
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
    remarks: tuple[Remark, ...] = ()  # comments on lines of its work

    @property
    def words(self) -> str:
        return in_words(self.text, self.remarks)


class Pause(_Command, frozen=True, tag="pause"):
    """Starts no new move; the current one ends normally."""


class Resume(_Command, frozen=True, tag="resume"):
    """Ends a pause, a freeze and an Allstop."""


class Freeze(_Command, frozen=True, tag="freeze"):
    """Suspends the processes of the current move."""


class Thaw(_Command, frozen=True, tag="thaw"):
    pass


class Allstop(_Command, frozen=True, tag="allstop"):
    """Ends everything at once."""


class Interrupt(_Command, frozen=True, tag="interrupt"):
    """Ends the current move at once and discards its result."""


class StartSession(_Command, frozen=True, tag="start_session"):
    """Starts a session of a room's agents."""

    session: SessionSpec
    instead: bool = False  # replaces an interrupted session


class Abort(_Command, frozen=True, tag="abort"):
    """Ends the run for good and keeps its work."""


class Retry(_Command, frozen=True, tag="retry"):
    """Retries now: a run that waits to retry, or a board's task that ended."""

    task: str = ""
    text: str = ""  # for its agent
    remarks: tuple[Remark, ...] = ()


class Skip(_Command, frozen=True, tag="skip"):
    """Treats a board's task as done."""

    task: str = ""


class AddTasks(_Command, frozen=True, tag="add_tasks"):
    """Adds tasks to a board; each comes after the tasks it needs."""

    tasks: tuple[NewTask, ...]


class EditTask(_Command, frozen=True, tag="edit_task"):
    task: str
    changes: Changes


class RemoveTask(_Command, frozen=True, tag="remove_task"):
    """Cancels a task; its journal is kept."""

    task: str


class Pin(_Command, frozen=True, tag="pin"):
    """Puts a task before all others whatever their score, or undoes that."""

    task: str
    on: bool = True


class Order(_Command, frozen=True, tag="order"):
    """Puts tasks before all others whatever their score, in this order."""

    tasks: tuple[str, ...]


class Assign(_Command, frozen=True, tag="assign"):
    """Starts a task, whatever the board's mode."""

    task: str
    agent: AgentName | None = None


class Approve(_Command, frozen=True, tag="approve"):
    """Merges work that waits for review."""

    task: str
    confirmed: bool = False  # the person has seen the findings


class Redo(_Command, frozen=True, tag="redo"):
    """Sends a task back to its agent, with a comment."""

    task: str
    text: str
    remarks: tuple[Remark, ...] = ()


class Reject(_Command, frozen=True, tag="reject"):
    """Cancels a task and keeps its work unmerged."""

    task: str


class RollBack(_Command, frozen=True, tag="roll_back"):
    """Reverts a task's work on the target; the task is pending again."""

    task: str


class SetMode(_Command, frozen=True, tag="set_mode"):
    mode: Mode


class Equip(_Command, frozen=True, tag="equip"):
    """Replaces a board's settings."""

    spec: BoardSpec
    anew: bool = True  # reset the counts of started tasks and of failures in a row


class StartSprint(_Command, frozen=True, tag="start_sprint"):
    """Starts a sprint of a board, in autopilot mode."""

    sprint: SprintSpec


class PauseSprint(_Command, frozen=True, tag="pause_sprint"):
    """Starts no more tasks of the sprint; those at work continue."""


class ResumeSprint(_Command, frozen=True, tag="resume_sprint"):
    """Ends a pause of the sprint."""


class CancelSprint(_Command, frozen=True, tag="cancel_sprint"):
    """Ends the sprint at once; tasks at work continue as the board's own and don't count."""


class Range(Struct, frozen=True, gc=False, kw_only=True):
    """A forecast number: 8 of 10 results should lie between p10 and p90."""

    p10: float
    p50: float
    p90: float


class RecordForecast(_Command, frozen=True, tag="record_forecast"):
    """Stores a forecast on the board, so that it can be compared with what comes."""

    tasks: tuple[str, ...]
    seconds: Range  # until nothing more can run without a person
    finished: Range  # tasks
    cost_usd: Range | None = None  # None: unknown
    spent_microusd: int = 0  # on these tasks before
    count: int | None = None  # no task starts after this many have finished
    until: datetime | None = None  # no task starts after this
    attempts: int = 0  # the history that it was made from
    slots: int = 0
    sprint: str = ""


class Answer(_Command, frozen=True, tag="answer"):
    """Answers an agent's question."""

    text: str


class Take(_Command, frozen=True, tag="take"):
    """A person takes over a board's task that is not running; the board doesn't start it."""

    task: str


class Give(_Command, frozen=True, tag="give"):
    """A person gives a task back; its agent continues from this commit."""

    commit: str
    task: str = ""  # set if the command is given to the board, for a task that is not running


class Permit(_Command, frozen=True, tag="permit"):
    """Allows or denies a request of an agent."""

    ask: str
    allow: bool
    session: bool = False  # also for identical requests later
    answers: tuple[str, ...] = ()  # to its questions, one for each
    message: str = ""  # for the agent


class Raise(_Command, frozen=True, tag="raise"):
    """Replaces the limits that the run was opened with."""

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
"""Commands to a board about its tasks."""

SprintCommand: TypeAlias = StartSprint | PauseSprint | ResumeSprint | CancelSprint

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
    | RecordForecast
    | StartSession
    | SprintCommand
    | TaskCommand
)


def is_allstop(text: str) -> bool:
    """Whether typed text is the word Allstop itself, not a sentence that contains it."""
    return "".join(letter for letter in text.lower() if letter.isalpha()) == "allstop"
