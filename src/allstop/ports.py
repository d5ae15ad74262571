"""What the loop needs from the outside world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from allstop.core.approvals import Ask
from allstop.core.errors import AllstopError
from allstop.core.events import Event, Killed
from allstop.core.ids import AgentName, RunId, WriteId
from allstop.core.moves import (
    Change,
    Check,
    CheckResult,
    Delivered,
    Failed,
    Item,
    Prompt,
    TurnDone,
    WorkspaceOpen,
)

# --- the journal ------------------------------------------------------------------------------


class Entry(NamedTuple):
    run: RunId
    event: Event


class Record(NamedTuple):
    run: RunId
    seq: int
    event: Event


class Cursor(NamedTuple):
    """How far someone has read a run, and the helm."""

    run: RunId
    seq: int
    helm: int


class Head(NamedTuple):
    """What is known of a run without reading it."""

    run: RunId
    kind: str
    parent: RunId | None
    seq: int
    opened_at: datetime
    closed: bool


class Holder(Struct, frozen=True, kw_only=True):
    """Who drives a run."""

    pid: int
    host: str
    command: str
    since: datetime


class StaleError(Exception):
    """Someone wrote to the run or to the helm first: read again and think again."""


class HeldError(AllstopError):
    """Another process drives this run."""

    def __init__(self, run: RunId, holder: Holder | None) -> None:
        who = (
            f"process {holder.pid} on {holder.host} ({holder.command})"
            if holder
            else "another process"
        )
        super().__init__(f"{run} is being driven by {who}", "stop that one first, or let it finish")
        self.run = run
        self.holder = holder


class StoreFullError(AllstopError):
    """The disk that holds the store is full: nothing can be written until there is room."""


class StoreBusyError(AllstopError):
    """Another process keeps the store locked: nothing can be written until it lets go."""


class StoreBrokenError(AllstopError):
    """The store can't be read or is of another version."""


Ear = Callable[[RunId, int], None]
"""Is told the run and its newest number. Called on the loop's thread; must return at once."""


class Journal(Protocol):
    """Keeps what happened to each run, in order, numbered from 1 without gaps."""

    async def append(
        self, *entries: Entry, expect: Cursor | None = None, write: WriteId | None = None
    ) -> None:
        """Write all entries or none; when it returns they are durable.

        Once it has begun it can't be cancelled half-way. A `write` that is already in the
        journal is not written again.

        Raises:
            StaleError: `expect` is given and more has been written since.
            StoreFullError: there is no room.
            StoreBusyError: another process doesn't let go of the store.
        """
        ...

    async def read(self, run: RunId, after: int = 0) -> Sequence[Record]: ...

    async def heads(self) -> Sequence[Head]:
        """Every run but the helm, oldest first."""
        ...

    def listen(self, ear: Ear) -> AbstractContextManager[None]:
        """Tell `ear` of every write from now on, by whomever, while `attend` runs."""
        ...

    async def attend(self) -> None:
        """Runs until cancelled: hears what other processes write."""
        ...

    def claim(self, run: RunId) -> AbstractContextManager[None]:
        """The right to drive this run and all below it. It ends with the block or the process.

        Raises:
            HeldError: another process has it.
        """
        ...

    def holders(self) -> Mapping[RunId, Holder | None]:
        """Which runs are claimed now, and by whom."""
        ...


# --- programs ---------------------------------------------------------------------------------


class Network(StrEnum):
    NONE = "none"
    FULL = "full"


class Caps(Struct, frozen=True, kw_only=True):
    """What a program and its children may use; None means no limit."""

    processes: int | None = 512
    memory_mb: int | None = None  # address space of one process
    file_mb: int | None = None  # the largest file


class Box(Struct, frozen=True, kw_only=True):
    """What a program can see and change; everything else isn't there."""

    home: str  # a folder of the host that becomes its home
    workspace: str | None = None  # the folder of the host it may change
    at: str = "/work"  # where that folder appears; the program starts there
    objects: tuple[str, ...] = ()  # git object stores it may read, first the repository's own
    read: tuple[str, ...] = ()  # paths of the host it may read, at their own places
    network: Network = Network.FULL
    caps: Caps = Caps()
    env: Mapping[str, str] = {}  # for whatever is launched in it


