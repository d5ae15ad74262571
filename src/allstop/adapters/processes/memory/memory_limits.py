"""Memory limits of live process trees, and the trees that exceed them.

The kernel enforces the limits where cgroups can be used; elsewhere memory use is polled.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import anyio

from allstop.adapters.processes.live_registry import TreeKind
from allstop.adapters.processes.memory.cgroups import Cgroup, Cgroups, own_cgroups
from allstop.adapters.processes.memory.memory_use import IN_MEMORY, used_bytes
from allstop.adapters.processes.proc import family_of

POLL_EVERY_S = 1.0
NEAR_EVERY_S = 0.2
NEAR_SHARE = 0.5
"""Above this share of its limit, a tree is polled more often."""


REMOVE_TRIES = 100
REMOVE_EVERY_S = 0.02
"""A killed process takes a moment to end. A cgroup that remains is removed at the next start."""

REMEDY = "have it run fewer at once, or raise limits.memory_mb"


class MemoryLimit(NamedTuple):
    label: str
    root: int
    kind: TreeKind
    max_mb: int


class MemoryLimits:
    """Polls only while a limited tree without a cgroup is alive, and not in its first second."""

    def __init__(self, find_cgroups: Callable[[], Cgroups | None] = own_cgroups) -> None:
        self._find_cgroups = find_cgroups
        self._polled: dict[int, MemoryLimit] = {}  # polled trees, by root pid
        self._polled_added = anyio.Event()
        self._in_cgroups: dict[int, tuple[MemoryLimit, Cgroup]] = {}
        self._out_of_memory: dict[str, str] = {}

    async def add(self, limit: MemoryLimit) -> None:
        """Call this before the program starts."""
        self._out_of_memory.pop(limit.label, None)
        if sys.platform != "linux":
            return
        if cgroup := await anyio.to_thread.run_sync(self._cgroup_for, limit):
            self._in_cgroups[limit.root] = limit, cgroup
            return
        self._polled[limit.root] = limit
        self._polled_added.set()

    def remove(self, root: int) -> None:
        self._polled.pop(root, None)

    async def finish(self, root: int) -> None:
        """Clean up after the tree's end; processes that escaped from it are still in its cgroup."""
        if root not in self._in_cgroups:
            return
        limit, cgroup = self._in_cgroups.pop(root)
        if cgroup.was_out_of_memory:
            self._out_of_memory[limit.label] = _killed_message(limit)
        with anyio.CancelScope(shield=True):
            for _ in range(REMOVE_TRIES):
                if cgroup.remove():
                    return
                cgroup.kill()
                await anyio.sleep(REMOVE_EVERY_S)

    def out_of_memory(self, label: str) -> str:
        """Why the kernel killed programs under this label since the last call; "" if it didn't."""
        return self._out_of_memory.pop(label, "")

    def _cgroup_for(self, limit: MemoryLimit) -> Cgroup | None:
        """Move the innermost process, which becomes the program, into a cgroup."""
        if (cgroups := self._find_cgroups()) is None:
            return None
        try:
            cgroup = cgroups.make(limit.max_mb)
        except OSError:
            return None
        try:
            cgroup.add(([limit.root] + [child for child, _ in family_of(limit.root)])[-1])
        except OSError:
            cgroup.remove()
            return None
        return cgroup

    async def memory_exceeded(self) -> tuple[MemoryLimit, str]:
        """Wait for a tree that exceeds its limit; returns it with an explanation."""
        every_s = POLL_EVERY_S
        while True:
            if not self._polled:
                self._polled_added = anyio.Event()
                await self._polled_added.wait()
                every_s = POLL_EVERY_S
            await anyio.sleep(every_s)
            shares = [await self._share(limit) for limit in tuple(self._polled.values())]
            for limit, share in shares:
                if share > 1 and self._polled.get(limit.root) is limit:
                    return limit, _exceeded_message(limit, share)
            near = any(share > NEAR_SHARE for _, share in shares)
            every_s = NEAR_EVERY_S if near else POLL_EVERY_S

    async def _share(self, limit: MemoryLimit) -> tuple[MemoryLimit, float]:
        """Return the share of its limit that it uses.

        In a thread: reading waits for memory mappings.
        """
        max_bytes = limit.max_mb * 1024**2
        folders = IN_MEMORY if limit.kind is TreeKind.BOX else ()
        used = await anyio.to_thread.run_sync(
            used_bytes, limit.root, folders, max_bytes, abandon_on_cancel=True
        )
        return limit, used / max_bytes


def _exceeded_message(limit: MemoryLimit, share: float) -> str:
    return (
        f"its programs hold {share * limit.max_mb:,.0f} MB of memory, more than the"
        f" {limit.max_mb:,} MB that they may hold together; {REMEDY}"
    )


def _killed_message(limit: MemoryLimit) -> str:
    return (
        f"its programs needed more memory than the {limit.max_mb:,} MB that they may hold together;"
        f" {REMEDY}"
    )
