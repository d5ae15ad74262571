"""A program that merges and lands the work of `w`, to be killed meanwhile."""

import sys
from pathlib import Path

import anyio

from allstop.adapters.git import GitWorkspaces
from allstop.adapters.git.repository.repository import Repository
from allstop.ports import Box
from support.in_memory_world import FakeLauncher


async def main(root):
    workspaces = GitWorkspaces(
        Repository(root),
        root / ".allstop" / "workspaces",
        launcher=FakeLauncher(),
        box=Box(home=""),
        stores=(),
    )
    made = await workspaces.integrate("w", "main", "Merge w", "run")
    print(made)
    landed = await workspaces.land("main", made.tip, made.commit)
    print(landed)
    if type(landed).__name__ != "Landed":
        sys.exit(1)


anyio.run(main, Path(sys.argv[1]))
