"""Programs, the boxes that they run in, and the launcher's protocol."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from allstop.core.errors import AllstopError
from allstop.core.events import Killed


class Network(StrEnum):
    NONE = "none"
    FULL = "full"


class Caps(Struct, frozen=True, kw_only=True):
    """Limits of a program and its children; None means no limit."""

    processes: int | None = 512
    memory_mb: int | None = None  # of all processes together
    file_mb: int | None = None  # of one file


GATEWAY_PORT = 8787
"""The port on a box's own loopback that leads to its model, and to other hosts."""

HOSTS_PORT = 61787
"""The port if there is no model: one that programs in a box are unlikely to want themselves."""


class BoxSockets(NamedTuple):
    """Descriptors of sockets in a box's network, for a process outside, which closes them."""

    calls: int  # listens for TCP on the gateway's port
    names: int  # UDP; gets the box's lookups of names


class BoxGateway(Protocol):
    """Serves the loopback of one box."""

    @property
    def port(self) -> int: ...

    def serve(self, sockets: BoxSockets) -> None:
        """Take over the sockets; called before the program starts, once for each launch."""
        ...


class Box(Struct, frozen=True, kw_only=True):
    """The paths that a program can see and change; it sees nothing else."""

    home: str  # a folder of the host, mounted as its home
    workspace: str | None = None  # a folder of the host that it may change
    fresh: bool = False  # just made: as root, its content is given to the box's user
    at: str = "/work"  # where that folder is mounted; the program starts there
    objects: tuple[str, ...] = ()  # git object stores it may read, first the repository's own
    read: tuple[str, ...] = ()  # paths of the host that it may read, mounted at the same path
    path: tuple[str, ...] = ()  # the person's PATH; empty means that of this process
    tools: tuple[str, ...] = ()  # programs of the person that it may run, found on that PATH
    network: Network = Network.FULL
    gateway: BoxGateway | None = None  # what answers on its loopback; only without a network
    hosts: tuple[str, ...] | None = None  # without a network: what a gateway may lead to
    caps: Caps = Caps()
    env: Mapping[str, str] = {}  # for every program in it


class OpenHosts(Protocol):
    """Gives a box its gateway to other hosts, until the block ends."""

    def __call__(self, box: Box, tell: Callable[[str], None]) -> AbstractAsyncContextManager[Box]:
        """`tell` gets a sentence for each host that is refused, when it is."""
        ...


@asynccontextmanager
async def no_hosts(box: Box, tell: Callable[[str], None]) -> AsyncIterator[Box]:
    """Leave a box as it is: it reaches no host, unless it has the whole network."""
    yield box


TURN_TOOLS = "/run/allstop/desk"
"""The path in a box of the folder with the programs that talk to its turn."""


class Launch(Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    box: Box
    label: str  # the run's id; shown in receipts
    env: Mapping[str, str] = {}  # all variables, besides those that the box sets
    programs: tuple[str, ...] = ()  # further programs whose files must be visible
    turn_tools: str = ""  # a folder of the host that is mounted at TURN_TOOLS, last on its PATH
    behind: tuple[str, ...] = ()  # programs that those need: visible, but not on its PATH
    errors_late: bool = False  # its error output may be read later, and nothing waits for it
    trusted: bool = False  # Allstop's own: may run without a sandbox
    sparse: bool = False  # needs only a shell and programs of /usr


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
        """Write to its standard input. A program that doesn't read is not an error."""
        ...

    async def close_input(self) -> None: ...

    async def receive(self) -> Chunk | None:
        """Return the next piece of output; None when the program has ended and all was read."""
        ...

    async def wait(self) -> Exit: ...


class Isolation(Struct, frozen=True, kw_only=True):
    """How well programs are isolated on this machine."""

    boxed: bool  # by the kernel
    allowed: bool  # unattended programs may run
    how: str  # one line for people
    hint: str = ""


class MemoryExceeded(NamedTuple):
    """Programs that used more memory together than allowed."""

    label: str
    why: str


class Launcher(Protocol):
    """Starts programs, and ends them whatever they do."""

    @property
    def isolation(self) -> Isolation: ...

    def launch(self, launch: Launch) -> AbstractAsyncContextManager[Child]:
        """Start a program. Leaving the block kills its process tree and waits until it has ended.

        Raises UnsafeError if there is no sandbox, and the settings don't allow that, and
        LaunchError if the program can't be started.
        """
        ...

    async def freeze(self, label: str) -> None:
        """Stop every process under this label or a label below it."""
        ...

    async def thaw(self, label: str) -> None: ...

    def kill(self, label: str) -> None:
        """Kill every process under this label at once, without waiting; their blocks end by it."""
        ...

    async def memory_exceeded(self) -> MemoryExceeded:
        """Wait until the programs of a launch use more memory than allowed; they are killed."""
        ...

    def out_of_memory(self, label: str) -> str:
        """Why the kernel killed programs under this label since the last call; "" if it didn't."""
        ...

    def killed(self, label: str = "") -> tuple[Killed, ...]:
        """Return the trees under this label that were killed while alive; each is reported once."""
        ...


class UnsafeError(AllstopError):
    """There is no sandbox, and the settings don't allow that."""

    default_code = "no_sandbox"


class LaunchError(AllstopError):
    """The program can't be started."""

    default_code = "launch_failed"