class Launch(Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    box: Box
    label: str  # whose it is: the run's id; shown in receipts
    env: Mapping[str, str] = {}  # all it gets, besides what the box sets
    programs: tuple[str, ...] = ()  # others than argv[0] whose files must be there
    trusted: bool = False  # ours: may run where there is no sandbox


class Stream(StrEnum):
    OUT = "out"
    ERR = "err"


class Chunk(NamedTuple):
    stream: Stream
    data: bytes


class Exit(NamedTuple):
    code: int  # negative: the signal that ended it


class Child(Protocol):
    """A running program."""

    @property
    def pid(self) -> int: ...

    async def send(self, data: bytes) -> None:
        """Write to its standard input. A program that doesn't listen is not an error."""
        ...

    async def close_input(self) -> None: ...

    async def receive(self) -> Chunk | None:
        """The next piece of output; None when the program has ended and all was read."""
        ...

    async def wait(self) -> Exit: ...


class Isolation(Struct, frozen=True, kw_only=True):
    """How well programs are kept apart here."""

    boxed: bool  # by the kernel
    allowed: bool  # unattended programs may run
    how: str  # one line for people
    hint: str = ""


class Launcher(Protocol):
    """Starts programs, and ends them whatever they do."""

    @property
    def isolation(self) -> Isolation: ...

    def launch(self, launch: Launch) -> AbstractAsyncContextManager[Child]:
        """Start it. Leaving the block ends its whole tree and waits until none of it is alive.

        Raises:
            UnsafeError: there is no sandbox and the settings don't say that is fine.
            LaunchError: the program can't be started.
        """
        ...

    async def freeze(self, label: str) -> None:
        """Stop every process under this label, or under one below it, where it is."""
        ...

    async def thaw(self, label: str) -> None: ...

    def strike(self, label: str) -> None:
        """Kill every process under this label now, without waiting; their blocks end by it."""
        ...

    def killed(self) -> tuple[Killed, ...]:
        """The trees that were put down while alive since this was last asked."""
        ...


class UnsafeError(AllstopError):
    """There is no sandbox, and nobody said by name that this is fine."""


class LaunchError(AllstopError):
    """The program can't be started."""


# --- agents -----------------------------------------------------------------------------------


class Live(NamedTuple):
    """Something to show while it happens; it is not kept."""

    kind: str
    text: str


class Watch(Protocol):
    """What an agent tells the loop while it takes a turn."""

    def live(self, live: Live) -> None: ...

    async def opened(self, thread: str) -> None:
        """The agent's name for its conversation, before anything is said in it."""
        ...

    async def saw(self, item: Item) -> None: ...

    async def ask(self, ask: Ask) -> bool:
        """Whether it may do this; waits for a person where no rule decides."""
        ...


class Abilities(Struct, frozen=True, kw_only=True):
    """What a driver can do besides taking a turn."""

    resume: bool = False
    fork: bool = False
    steer: bool = False
    asks: bool = False
    plan: bool = False
    diff: bool = False
    usage: bool = False
    structured: bool = False
    needs_box: bool = False


class Turn(Struct, frozen=True, kw_only=True):
    """What an agent is asked to do."""

    run: RunId
    prompt: Prompt
    place: Box | None = None
    thread: str | None = None  # go on with this conversation; None starts one
    fork: bool = False  # … in a copy of it
    idle_s: float = 600.0
    max_tokens: int | None = None


class Agent(Protocol):
    """Takes turns. Being cancelled must end whatever it started, commands included."""

    @property
    def abilities(self) -> Abilities: ...

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed: ...

    async def close(self) -> None:
        """Let go of what is kept between turns."""
        ...


Agents = Mapping[AgentName, Agent]

# --- the work ---------------------------------------------------------------------------------


class Workspaces(Protocol):
    """Clones of the repository, one for each piece of work, which only boxed programs touch."""

    async def open(self, workspace: str, target: str, label: str) -> WorkspaceOpen | Failed:
        """Make it from the tip of `target`; one that exists is taken up as it is."""
        ...

    def place(self, workspace: str) -> Box: ...

    async def keep(self, workspace: str, label: str) -> Change | Failed:
        """Commit what was left uncommitted, and say where the work stands."""
        ...

    async def candidate(self, workspace: str, label: str) -> Box | Failed:
        """A clean clone of the work's last commit, where it can be checked.

        Nothing the agent left lying about is in it.
        """
        ...

    async def deliver(self, workspace: str, branch: str, label: str) -> Delivered | Failed: ...


class Progress(Protocol):
    def __call__(self, live: Live) -> None: ...


class Checks(Protocol):
    """Runs what must succeed before work counts as done."""

    async def run(
        self, check: Check, place: Box, label: str, progress: Progress
    ) -> CheckResult: ...


class Clock(Protocol):
    def now(self) -> datetime: ...
