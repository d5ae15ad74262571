"""Starts programs, and ends them whatever they do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint

from allstop.adapters.processes import process_tree
from allstop.adapters.processes.frozen_labels import Said, Say, Words, covers, is_frozen, with_word
from allstop.adapters.processes.identity import identify, ourselves
from allstop.adapters.processes.live_records import Slip, Slips
from allstop.adapters.processes.live_registry import Kind, Record
from allstop.adapters.processes.memory.cgroups import Groups, our_groups
from allstop.adapters.processes.memory.memory_limits import Bound, Bounds
from allstop.core.errors import AllstopError
from allstop.core.events import Killed
from allstop.ports import Child, Isolation, Launch, LaunchError, Outgrown

PUT_DOWN_WITHIN_S = 10.0


class SurvivedError(AllstopError):
    """The kernel doesn't let go of a process."""


class Tree(Protocol):
    """What was spawned for one launch."""

    @property
    def kind(self) -> Kind: ...

    async def ready(self) -> int:
        """Until the program can be let go; the process whose end is the end of all.

        Raises:
            LaunchError: it never will be.
        """
        ...

    async def go(self) -> Child:
        """
        Raises:
            LaunchError: the program can't be run.
        """
        ...

    def has_ended(self) -> bool:
        """Whether the program itself has; what it left behind may live."""
        ...

    def strike(self) -> None:
        """Begin to end it: the least that has to be done at once."""
        ...

    async def put_down(self) -> None:
        """Kill all of it, and return when it is gone."""
        ...

    def close(self) -> None:
        """Give back what was held for it."""
        ...


Start = Callable[[Launch], Tree]


class _Live(NamedTuple):
    label: str
    root: int


class ProcessLauncher:
    def __init__(
        self,
        *,
        isolation: Isolation,
        start: Start,
        live_dir: Path,
        groups: Callable[[], Groups | None] = our_groups,
    ) -> None:
        """`live_dir` is where the living trees are written down, for whoever must end them."""
        live_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._isolation = isolation
        self._start = start
        self._slips = Slips(live_dir)
        self._live: dict[_Live, Tree] = {}
        self._bounds = Bounds(groups)
        self._killed: list[Killed] = []
        self._words: Words = ()
        self._thawed = anyio.Event()

    @property
    def isolation(self) -> Isolation:
        return self._isolation

    def launch(self, launch: Launch) -> AbstractAsyncContextManager[Child]:
        return self._launched(launch)

    async def freeze(self, label: str) -> None:
        self._words = with_word(self._words, Said(label, Say.FREEZE))
        async with anyio.create_task_group() as group:
            for live in self._under(label):
                group.start_soon(self._stopped_if_frozen, live)

    async def thaw(self, label: str) -> None:
        self._words = with_word(self._words, Said(label, Say.THAW))
        for live in self._under(label):
            process_tree.thaw(live.root)
        self._thawed.set()
        self._thawed = anyio.Event()

    def strike(self, label: str) -> None:
        """Kill everything under this label now, whoever waits for it.

        Their blocks must be left as always. But where hostile programs take all the time there
        is, the few milliseconds in which many blocks are left may last a second.
        """
        for live in self._under(label):
            self._strike(live)

    async def outgrown(self) -> Outgrown:
        bound, why = await self._bounds.outgrown()
        self._strike(_Live(bound.label, bound.root))
        return Outgrown(bound.label, why)

    def overran(self, label: str) -> str:
        return self._bounds.overran(label)

    def killed(self, label: str = "") -> tuple[Killed, ...]:
        told = tuple(each for each in self._killed if covers(label, each.label))
        self._killed = [each for each in self._killed if each not in told]
        return told

    @asynccontextmanager
    async def _launched(self, launch: Launch) -> AsyncIterator[Child]:
        tree = self._start(launch)
        slip: Slip | None = None
        live: _Live | None = None
        try:
            root = await tree.ready()
            slip = self._write_down(launch.label, tree.kind, root)
            await self._until_thawed(launch.label)
            live = _Live(launch.label, root)
            self._live[live] = tree
            if most_mb := launch.box.caps.memory_mb:
                await self._bounds.add(Bound(launch.label, root, tree.kind, most_mb))
            child = await tree.go()
            await self._stopped_if_frozen(live)
            yield child
        finally:
            if live:
                self._strike(live)
            tree.strike()
            if not tree.has_ended():
                await cancel_shielded_checkpoint()  # so that others which end now strike now too
            await _end(tree, launch.label)
            if live:
                await self._bounds.settle(live.root)
            if slip:
                self._slips.take_back(slip)

    def _strike(self, live: _Live) -> None:
        tree = self._live.pop(live, None)  # its number may soon be another's
        self._bounds.remove(live.root)
        if tree and not tree.has_ended():
            self._killed.append(Killed(label=live.label, pid=live.root))
            tree.strike()

    def _write_down(self, label: str, kind: Kind, root: int) -> Slip | None:
        tree = identify(root)
        if tree is None:
            return None  # already gone
        record = Record(label=label, kind=kind, root=tree, driver=ourselves())
        try:
            return self._slips.write_down(record)
        except OSError as error:
            raise LaunchError(
                f"the program can't be written down in {self._slips.directory}: {error.strerror}"
            ) from error

    async def _until_thawed(self, label: str) -> None:
        while is_frozen(self._words, label):
            await self._thawed.wait()

    async def _stopped_if_frozen(self, live: _Live) -> None:
        if is_frozen(self._words, live.label):
            await process_tree.freeze(live.root, lambda: is_frozen(self._words, live.label))

    def _under(self, label: str) -> list[_Live]:
        return [live for live in self._live if covers(label, live.label)]


async def _end(tree: Tree, label: str) -> None:
    with anyio.move_on_after(PUT_DOWN_WITHIN_S, shield=True) as scope:
        await tree.put_down()
    tree.close()
    if scope.cancelled_caught:
        raise SurvivedError(f"a process of {label} can't be killed", "the kernel holds it; see ps")
