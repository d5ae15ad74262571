"""How work comes home: a pack from the box, which git takes in only after looking at all of it."""

from __future__ import annotations

import os
import re
from typing import IO

from allstop.adapters.git.names import is_commit_name
from allstop.adapters.git.repository import GitError, Repository
from allstop.core.moves import Change

LOOSE_BELOW = 100
"""Objects of a smaller pack are kept one by one, as git itself does: packs would pile up."""


_WORD = re.compile(rb"^(head [0-9a-f]+|size [0-9]+)$", re.MULTILINE)


class Told:
    """The lines before the pack."""

    def __init__(self, spool: IO[bytes]) -> None:
        """
        Raises:
            GitError: it doesn't begin as it should.
        """
        spool.seek(0)
        start = spool.read(4096)
        lines, gap, _ = start.partition(b"\n\n")
        words = dict(word.split(b" ") for word in _WORD.findall(lines))
        self.size_kb = int(words.get(b"size", b"0"))
        self.head = words.get(b"head", b"").decode()
        self.pack_at = len(lines) + len(gap)
        if not gap or not (self.size_kb or is_commit_name(self.head)):
            raise GitError("the workspace named no commit")


async def take_in(repository: Repository, spool: IO[bytes], offset: int) -> None:
    """Put the objects of a pack into the repository, checked one by one.

    `git fetch` from a bundle would not check them before git 2.48, whatever its settings.

    Raises:
        GitError: one of them is not as it should be, or something that it needs is missing.
    """
    spool.seek(offset)
    header = spool.read(12)
    if not header:
        return
    count = int.from_bytes(header[8:12], "big")
    if header[:4] != b"PACK":
        raise GitError("what came from the workspace is no pack")
    os.lseek(spool.fileno(), offset, os.SEEK_SET)
    if count < LOOSE_BELOW:
        await repository.output("unpack-objects", "-q", "--strict", stdin=spool)
    else:
        await repository.output("index-pack", "--stdin", "--fix-thin", "--strict", stdin=spool)


async def stock_take(repository: Repository, base: str, head: str) -> Change:
    """How far the work is from its base. All that is new is looked for, so nothing is missing.

    Raises:
        GitError: something is missing, or `head` is no commit.
    """
    listed = await repository.output(
        "rev-list", "--objects", f"{head}^{{commit}}", f"^{base}", "--"
    )
    commits = sum(1 for line in listed.splitlines() if b" " not in line)
    return Change(
        head=head, commits=commits, files=len(await changed_files(repository, base, head))
    )


async def changed_files(repository: Repository, base: str, head: str) -> list[str]:
    """Since the work left the base's line; all of them where it never was on it."""
    words = (
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--ignore-submodules=none",
    )
    done = await repository.run(*words, f"{base}...{head}", "--")
    out = done.out if done.code == 0 else await repository.output(*words, base, head, "--")
    return [os.fsdecode(name) for name in out.split(b"\0") if name]
