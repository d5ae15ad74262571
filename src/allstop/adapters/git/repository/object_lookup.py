"""Looks up git objects through one long-lived `git cat-file` process."""

import os
from collections.abc import Sequence
from pathlib import Path

from allstop.adapters.git.repository.git_daemon import MAX_BYTES, GitDaemon, kill


class ObjectLookup:
    def __init__(self, root: Path) -> None:
        self._git = GitDaemon(root, ("cat-file", "--batch-check"), kill)

    async def look_up(self, revisions: Sequence[str]) -> list[str] | None:
        """Return one line of `git cat-file --batch-check` per revision, or None.

        None means that the request is too long or git doesn't answer; the caller starts git itself
        then.
        """
        request = os.fsencode("".join(f"{revision}\n" for revision in revisions))
        if len(request) > MAX_BYTES:
            return None
        for _ in range(2):  # an idle process may have been killed in the meantime
            lines = await self._git.ask(request, len(revisions))
            if lines is not None:
                return lines
        return None

    def close(self) -> None:
        self._git.close()
