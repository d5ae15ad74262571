"""Writes refs below `refs/allstop/` through one long-lived `git update-ref` process.

The user's branches are written by a separate git each time: a long-lived process would put the
time of its first write into every reflog entry.
"""

from collections.abc import Sequence
from pathlib import Path

from allstop.adapters.git.repository.git_daemon import MAX_BYTES, GitDaemon, close_and_wait

OWN_PREFIX = "refs/allstop/"
UPDATE_REFS = ("update-ref", "--create-reflog", "--stdin")
APPLIED = ["start: ok", "commit: ok"]


class RefWriter:
    def __init__(self, root: Path) -> None:
        self._git = GitDaemon(root, UPDATE_REFS, close_and_wait)

    async def write(self, lines: Sequence[str]) -> bool:
        """Run these update-ref commands in one transaction; False if none of them was applied."""
        text = "".join(f"{line}\n" for line in ("start", *lines, "commit")).encode()
        if len(text) > MAX_BYTES or not all(ref_of(line).startswith(OWN_PREFIX) for line in lines):
            return False
        return await self._git.ask(text, len(APPLIED)) == APPLIED

    def close(self) -> None:
        self._git.close()


def ref_of(line: str) -> str:
    """Return the ref that a command of `git update-ref --stdin` names."""
    return line.split()[1]
