"""What objects there are, told by one git that stays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from allstop.adapters.git.repository.git_daemon import MOST_BYTES, Lasting, kill


class Asking:
    def __init__(self, root: Path) -> None:
        self._git = Lasting(root, ("cat-file", "--batch-check"), kill)

    async def ask(self, revisions: Sequence[str]) -> list[str] | None:
        """A line of `git cat-file --batch-check` for each; None where it has to be asked otherwise.

        That is so when the question is long, and when git won't answer.
        """
        question = os.fsencode("".join(f"{revision}\n" for revision in revisions))
        if len(question) > MOST_BYTES:
            return None
        for _ in range(2):  # one that stood idle may have been killed meanwhile
            answer = await self._git.answer(question, len(revisions))
            if answer is not None:
                return answer
        return None

    def close(self) -> None:
        self._git.close()
