"""Which living trees may hold how much memory, and which of them hold more."""

from __future__ import annotations

import sys
from typing import NamedTuple

import anyio

from allstop.adapters.processes.memory import IN_MEMORY, held
from allstop.adapters.processes.registry import Kind

LOOK_EVERY_S = 1.0
NEAR_EVERY_S = 0.2
NEAR = 0.5
"""The share of what it may hold from which a tree is looked at more often."""


class Bound(NamedTuple):
    label: str
    root: int
    kind: Kind
    most_mb: int


class Bounds:
    """While nothing that is bounded lives, nothing is looked at; nor in its first second."""

    def __init__(self) -> None:
        self._living: dict[int, Bound] = {}  # by their roots
        self._some = anyio.Event()

    def add(self, bound: Bound) -> None:
        if sys.platform == "linux":
            self._living[bound.root] = bound
            self._some.set()

    def remove(self, root: int) -> None:
        self._living.pop(root, None)

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
        f"its programs hold {share * bound.most_mb:,.0f} MB of memory, and may hold"
        f" {bound.most_mb:,} MB together; have it run fewer at once, or raise limits.memory_mb"
    )
