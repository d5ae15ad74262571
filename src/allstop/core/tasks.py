"""A task of a board: its fields, its attempts, and edits of it."""

import re
from datetime import datetime
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from allstop.core.brakes import Tally
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import FailureKind, Outcome
from allstop.core.review_comments import Review, ReviewDecision


class Status(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    WAITING = "waiting"  # needs a person
    REVIEW = "review"
    MERGING = "merging"
    DONE = "done"  # merged, or verified where merging is off
    BLOCKED = "blocked"
    FAILED = "failed"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


OVER = frozenset({Status.DONE, Status.SKIPPED, Status.CANCELLED})
MET = frozenset({Status.DONE, Status.SKIPPED})
"""Tasks that need such a task don't wait for it."""

STALLED = frozenset({Status.BLOCKED, Status.FAILED, Status.TIMEOUT, Status.WAITING})
"""A person has to act."""

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The id of a task is part of the names of its workspace, refs and runs."""

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
"""What a machine of a fleet offers, such as `gpu`."""


class NewTask(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A task to add."""

    id: str
    title: str
    body: str = ""
    operation: str = ""  # the group it is part of
    needs: tuple[str, ...] = ()  # the tasks it waits for
    tags: tuple[str, ...] = ()
    priority: int = 0  # orders tasks with equal scores, highest first
    agent: AgentName | None = None
    iterations: int | None = None  # this and the next two: limits of its own
    minutes: float | None = None
    stuck_after: int | None = None
    source: str = ""  # where it was imported from; prevents a second import
    done: bool = False  # it was done before the import
    may_change: tuple[str, ...] = ()  # tests that its work may change: paths, ids or words
    labels: tuple[str, ...] = ()  # what a machine of a fleet must offer for it


class Changes(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """New values for some of a task's fields."""

    title: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
    operation: str | UnsetType = UNSET
    needs: tuple[str, ...] | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    agent: AgentName | UnsetType | None = UNSET
    iterations: int | UnsetType | None = UNSET
    minutes: float | UnsetType | None = UNSET
    stuck_after: int | UnsetType | None = UNSET
    may_change: tuple[str, ...] | UnsetType = UNSET
    labels: tuple[str, ...] | UnsetType = UNSET


class Attempt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One run for a task."""

    run: RunId
    began_at: datetime
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    note: str = ""
    failure: FailureKind | None = None  # the cause of its end
    tally: Tally = Tally()
    flawed: bool = False  # it asked, was blocked or had findings, or ended too early to tell
    agent: AgentName = AgentName("")  # its first choice of agent


class Task(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    id: str
    title: str
    number: int  # counts tasks in the order they were added
    body: str = ""
    status: Status = Status.PENDING
    operation: str = ""
    needs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    priority: int = 0
    agent: AgentName | None = None
    iterations: int | None = None
    minutes: float | None = None
    stuck_after: int | None = None
    source: str = ""
    may_change: tuple[str, ...] = ()  # tests that its work may change: paths, ids or words
    labels: tuple[str, ...] = ()  # what a machine of a fleet must offer for it
    retries: int = 0
    attempts: tuple[Attempt, ...] = ()
    open: str = ""  # the child run that is open for it
    conflicts: int = 0  # merge conflicts of its work in a row
    pin: int = 0  # a higher pin comes first; 0 is not pinned
    assigned: bool = False  # a person wants it started, whatever the mode
    held: bool = False  # a person ended it or took it over; only a person starts it again
    news: str = ""  # added to the goal in the first prompt of the next attempt
    given: str = ""  # a person's commit that the next attempt continues from
    target: str = ""  # the branch that its work began from
    onto: str = ""  # a commit of the target that its work must be merged with
    verified: str = ""  # the tree that passed the gate
    verified_by: str = ""  # the fingerprint of that gate
    findings: str = ""  # in its verified work, in one line; a person confirms them
    unverified: bool = False  # no check was configured when its work was accepted
    merged: str = ""  # the merge commit on the target
    merged_at: datetime | None = None
    merge_s: float = 0.0  # how long the merge took
    conflicts_resolved: int = 0  # before the merge succeeded
    changed_at: datetime | None = None  # when its status changed
    note: str = ""  # the reason for its status
    reviews: tuple[Review, ...] = ()  # comments on its work between attempts
    review_decision: ReviewDecision | None = None  # of a person, the last one
    decided_at: datetime | None = None

    @property
    def asks(self) -> bool:
        """Whether its agent waits for an answer."""
        return self.status is Status.WAITING and bool(self.open)

    @property
    def has_crashed(self) -> bool:
        """Whether its agent died, and no person has decided since what happens to it."""
        last = self.attempts[-1].outcome if self.attempts else None
        is_undecided = bool(self.note) and not self.assigned and not self.held
        return self.status is Status.PENDING and last is Outcome.CRASHED and is_undecided

    @property
    def lacks_merge(self) -> bool:
        """Whether its work is verified and approved but could not be merged."""
        return self.status is Status.WAITING and bool(self.verified) and not self.open

    @property
    def tally(self) -> Tally:
        total = Tally()
        for attempt in self.attempts:
            total = total.plus(attempt.tally)
        return total


def branch_of(task: str) -> str:
    """The branch that gets a task's work where merging is off."""
    return f"allstop/{task}"
