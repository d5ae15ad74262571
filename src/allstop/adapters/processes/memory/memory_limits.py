"""Which living trees may hold how much memory, and which of them hold more.

The kernel sees to it where it can be asked to (`groups`); elsewhere they are looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import anyio

from allstop.adapters.processes.live_registry import Kind
from allstop.adapters.processes.memory.cgroups import Group, Groups, our_groups
from allstop.adapters.processes.memory.memory_use import IN_MEMORY, held
from allstop.adapters.processes.proc import family_of

LOOK_EVERY_S = 1.0
NEAR_EVERY_S = 0.2
NEAR = 0.5
"""The share of what it may hold from which a tree is looked at more often."""


REMOVE_TRIES = 100
REMOVE_EVERY_S = 0.02
"""A process that was killed takes a moment to end. What is left after all is swept at the next start."""

REMEDY = "have it run fewer at once, or raise limits.memory_mb"


class Bound(NamedTuple):
    label: str
    root: int
    kind: Kind
    most_mb: int


class Bounds:
    """While nothing that is bounded lives, nothing is looked at; nor in its first second."""

    def __init__(self, find: Callable[[], Groups | None] = our_groups) -> None:
        self._find = find
        self._living: dict[int, Bound] = {}  # those that are looked at, by their roots
        self._some = anyio.Event()
        self._grouped: dict[int, tuple[Bound, Group]] = {}
        self._overran: dict[str, str] = {}

    async def add(self, bound: Bound) -> None:
        """Before its program is let go."""
        self._overran.pop(bound.label, None)
        if sys.platform != "linux":
            return
        if group := await anyio.to_thread.run_sync(self._group_for, bound):
            self._grouped[bound.root] = bound, group
            return
        self._living[bound.root] = bound
        self._some.set()

    def remove(self, root: int) -> None:
        self._living.pop(root, None)

    async def settle(self, root: int) -> None:
        """Its tree has ended; what may have got out of that is still in its group."""
        if root not in self._grouped:
            return
        bound, group = self._grouped.pop(root)
        if group.has_overrun:
            self._overran[bound.label] = _came_to(bound)
        with anyio.CancelScope(shield=True):
            for _ in range(REMOVE_TRIES):
                if group.remove():
                    return
                group.kill()
                await anyio.sleep(REMOVE_EVERY_S)

    def overran(self, label: str) -> str:
        """Why the kernel has ended something under this label since that was last asked."""
        return self._overran.pop(label, "")

    def _group_for(self, bound: Bound) -> Group | None:
        """What will become the program is the innermost: all that it starts is in its group."""
        if (groups := self._find()) is None:
            return None
        try:
            group = groups.make(bound.most_mb)
        except OSError:
            return None
        try:
            group.take_in(([bound.root] + [child for child, _ in family_of(bound.root)])[-1])
        except OSError:
            group.remove()
            return None
        return group

    async def outgrown(self) -> tuple[Bound, str]:
        """The first that is found to hold more than it may, and what to say of it."""
        every_s = LOOK_EVERY_S
        while True:
            if not self._living:
                self._some = anyio.Event()
                await self._some.wait()
                every_s = LOOK_EVERY_S
            await anyio.sleep(every_s)
            shares = [await self._share(bound) for bound in tuple(self._living.values())]
            for bound, share in shares:
                if share > 1 and self._living.get(bound.root) is bound:
                    return bound, _too_much(bound, share)
            near = any(share > NEAR for _, share in shares)
            every_s = NEAR_EVERY_S if near else LOOK_EVERY_S

    async def _share(self, bound: Bound) -> tuple[Bound, float]:
        """Of what it may hold. In a thread: whoever maps memory just now is waited for."""
        most = bound.most_mb * 1024**2
        folders = IN_MEMORY if bound.kind is Kind.BOX else ()
        taken = await anyio.to_thread.run_sync(
            held, bound.root, folders, most, abandon_on_cancel=True
        )
        return bound, taken / most


def _too_much(bound: Bound, share: float) -> str:
    return (
        f"its programs hold {share * bound.most_mb:,.0f} MB of memory, more than the"
        f" {bound.most_mb:,} MB that they may hold together; {REMEDY}"
    )


def _came_to(bound: Bound) -> str:
    return (
        f"its programs needed more memory than the {bound.most_mb:,} MB that they may hold together;"
        f" {REMEDY}"
    )
