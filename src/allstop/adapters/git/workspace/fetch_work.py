"""How work comes home: a pack from the box, which git takes in only after looking at all of it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import anyio
from msgspec.structs import replace

from allstop.adapters.git.gather import both
from allstop.adapters.git.repository.change_report import Raw, parsed
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import folder_name, is_commit_name
from allstop.adapters.git.workspace.box_git import Boxes
from allstop.adapters.git.workspace.box_scripts import KEEP, not_work
from allstop.adapters.git.workspace.change_detection import Look, is_still, look_at
from allstop.adapters.git.workspace.change_summary import guarded_among, named, sketched
from allstop.adapters.git.workspace.clone import Making
from allstop.adapters.git.workspace.clone_layout import loose_links
from allstop.adapters.git.workspace.folders import Meta, Tree
from allstop.adapters.git.workspace.free_space import shortage, too_big
from allstop.core.moves import Change, Failed, FailureKind

LINK = "160000"
"""The mode of an entry that is a commit of another repository."""

LOOSE_BELOW = 100
"""Objects of a smaller pack are kept one by one, as git itself does: packs would pile up."""


_WORD = re.compile(rb"^(head [0-9a-f]+|size [0-9]+)$", re.MULTILINE)
_CHANGED = re.compile(rb"^changed (.+)$", re.MULTILINE)


MOST_BYTES = 4 * 1024**3
"""More than this is not taken from a workspace."""

MOST_LINES = 128 * 1024
"""Bytes before the pack."""

IN_MEMORY = 1024**2
"""What has more bytes is written to a file while it comes."""


MOST_KNOWN = 100

MOST_SEEN = 25_000
"""Files of all workspaces together; what was seen of one takes a few hundred bytes."""

FEW = 250
"""So many files are looked at sooner than somebody else is told to."""


class _Known(NamedTuple):
    """What a workspace had when it was last looked at."""

    meta: Meta
    change: Change
    look: Look | None = None  # where nothing had come since the look before


class Homecoming:
    def __init__(
        self,
        repository: Repository,
        boxes: Boxes,
        making: Making,
        *,
        folder: Path,
        disk_mb: int | None,
    ) -> None:
        """`folder` is where a file may be; `disk_mb` the most that a workspace may hold."""
        self._repository = repository
        self._boxes = boxes
        self._making = making
        self._folder = folder
        self._disk_mb = disk_mb
        self._known: dict[str, _Known] = {}  # the workspaces that were looked at last

    async def bring(self, tree: Tree, workspace: str, label: str) -> Change | Failed:
        """Commit what is left, and take what is new into the user's repository.

        Where nothing was touched since nothing had come, nothing has to be asked. And where nothing
        came, nothing has to be looked through again: the ref has kept all of it.

        Raises:
            GitError, BoxFailedError, LaunchError, UnsafeError, OSError: it can't be had.
        """
        meta = tree.meta()
        assert meta is not None, "a workspace is opened before work is brought home"
        kept = self._repository.own.tip(workspace)
        known = await self._still_known(workspace, meta, kept)
        tip = known.change.head if known else await self._repository.commit(kept)
        if known and known.look and await _is_still(known.look):
            return known.change
        look = await self._look_at(tree) if known else None
        told = await self._received(tree, meta, workspace, tip, label)
        if told.size_kb:
            message = too_big(told.size_kb * 1024, self._disk_mb or 0)
            return Failed(kind=FailureKind.OUT_OF_ROOM, message=message)
        if known and told.head == tip and not told.changed:
            return self._remembered(workspace, known._replace(look=look))
        change = await self._looked_through(tree, meta.base, told.head)
        change = replace(change, loose=(*change.loose, *told.changed))
        if told.head != tip:
            await self._repository.set_refs(f"update {kept} {told.head}")
        return self._remembered(workspace, _Known(meta, change))

    async def _still_known(self, workspace: str, meta: Meta, kept: str) -> _Known | None:
        known = self._known.get(workspace)
        if known is None or known.meta != meta or known.change.loose:
            return None
        return known if await self._repository.is_at(kept, known.change.head) else None

    async def _look_at(self, tree: Tree) -> Look | None:
        """Without a box, somebody may still be at work in there."""
        return await anyio.to_thread.run_sync(look_at, tree) if self._boxes.are_real else None

    def _remembered(self, workspace: str, known: _Known) -> Change:
        self._known.pop(workspace, None)
        self._known[workspace] = known
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._forget_looks()
        return known.change

    def _forget_looks(self) -> None:
        """The oldest, where too much was seen; what git said is kept, and is asked for again."""
        looks = {name: len(each.look.entries) for name, each in self._known.items() if each.look}
        seen = sum(looks.values())
        for name, entries in looks.items():
            if seen <= MOST_SEEN:
                return
            self._known[name] = self._known[name]._replace(look=None)
            seen -= entries

    async def _received(
        self, tree: Tree, meta: Meta, workspace: str, tip: str | None, label: str
    ) -> Told:
        most_bytes = self._disk_mb * 1024**2 if self._disk_mb else MOST_BYTES
        with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+b", 0, dir=str(self._folder)) as spool:
            await self._boxes.receive(
                self._making.place(tree, meta), label, KEEP,
                meta.base, tip or "", f"Work on {folder_name(workspace)}",
                str((self._disk_mb or 0) * 1024), *not_work(meta.excluded),
                write=spool.write, most_bytes=most_bytes,
            )  # fmt: skip
            return await self._taken_in(spool, tip, tree)

    async def _taken_in(self, spool: IO[bytes], tip: str | None, tree: Tree) -> Told:
        try:
            told = Told(spool)
            if told.head != tip and not told.size_kb:
                await take_in(self._repository, spool, told.pack_at)
        except GitError:
            self._remember_refusal(tree)
            raise
        return told

    async def _looked_through(self, tree: Tree, base: str, head: str) -> Change:
        """Merged, a file in our own folder would be there for us to believe: a key, a record."""
        try:
            change, files = await stock_take(self._repository, base, head)
            refuse_our_own(files)
        except GitError:
            self._remember_refusal(tree)
            raise
        return change

    def _remember_refusal(self, tree: Tree) -> None:
        """What git refuses is not taken up as it is; but on a full disk git takes nothing at all."""
        if not shortage(self._folder):
            tree.refused.touch()


async def _is_still(look: Look) -> bool:
    if len(look.entries) <= FEW:
        return is_still(look)
    return await anyio.to_thread.run_sync(is_still, look)


class Told:
    """The lines before the pack."""

    def __init__(self, spool: IO[bytes]) -> None:
        """
        Raises:
            GitError: it doesn't begin as it should.
        """
        spool.seek(0)
        start = spool.read(MOST_LINES)
        lines, gap, _ = start.partition(b"\n\n")
        words = dict(word.split(b" ") for word in _WORD.findall(lines))
        self.size_kb = int(words.get(b"size", b"0"))
        self.head = words.get(b"head", b"").decode()
        changed = (name.decode(errors="replace") for name in _CHANGED.findall(lines))
        self.changed = [f"{name} (with changes that are not committed)" for name in changed]
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


def refuse_our_own(files: Iterable[str]) -> None:
    """
    Raises:
        GitError: one is in our folder; some disks don't tell large letters from small ones.
    """
    for file in files:
        if file.partition("/")[0].casefold() == ".allstop":
            raise GitError(f"the work has {file}, and that folder is Allstop's own")


async def stock_take(repository: Repository, base: str, head: str) -> tuple[Change, list[str]]:
    """How far the work is from its base, and the files. All that is new is there: it is looked for.

    Raises:
        GitError: something is missing, or `head` is no commit.
    """
    listed, changed = await both(
        repository.output("rev-list", "--objects", f"{head}^{{commit}}", f"^{base}", "--"),
        changed_files(repository, base, head),
    )
    commits = sum(1 for line in listed.splitlines() if b" " not in line)
    links = {raw.path: raw.new for raw in changed if raw.new_mode == LINK}
    loose = await loose_links(repository, head, links) if links else []
    (tree,) = await repository.named(f"{head}^{{tree}}")
    change = Change(
        head=head,
        commits=commits,
        files=len(changed),
        tree=tree or "",
        loose=named(loose),
        sketch=sketched(changed),
        guarded=guarded_among(changed),
    )
    return change, [raw.path for raw in changed]


async def changed_files(repository: Repository, base: str, head: str) -> list[Raw]:
    """Since the work left the base's line; all of them where it never was on it."""
    words = (
        "diff",
        "--raw",
        "--no-abbrev",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--ignore-submodules=none",
    )
    done = await repository.run(*words, f"{base}...{head}", "--")
    out = done.out if done.code == 0 else await repository.output(*words, base, head, "--")
    return list(parsed(iter(out.split(b"\0"))))
