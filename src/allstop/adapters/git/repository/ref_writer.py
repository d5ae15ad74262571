"""Refs that are Allstop's own, written by one git that stays.

Branches of the user's are not: the times in a reflog are those of the moment at which a git first
needed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from allstop.adapters.git.repository.git_daemon import MOST_BYTES, Lasting, let_go

OWN = "refs/allstop/"
UPDATE_REFS = ("update-ref", "--create-reflog", "--stdin")
DONE = ["start: ok", "commit: ok"]


class Noting:
    def __init__(self, root: Path) -> None:
        self._git = Lasting(root, UPDATE_REFS, let_go)

    async def note(self, lines: Sequence[str]) -> bool:
        """All or none; where it is none, another git has to be asked why."""
        text = "".join(f"{line}\n" for line in ("start", *lines, "commit")).encode()
        if len(text) > MOST_BYTES or not all(ref_of(line).startswith(OWN) for line in lines):
            return False
        return await self._git.answer(text, len(DONE)) == DONE

    def close(self) -> None:
        self._git.close()


def ref_of(line: str) -> str:
    """Which ref a command of `git update-ref --stdin` is about."""
    return line.split()[1]
