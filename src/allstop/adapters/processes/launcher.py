"""Starts programs, and ends their process trees whatever they do."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from allstop.adapters.processes.frozen_labels import (
    LabelOrder,
    Order,
    Orders,
    covers,
    is_frozen,
    with_order,
)
from allstop.adapters.processes.identity import identify, own_identity
from allstop.adapters.processes.live_records import LiveRecordFile, LiveRecords
from allstop.adapters.processes.live_registry import Record, TreeKind
from allstop.adapters.processes.memory.cgroups import Cgroups, own_cgroups
from allstop.adapters.processes.memory.memory_limits import MemoryLimit, MemoryLimits
from allstop.adapters.processes.priority import lower_session
from allstop.adapters.processes.proc import halt_family, resume_family
from allstop.core.errors import AllstopError
from allstop.core.events import Killed
from allstop.ports import Child, Isolation, Launch, LaunchError, MemoryExceeded

KILL_TIMEOUT_S = 10.0
FREEZE_TIMEOUT_S = 2.0


class SurvivedError(AllstopError):
    """The kernel doesn't end a killed process."""

    default_code = "process_survived"


class ProcessTree(Protocol):
    """The processes of one launch."""

    @property
    def kind(self) -> TreeKind: ...

    async def ready(self) -> int:
        """Wait until the program may start; returns the root process, whose end is the end of all.

        Raises LaunchError if the program can't be started.
        """
        ...

    async def start_program(self) -> Child:
        """Start the program. Raises LaunchError if the program can't be run."""
        ...

    def has_ended(self) -> bool:
        """Whether the program itself has ended; processes that it started may be alive."""
        ...

    def kill(self) -> None:
        """Begin to kill it, without waiting."""
        ...

    async def kill_and_wait(self) -> None:
        """Kill all of it, and wait for the end."""
        ...

    def close(self) -> None:
        """Release its descriptors."""
        ...


StartTree = Callable[[Launch], ProcessTree]


class _LiveTree(NamedTuple):
    label: str
    root: int


class ProcessLauncher:
    def __init__(
        self,
        *,
        isolation: Isolation,
        start: StartTree,
        live_dir: Path,
        cgroups: Callable[[], Cgroups | None] = own_cgroups,
    ) -> None:
        """`live_dir` holds the records of live trees, so that another process can kill them."""
        live_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._isolation = isolation
        self._start = start
        self._records = LiveRecords(live_dir)
        self._live: dict[_LiveTree, ProcessTree] = {}
        self._memory_limits = MemoryLimits(cgroups)
        self._killed: list[Killed] = []
        self._orders: Orders = ()
        self._thawed = anyio.Event()

    @property
    def isolation(self) -> Isolation:
        return self._isolation

    async def freeze(self, label: str) -> None:
        self._orders = with_order(self._orders, LabelOrder(label, Order.FREEZE))
        async with anyio.create_task_group() as group:
            for live in self._trees_under(label):
                group.start_soon(self._freeze_if_wanted, live)

    async def thaw(self, label: str) -> None:
        self._orders = with_order(self._orders, LabelOrder(label, Order.THAW))
        for live in self._trees_under(label):
            resume_family(live.root)
        self._thawed.set()
        self._thawed = anyio.Event()

    def kill(self, label: str) -> None:
        """Kill everything under this label at once.

        The launch blocks must still be left. When hostile programs use all CPU time, leaving many
        blocks may take a second instead of milliseconds, so the kill comes first.
        """
        for live in self._trees_under(label):
            self._kill_live(live)

    async def memory_exceeded(self) -> MemoryExceeded:
        limit, why = await self._memory_limits.memory_exceeded()
        self._kill_live(_LiveTree(limit.label, limit.root))
        return MemoryExceeded(limit.label, why)

    def out_of_memory(self, label: str) -> str:
        return self._memory_limits.out_of_memory(label)

    def killed(self, label: str = "") -> tuple[Killed, ...]:
        reported = tuple(each for each in self._killed if covers(label, each.label))
        self._killed = [each for each in self._killed if each not in reported]
        return reported

    @asynccontextmanager
    async def launch(self, launch: Launch) -> AsyncIterator[Child]:
        tree = self._start(launch)
        record_file: LiveRecordFile | None = None
        live: _LiveTree | None = None
        try:
            root = await tree.ready()
            if tree.kind is TreeKind.BOX:
                lower_session(root)
            record_file = self._record(launch.label, tree.kind, root)
            await self._until_thawed(launch.label)
            live = _LiveTree(launch.label, root)
            self._live[live] = tree
            if max_mb := launch.box.caps.memory_mb:
                await self._memory_limits.add(MemoryLimit(launch.label, root, tree.kind, max_mb))
            child = await tree.start_program()
            await self._freeze_if_wanted(live)
            yield child
        finally:
            if live:
                self._kill_live(live)
            tree.kill()
            if not tree.has_ended():
                # so that other blocks that end at this moment kill theirs first
                await cancel_shielded_checkpoint()
            await _kill_tree(tree, launch.label)
            if live:
                await self._memory_limits.finish(live.root)
            if record_file:
                self._records.release(record_file)

    def _kill_live(self, live: _LiveTree) -> None:
        tree = self._live.pop(live, None)  # its pid may be reused soon
        self._memory_limits.remove(live.root)
        if tree and not tree.has_ended():
            self._killed.append(Killed(label=live.label, pid=live.root))
            tree.kill()

    def _record(self, label: str, kind: TreeKind, root: int) -> LiveRecordFile | None:
        tree = identify(root)
        if tree is None:
            return None  # already ended
        record = Record(label=label, kind=kind, root=tree, driver=own_identity())
        try:
            return self._records.add(record)
        except OSError as error:
            raise LaunchError(
                f"no record can be written to {self._records.directory}: {error.strerror}",
                code="record_not_written",
            ) from error

    async def _until_thawed(self, label: str) -> None:
        while is_frozen(self._orders, label):
            await self._thawed.wait()

    async def _freeze_if_wanted(self, live: _LiveTree) -> None:
        if is_frozen(self._orders, live.label):
            # repeated until all are stopped: one that forks while being stopped leaves a child
            with anyio.move_on_after(FREEZE_TIMEOUT_S):
                while is_frozen(self._orders, live.label) and halt_family(live.root):
                    await checkpoint()

    def _trees_under(self, label: str) -> list[_LiveTree]:
        return [live for live in self._live if covers(label, live.label)]


async def _kill_tree(tree: ProcessTree, label: str) -> None:
    with anyio.move_on_after(KILL_TIMEOUT_S, shield=True) as scope:
        await tree.kill_and_wait()
    tree.close()
    if scope.cancelled_caught:
        raise SurvivedError(
            f"a process of {label} can't be killed", "the kernel doesn't end it; look at it with ps"
        )
