"""A task of a board: what is known of it, and how it can change."""

import re
from datetime import datetime
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from allstop.core.brakes import Tally
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import FailureKind, Outcome
from allstop.core.review_comments import Review


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
"""What needs such a task need not wait for it."""

STALLED = frozenset({Status.BLOCKED, Status.FAILED, Status.TIMEOUT, Status.WAITING})
"""A person must step in."""

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""It names a workspace, refs and runs."""


class NewTask(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A task as it is added."""

    id: str
    title: str
    body: str = ""
    operation: str = ""  # the group it is part of
    needs: tuple[str, ...] = ()  # the tasks it waits for
    tags: tuple[str, ...] = ()
    priority: int = 0  # higher is first among equal scores
    agent: AgentName | None = None
    iterations: int | None = None  # limits of its own
    minutes: float | None = None
    stuck_after: int | None = None
    source: str = ""  # where it was imported from: the same thing is not imported twice
    done: bool = False  # it was over before it came here


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


class Attempt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One run for a task."""

    run: RunId
    began_at: datetime
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    note: str = ""
    failure: FailureKind | None = None  # what led to its end
    tally: Tally = Tally()
    flawed: bool = False  # it asked or was blocked, something was found, or nobody can say


class Task(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    id: str
    title: str
    number: int  # the how-manieth it is: its age
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
    retries: int = 0
    attempts: tuple[Attempt, ...] = ()
    open: str = ""  # the child run that works for it now
    conflicts: int = 0  # how often its work did not fit, in a row
    pin: int = 0  # the higher, the nearer to the front; 0 is not pinned
    assigned: bool = False  # a person wants it done, whatever the mode
    held: bool = False  # a person ended it or took it over: only a person starts it again
    news: str = ""  # what the next attempt's first prompt says besides the goal
    given: str = ""  # a commit of a person's that the next attempt goes on from
    target: str = ""  # the branch that its work began from
    onto: str = ""  # a commit of the target that its work must be fitted to
    verified: str = ""  # the tree that passed the gate
    verified_by: str = ""  # the mark of that gate
    merged: str = ""  # the commit that brought it into the target
    changed_at: datetime | None = None  # its status
    note: str = ""  # why it is where it is
    reviews: tuple[Review, ...] = ()  # what people said of lines of its work between attempts

    @property
    def asks(self) -> bool:
        """Whether its agent waits for an answer."""
        return self.status is Status.WAITING and bool(self.open)

    @property
    def has_crashed(self) -> bool:
        """Whether its agent died, and nobody has said since what is to become of it."""
        last = self.attempts[-1].outcome if self.attempts else None
        is_untold = bool(self.note) and not self.assigned and not self.held
        return self.status is Status.PENDING and last is Outcome.CRASHED and is_untold

    @property
    def lacks_merge(self) -> bool:
        """Whether its work is verified and approved, and could not be merged."""
        return self.status is Status.WAITING and bool(self.verified) and not self.open

    @property
    def tally(self) -> Tally:
        total = Tally()
        for attempt in self.attempts:
            total = total.plus(attempt.tally)
        return total


def branch_of(task: str) -> str:
    """Where its work is brought to if nobody merges it."""
    return f"allstop/{task}"
