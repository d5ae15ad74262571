"""Programs, and the boxes they run in."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from allstop.core.errors import AllstopError
from allstop.core.events import Killed


class Network(StrEnum):
    NONE = "none"
    FULL = "full"


class Caps(Struct, frozen=True, kw_only=True):
    """What a program and its children may use; None means no limit."""

    processes: int | None = 512
    memory_mb: int | None = None  # of all together
    file_mb: int | None = None  # the largest file


class Box(Struct, frozen=True, kw_only=True):
    """What a program can see and change; everything else isn't there."""

    home: str  # a folder of the host that becomes its home
    workspace: str | None = None  # the folder of the host it may change
    fresh: bool = False  # it was just made: what was laid into it is the program's as well
    at: str = "/work"  # where that folder appears; the program starts there
    objects: tuple[str, ...] = ()  # git object stores it may read, first the repository's own
    read: tuple[str, ...] = ()  # paths of the host it may read, at their own places
    network: Network = Network.FULL
    caps: Caps = Caps()
    env: Mapping[str, str] = {}  # for whatever is launched in it


DESK = "/run/allstop/desk"
"""Where a box has the folder that leads to the desk of its turn."""


class Launch(Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    box: Box
    label: str  # whose it is: the run's id; shown in receipts
    env: Mapping[str, str] = {}  # all it gets, besides what the box sets
    programs: tuple[str, ...] = ()  # others than argv[0] whose files must be there
    desk: str = ""  # a folder of the host that is shown at DESK, last on its PATH
    behind: tuple[str, ...] = ()  # programs that ours there need: shown, but not on its PATH
    errors_late: bool = False  # what it says of them is of use in the end only, and not waited for
    trusted: bool = False  # ours: may run where there is no sandbox
    sparse: bool = False  # a shell and programs of /usr are all it needs of the system


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


class Outgrown(NamedTuple):
    """Programs that took more memory together than they may."""

    label: str
    why: str


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

    async def outgrown(self) -> Outgrown:
        """Wait until the programs of a launch hold more memory than they may; they are struck."""
        ...

    def overran(self, label: str) -> str:
        """Why the kernel ended programs under this label since that was last asked: they came to
        all the memory that they may hold together. "" where it didn't.
        """
        ...

    def killed(self, label: str = "") -> tuple[Killed, ...]:
        """The trees under this label that were put down while alive; each is told once."""
        ...


class UnsafeError(AllstopError):
    """There is no sandbox, and nobody said by name that this is fine."""


class LaunchError(AllstopError):
    """The program can't be started."""
