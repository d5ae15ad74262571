"""Git commands in the user's own repository; never in a tree that an agent can write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio

from allstop.core.errors import AllstopError

_QUIET = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "fetch.fsckObjects=true",
    "-c", "transfer.fsckObjects=true",
)  # fmt: skip
"""Reading somebody's commits must run nothing and tidy nothing up."""


class GitError(AllstopError):
    """Git refused."""


class Repository:
    """The user's repository, as far as Allstop touches it: refs under refs/allstop, and branches."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def git(self, *arguments: str) -> str:
        """The standard output of a git command.

        Raises:
            GitError: it failed; the message is what it said.
        """
        done = await anyio.run_process(
            ["git", *_QUIET, *arguments],
            cwd=self.root,
            env=_environment(),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise GitError(f"git {arguments[0]}: {said or f'exit code {done.returncode}'}")
        return done.stdout.decode(errors="replace").strip()

    async def commit(self, revision: str) -> str | None:
        """The commit a revision names, if it does."""
        try:
            return await self.git(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
            )
        except GitError:
            return None

    async def is_ancestor(self, one: str, other: str) -> bool:
        try:
            await self.git("merge-base", "--is-ancestor", one, other)
        except GitError:
            return False
        return True

    async def object_stores(self) -> tuple[str, ...]:
        """Where its objects are: its own store first, then those it borrows from."""
        first = await self.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
        found: list[str] = []
        waiting = [Path(first)]
        while waiting:
            store = waiting.pop(0)
            if str(store) not in found:
                found.append(str(store))
                waiting += _borrowed(store)
        return tuple(found)


def _borrowed(store: Path) -> list[Path]:
    alternates = store / "info" / "alternates"
    if not alternates.is_file():
        return []
    lines = alternates.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    paths = [line for line in lines if line and not line.startswith("#")]
    return [Path(os.path.normpath(store / path)) for path in paths]


def _environment() -> dict[str, str]:
    """The user's own, without what would point git at another repository or ask questions."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def find_root(start: Path) -> Path | None:
    """The top of the work tree that `start` lies in."""
    done = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"],
        cwd=start,
        env=_environment(),
        capture_output=True,
        check=False,
    )
    return Path(os.fsdecode(done.stdout.rstrip(b"\n"))) if done.returncode == 0 else None


def checked_out_branch(root: Path) -> str | None:
    """None where HEAD is on no branch."""
    done = subprocess.run(
        ["git", "symbolic-ref", "--quiet", "--short", "HEAD"],
        cwd=root,
        env=_environment(),
        capture_output=True,
        check=False,
    )
    return done.stdout.decode().strip() or None
