"""What the server says, as JSON: answers, and the events of the stream. Names are the contract."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from allstop.app.board.board_spec import Note
from allstop.app.board.overview import TaskView
from allstop.app.setup.doctor import AgentFinding, Finding
from allstop.core.asks import Ask
from allstop.core.brakes import Limits
from allstop.core.ids import RunId
from allstop.core.replay import Receipt
from allstop.core.review_comments import Review
from allstop.settings.detection.detect import ProposedAgent
from allstop.settings.detection.ecosystems import ProposedCheck
from allstop.settings.form_fields import Form
from allstop.views.auto import DecisionReceipt
from allstop.views.inbox import Waiting
from allstop.views.room_summary import RoomSummary
from allstop.views.rooms import RoomEvent
from allstop.views.runs import RunView


class _Shape(Struct, frozen=True, kw_only=True):
    pass


# --- answers ---


class Problem(_Shape, frozen=True):
    code: str
    message: str
    hint: str


class Refused(_Shape, frozen=True):
    """What every answer that is not a success says."""

    error: Problem


class Health(_Shape, frozen=True):
    version: str
    repository: str  # its name, not its place
    hold: str
    settings_problem: str  # why a changed allstop.toml is not in force; "" if it is


class NoteList(_Shape, frozen=True):
    notes: list[Note]  # in the order they matter


class HoldView(_Shape, frozen=True):
    """What has been said to all runs at once."""

    hold: str  # running, paused, frozen, stopped
    since: datetime | None
    by: str
    stops: int  # how often everything was stopped


class RunList(_Shape, frozen=True):
    runs: list[RunView]  # the newest first
    more: bool  # there are older ones


class RunDetail(_Shape, frozen=True):
    run: RunView
    seq: int  # of its newest event
    asks: list[Ask]  # what its agent wants to know or to do
    limits: Limits
    children: list[RunView]
    detail: object  # what only this kind of run has, or null


class MomentView(_Shape, frozen=True):
    """A run as it stood right after one event of its record."""

    seq: int
    last: int  # the number of its newest event
    at: datetime
    run: RunView
    detail: object  # what only this kind of run has, or null


class Redecided(_Shape, frozen=True):
    """A decision that comes out otherwise when it is made again."""

    seq: int
    recorded: str
    again: str


class Replayed(_Shape, frozen=True):
    run: RunId
    decisions: int
    differences: list[Redecided]


class LogEvent(_Shape, frozen=True):
    """One event of a record, with the line that a log has for it."""

    run: RunId
    seq: int
    at: datetime
    type: str
    mark: str
    text: str


class Recorded(_Shape, frozen=True):
    run: RunId
    seq: int
    at: datetime
    type: str
    lines: list[str]
    event: dict[str, object]  # the whole of it


class RecordList(_Shape, frozen=True):
    events: list[Recorded]
    more: bool  # there are later ones; ask again with after = the last seq


class BoardPage(_Shape, frozen=True):
    phase: str
    action: str  # the command that the board accepts now: start, pause, resume or ""
    mode: str
    counts: dict[str, int]
    tasks: list[TaskView]  # oldest first
    more: bool  # there are further ones; ask again with after = how many came so far


class ChangedFile(_Shape, frozen=True):
    path: str
    change: str  # added, changed, removed, renamed
    added: int | None  # lines; null where it is no text
    removed: int | None


class Diff(_Shape, frozen=True):
    """What the work of a task or a thread changes, against where it began."""

    task: str  # or the thread
    base: str
    tip: str
    files: list[ChangedFile]
    patch: str
    cut: bool  # the patch is longer than what is shown


class ReviewList(_Shape, frozen=True):
    """What people said of lines of a task's or a thread's work."""

    task: str  # or the thread
    reviews: list[Review]  # the oldest first


class RoomList(_Shape, frozen=True):
    rooms: list[RoomSummary]


class RoomEvents(_Shape, frozen=True):
    thread: str
    events: list[RoomEvent]
    more: bool


class Inbox(_Shape, frozen=True):
    waiting: list[Waiting]  # the oldest first


class AgentList(_Shape, frozen=True):
    agents: list[AgentFinding]


class SettingRow(_Shape, frozen=True):
    key: str
    value: object  # what counts
    default: object
    origin: str
    description: str
    form: Form  # in which it is filled in
    choices: tuple[str, ...]
    expected: str  # what belongs there, in words
    written: bool  # it is in the checkout's file
    file_value: object  # what it is there
    waits_for: str  # what must happen before the file's value counts; "" if it does
    trust: str  # why it may need `allstop trust`; "" if it never does


class SettingsFile(_Shape, frozen=True):
    """The checkout's allstop.toml, where changes are written."""

    exists: bool
    digest: str  # of what is shown; a change names it
    problem: str  # why it can't be changed from here; "" if it can


class SettingList(_Shape, frozen=True):
    settings: list[SettingRow]
    file: SettingsFile | None  # None without a repository
    notes: list[str]
    problem: str  # why a changed allstop.toml is not in force; "" if it is


class Checkup(_Shape, frozen=True):
    """What is here, as `allstop doctor` finds it, and what `allstop init` would make of it."""

    findings: list[Finding]
    has_file: bool  # allstop.toml is in the checkout
    has_agents: bool  # some are in force
    agents: tuple[ProposedAgent, ...]  # that were found on this machine, and the scripted one
    checks: tuple[ProposedCheck, ...]


class Process(_Shape, frozen=True):
    """A process that drives runs of this store."""

    pid: int
    command: str
    since: datetime
    runs: list[RunId]
    here: bool  # it is this server


class Machine(_Shape, frozen=True):
    name: str
    processes: list[Process]


class MachineList(_Shape, frozen=True):
    machines: list[Machine]


class ReceiptList(_Shape, frozen=True):
    run: RunId
    receipts: list[Receipt]
    decisions: list[DecisionReceipt]  # of Full Auto


class Opened(_Shape, frozen=True):
    run: RunId


class Link(_Shape, frozen=True):
    path: str  # after the server's address


# --- events of the stream that are not answers too ---


class BoardState(_Shape, frozen=True):
    """The board without its tasks."""

    phase: str
    action: str  # as in BoardPage
    mode: str
    counts: dict[str, int]


class InboxCount(_Shape, frozen=True):
    count: int


class LiveText(_Shape, frozen=True):
    """Words as they come in. The log has what became of them."""

    run: RunId
    kind: str
    text: str
    call: str  # in a room: the call_id of what they answer
    start: int  # its first character's number in what is said there; numbers only grow
    end: int  # the number after its last


class LiveList(_Shape, frozen=True):
    """What has been said in the turn that is under way."""

    run: RunId
    words: list[LiveText]


class Reset(_Shape, frozen=True):
    """Views may have changed unseen: fetch them again. With `lost`, the log too."""

    lost: bool
