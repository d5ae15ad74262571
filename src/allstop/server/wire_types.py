"""The JSON types of responses and stream events; field names are part of the API."""

from datetime import datetime

from msgspec import Struct

from allstop.app.board.board_spec import Note
from allstop.app.board.overview import TaskView
from allstop.app.machines import Machine
from allstop.app.setup.doctor import AgentFinding, Finding
from allstop.core.asks import Ask
from allstop.core.brakes import Limits
from allstop.core.ids import RunId
from allstop.core.replay import Receipt
from allstop.core.review_comments import Review
from allstop.gate.flaky_tests import FlakyTest
from allstop.plans.plan import Plan
from allstop.settings.detection.detect import ProposedAgent
from allstop.settings.detection.ecosystems import ProposedCheck
from allstop.settings.form_fields import Form
from allstop.views.accounts import AccountView
from allstop.views.auto import DecisionReceipt
from allstop.views.evidence import QueuedReview
from allstop.views.failure_reasons import FailureReason
from allstop.views.inbox import Waiting
from allstop.views.plan_events import AutopilotEvent
from allstop.views.plans import PlanView
from allstop.views.room_summary import RoomSummary
from allstop.views.rooms import RoomEvent
from allstop.views.runs import RunView
from allstop.views.sprints import CheckpointView, SprintView


class _Message(Struct, frozen=True, kw_only=True):
    pass


# --- responses ---


class Problem(_Message, frozen=True):
    code: str
    message: str
    hint: str


class Refused(_Message, frozen=True):
    """The body of every error response."""

    error: Problem


class Health(_Message, frozen=True):
    version: str
    repository: str  # the name of its folder
    hold: str
    settings_problem: str  # why a changed allstop.toml isn't in force; "" if it is
    shared: bool  # whether other machines can work on this journal


class NoteList(_Message, frozen=True):
    notes: list[Note]  # the most important first


class HoldView(_Message, frozen=True):
    """Whether all runs are held, by whom and since when."""

    hold: str  # running, paused, frozen, stopped
    since: datetime | None
    by: str
    stops: int  # the number of allstops so far


class RunList(_Message, frozen=True):
    runs: list[RunView]  # the newest first
    more: bool  # older runs exist


class RunDetail(_Message, frozen=True):
    run: RunView
    seq: int  # the number of its newest event
    asks: list[Ask]  # open requests of its agent
    limits: Limits
    children: list[RunView]
    detail: object  # the details of this kind of run, or null


class MomentView(_Message, frozen=True):
    """A run's state after one of its events."""

    seq: int
    last: int  # the number of its newest event
    at: datetime
    run: RunView
    detail: object  # the details of this kind of run, or null


class Redecided(_Message, frozen=True):
    """A decision that differs when it is repeated."""

    seq: int
    recorded: str
    again: str


class Replayed(_Message, frozen=True):
    run: RunId
    decisions: int
    differences: list[Redecided]


class LogEvent(_Message, frozen=True):
    """One event of a run with its log line."""

    run: RunId
    seq: int
    at: datetime
    type: str
    mark: str
    text: str


class Recorded(_Message, frozen=True):
    run: RunId
    seq: int
    at: datetime
    type: str
    lines: list[str]
    event: dict[str, object]  # the complete event


class RecordList(_Message, frozen=True):
    events: list[Recorded]
    more: bool  # later events exist; continue with after = the last seq


class BoardPage(_Message, frozen=True):
    phase: str
    action: str  # the command that the board accepts now: start, pause, resume or ""
    mode: str
    counts: dict[str, int]
    tasks: list[TaskView]  # oldest first
    more: bool  # further tasks exist; continue with after = the number received so far


class ChangedFile(_Message, frozen=True):
    path: str
    change: str  # added, changed, removed, renamed
    added: int | None  # lines; null for a binary file
    removed: int | None


class Diff(_Message, frozen=True):
    """The changes of a task's or a thread's work since its base commit."""

    task: str  # or the thread
    base: str
    tip: str
    files: list[ChangedFile]
    patch: str
    cut: bool  # the patch is longer than shown


