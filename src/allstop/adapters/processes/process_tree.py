"""Freezes and thaws all processes below a root process."""

from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from allstop.adapters.processes.proc import halt_family, resume_family

FREEZE_TIMEOUT_S = 2.0


async def freeze(root: int, is_wanted: Callable[[], bool]) -> None:
    """Repeat until all processes are stopped: one that forks while being stopped leaves a child."""
    with anyio.move_on_after(FREEZE_TIMEOUT_S):
        while is_wanted() and halt_family(root):
            await checkpoint()


def thaw(root: int) -> None:
    resume_family(root)
