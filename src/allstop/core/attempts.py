"""What is known of an attempt at a task while it goes on."""

from datetime import datetime

from msgspec import Struct

from allstop.core.ids import AgentName
from allstop.core.moves import Change, Finding, Gate, Outcome
from allstop.core.replies import NOTHING_SAID, Said
from allstop.core.roster import Roster
from allstop.core.specs import TaskSpec


class TaskState(Struct, frozen=True, gc=False, kw_only=True):
    spec: TaskSpec
    roster: Roster
    base: str = ""
    gate: Gate | None = None  # the target's, when the workspace was last opened
    agent: AgentName = AgentName("")  # who had the last turn
    thread: str | None = None
    change: Change | None = None
    iteration: int = 0
    said: Said = NOTHING_SAID
    news: str = ""  # what the next prompt adds to the goal
    told: tuple[str, ...] = ()  # by people, and not yet answered by a whole turn
    hears: int = 0  # how many of these the turn that is under way was told
    failures: int = 0
    limits: int = 0
    wait_until: datetime | None = None
    checked: bool = False
    unable: bool = False  # the last gate had a check in it that could not be run at all
    tree: str = ""  # what passed the checks
    findings: tuple[Finding, ...] = ()
    delivered: bool = False
    asked: bool = False  # it once needed a person
    still: int = 0  # iterations since its last commit
    progress: str = ""  # how far it says it is
    began: datetime | None = None  # the move that is under way
    busy_s: float = 0.0
    stash: bool = False  # a stop left something uncommitted
    given: str = ""  # a commit of a person's, to bring in
    end: Outcome | None = None
    note: str = ""

    @property
    def is_stuck(self) -> bool:
        """It may be thinking; a person should know."""
        return 0 < self.spec.stuck_after <= self.still

    @property
    def held_to(self) -> Gate | TaskSpec:
        """The gate that its work must pass."""
        return self.gate or self.spec