class ReviewList(_Message, frozen=True):
    """The review comments on a task's or a thread's work."""

    task: str  # or the thread
    reviews: list[Review]  # the oldest first


class RoomList(_Message, frozen=True):
    rooms: list[RoomSummary]


class RoomEvents(_Message, frozen=True):
    thread: str
    events: list[RoomEvent]
    more: bool


class PlanEvents(_Message, frozen=True):
    run: RunId
    events: list[AutopilotEvent]  # without the text of the running turn, which only the stream has
    more: bool


class PlanList(_Message, frozen=True):
    plans: list[PlanView]  # the newest first


class PlanProblem(_Message, frozen=True):
    line: int
    problem: str
    expected: str


class PlanCheck(_Message, frozen=True):
    """What was understood of a plan's text, and everything that is wrong with it."""

    plan: Plan
    problems: list[PlanProblem]


class SprintList(_Message, frozen=True):
    sprints: list[SprintView]  # the newest first


class CheckpointList(_Message, frozen=True):
    checkpoints: list[CheckpointView]  # the newest first


class FailureList(_Message, frozen=True):
    failures: list[FailureReason]


class FlakyTests(_Message, frozen=True):
    tests: list[FlakyTest]  # the least reliable first
    unknown: list[str]  # quarantined ids that no check has reported lately


class ReviewQueue(_Message, frozen=True):
    tasks: list[QueuedReview]  # the worst finding first


class Inbox(_Message, frozen=True):
    waiting: list[Waiting]  # the oldest first


class AgentList(_Message, frozen=True):
    agents: list[AgentFinding]


class AccountList(_Message, frozen=True):
    accounts: list[AccountView]


class SettingRow(_Message, frozen=True):
    key: str
    value: object  # in force
    default: object
    origin: str
    description: str
    form: Form  # the type of its form field
    choices: tuple[str, ...]
    expected: str  # the expected value in words
    written: bool  # the checkout's file has it
    file_value: object  # its value in that file
    waits_for: str  # what must happen before the file's value is in force; "" if it is
    trust: str  # why it may need `allstop trust`; "" if it never does


class SettingsFile(_Message, frozen=True):
    """The checkout's allstop.toml, where changes are written."""

    exists: bool
    digest: str  # of the shown content; a change must send it
    problem: str  # why the page can't change it; "" if it can


class SettingList(_Message, frozen=True):
    settings: list[SettingRow]
    file: SettingsFile | None  # None without a repository
    notes: list[str]
    problem: str  # why a changed allstop.toml isn't in force; "" if it is


class Checkup(_Message, frozen=True):
    """The results of `allstop doctor`, and the settings that `allstop init` would write."""

    findings: list[Finding]
    has_file: bool  # the checkout has allstop.toml
    has_agents: bool  # agents are configured
    agents: tuple[ProposedAgent, ...]  # detected on this machine, and the scripted one
    checks: tuple[ProposedCheck, ...]


class MachineList(_Message, frozen=True):
    machines: list[Machine]
    shared: bool  # whether other machines can work on this journal
    ready: int  # tasks that could start, if there was a slot


class ReceiptList(_Message, frozen=True):
    run: RunId
    receipts: list[Receipt]
    decisions: list[DecisionReceipt]  # of Full Auto


class Opened(_Message, frozen=True):
    run: RunId


class Link(_Message, frozen=True):
    path: str  # after the server's address


# --- events of the stream that are not responses too ---


class BoardState(_Message, frozen=True):
    """The board without its tasks."""

    phase: str
    action: str  # as in BoardPage
    mode: str
    counts: dict[str, int]


class InboxCount(_Message, frozen=True):
    count: int


class LiveText(_Message, frozen=True):
    """A piece of text as it is streamed; the log has the final text."""

    run: RunId
    kind: str
    text: str
    call: str  # in a room: the call_id of the call that it answers
    start: int  # the number of its first character; numbers only grow
    end: int  # the number after its last character


class LiveList(_Message, frozen=True):
    """The text of the running turn so far."""

    run: RunId
    words: list[LiveText]


class Reset(_Message, frozen=True):
    """Views may have changed: fetch them again. With `lost`, fetch the log again too."""

    lost: bool
