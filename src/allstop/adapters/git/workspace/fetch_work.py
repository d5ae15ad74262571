"""Fetches work from a workspace as a pack, which git checks before it takes it in."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import anyio
from msgspec.structs import replace

from allstop.adapters.git.repository.change_report import RawChange, parse_raw
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import folder_name, is_commit_name
from allstop.adapters.git.repository.tree_limits import TreeLimits
from allstop.adapters.git.workspace.box_git import BoxGit
from allstop.adapters.git.workspace.box_scripts import KEEP, exclude_paths
from allstop.adapters.git.workspace.change_detection import Snapshot, is_unchanged, take_snapshot
from allstop.adapters.git.workspace.change_summary import guarded_files, shorten_names, summarize
from allstop.adapters.git.workspace.clone import CloneBuilder
from allstop.adapters.git.workspace.clone_layout import loose_links
from allstop.adapters.git.workspace.folders import Meta, WorkspaceFolders
from allstop.adapters.git.workspace.free_space import shortage, too_big
from allstop.core.moves import Change, Failed, FailureKind

LINK = "160000"
"""The mode of a submodule entry."""

LOOSE_BELOW = 100
"""Smaller packs are unpacked into loose objects, as git itself does; many small packs are slow."""


_WORD = re.compile(rb"^(head [0-9a-f]+|size [0-9]+)$", re.MULTILINE)
_CHANGED = re.compile(rb"^changed (.+)$", re.MULTILINE)


MAX_BYTES = 4 * 1024**3
"""The largest pack that is accepted from a workspace."""

MAX_LINES = 128 * 1024
"""The most bytes before the pack."""

IN_MEMORY = 1024**2
"""Longer output is spooled to a file."""


MAX_KNOWN = 100

MAX_SEEN = 25_000
"""The most file entries in the snapshots of all workspaces; an entry takes a few hundred bytes."""

FEW_ENTRIES = 250
"""Up to this many entries, comparing is faster than starting a thread for it."""


class _LastFetch(NamedTuple):
    meta: Meta
    change: Change
    is_committed: bool  # and not only fetched
    snapshot: Snapshot | None = None  # only after a fetch without changes


class WorkFetcher:
    def __init__(
        self,
        repository: Repository,
        box_git: BoxGit,
        builder: CloneBuilder,
        *,
        folder: Path,
        disk_mb: int | None,
    ) -> None:
        """`folder` may hold temporary files; `disk_mb` is the most that a workspace may hold."""
        self._repository = repository
        self._box_git = box_git
        self._builder = builder
        self._folder = folder
        self._disk_mb = disk_mb
        self._limits = TreeLimits(repository)
        self._last: dict[str, _LastFetch] = {}  # the latest fetched last

    async def fetch(
        self,
        folders: WorkspaceFolders,
        workspace: str,
        label: str,
        *,
        message: str = "",
        uncommitted: bool = False,
    ) -> Change | Failed:
        """Commit uncommitted changes, and fetch them into the user's repository.

        With `uncommitted` they stay uncommitted; a commit that no branch of the clone has is
        fetched.

        If nothing changed since a fetch without changes, no program is started. If no new commit
        came, the objects aren't checked again: the ref has kept them.

        Raises GitError, BoxFailedError, LaunchError, UnsafeError or OSError if it can't be fetched.
        """
        meta = folders.meta()
        assert meta is not None, "a workspace is opened before work is fetched"
        kept = self._repository.own.tip(workspace)
        last = await self._last_fetch(workspace, meta, kept)
        tip = last.change.head if last else await self._repository.commit(kept)
        is_as_wanted = last is not None and last.is_committed is not uncommitted
        if last and last.snapshot and is_as_wanted and await _is_unchanged(last.snapshot):
            return last.change
        snapshot = await self._take_snapshot(folders) if last else None
        mode = "snapshot" if uncommitted else "commit"
        message = message or f"Work on {folder_name(workspace)}"
        header = await self._receive(folders, meta, label, tip or "", message, mode)
        if header.size_kb:
            message = too_big(header.size_kb * 1024, self._disk_mb or 0)
            return Failed(kind=FailureKind.OUT_OF_ROOM, message=message)
        if last and header.head == tip and not header.changed:
            last = last._replace(snapshot=snapshot, is_committed=not uncommitted)
            return self._remember(workspace, last)
        change = await self._inspect(folders, meta.base, header.head)
        change = replace(change, loose=(*change.loose, *header.changed))
        if header.head != tip:
            await self._repository.set_refs(f"update {kept} {header.head}")
        return self._remember(workspace, _LastFetch(meta, change, not uncommitted))

    async def _last_fetch(self, workspace: str, meta: Meta, kept: str) -> _LastFetch | None:
        last = self._last.get(workspace)
        if last is None or last.meta != meta or last.change.loose:
            return None
        return last if await self._repository.is_at(kept, last.change.head) else None

    async def _take_snapshot(self, folders: WorkspaceFolders) -> Snapshot | None:
        """Take a snapshot.

        Only with a sandbox, because otherwise a program may still be running.
        """
        if not self._box_git.is_isolated:
            return None
        return await anyio.to_thread.run_sync(take_snapshot, folders)

    def _remember(self, workspace: str, last: _LastFetch) -> Change:
        self._last.pop(workspace, None)
        self._last[workspace] = last
        if len(self._last) > MAX_KNOWN:
            del self._last[next(iter(self._last))]
        self._drop_old_snapshots()
        return last.change

    def _drop_old_snapshots(self) -> None:
        """Drop the oldest snapshots beyond `MAX_SEEN`; the next fetch asks git then."""
        sizes = {
            name: len(each.snapshot.entries) for name, each in self._last.items() if each.snapshot
        }
        seen = sum(sizes.values())
        for name, entries in sizes.items():
            if seen <= MAX_SEEN:
                return
            self._last[name] = self._last[name]._replace(snapshot=None)
            seen -= entries

    async def _receive(
        self, folders: WorkspaceFolders, meta: Meta, label: str, tip: str, message: str, mode: str
    ) -> FetchHeader:
        most_bytes = self._disk_mb * 1024**2 if self._disk_mb else MAX_BYTES
        with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+b", 0, dir=str(self._folder)) as spool:
            await self._box_git.receive(
                self._builder.box_of(folders, meta), label, KEEP,
                meta.base, tip, message, mode,
                str((self._disk_mb or 0) * 1024), *exclude_paths(meta.excluded),
                write=spool.write, most_bytes=most_bytes,
            )  # fmt: skip
            return await self._unpack(spool, tip, folders)

    async def _unpack(self, spool: IO[bytes], tip: str, folders: WorkspaceFolders) -> FetchHeader:
        try:
            header = FetchHeader(spool)
            if header.head != tip and not header.size_kb:
                await unpack(self._repository, spool, header.pack_at)
        except GitError:
            self._remember_refusal(folders)
            raise
        return header

    async def _inspect(self, folders: WorkspaceFolders, base: str, head: str) -> Change:
        """Check the fetched commit.

        A file in `.allstop`, such as a key, would be trusted after a merge.
        """
        try:
            change, files = await describe_work(self._repository, base, head, self._limits)
            refuse_reserved_folder(files)
        except GitError:
            self._remember_refusal(folders)
            raise
        return change

    def _remember_refusal(self, folders: WorkspaceFolders) -> None:
        """Mark the workspace for recreation; not on a full disk, where git refuses any pack."""
        if not shortage(self._folder):
            folders.refused_marker.touch()


async def _is_unchanged(snapshot: Snapshot) -> bool:
    if len(snapshot.entries) <= FEW_ENTRIES:
        return is_unchanged(snapshot)
    return await anyio.to_thread.run_sync(is_unchanged, snapshot)


class FetchHeader:
    """The lines before the pack."""

    def __init__(self, spool: IO[bytes]) -> None:
        """Raises GitError if the output doesn't begin as expected."""
        spool.seek(0)
        start = spool.read(MAX_LINES)
        lines, gap, _ = start.partition(b"\n\n")
        words = dict(word.split(b" ") for word in _WORD.findall(lines))
        self.size_kb = int(words.get(b"size", b"0"))
        self.head = words.get(b"head", b"").decode()
        changed = (name.decode(errors="replace") for name in _CHANGED.findall(lines))
        self.changed = [f"{name} (with changes that are not committed)" for name in changed]
        self.pack_at = len(lines) + len(gap)
        if not gap or not (self.size_kb or is_commit_name(self.head)):
            raise GitError("the workspace sent no commit", code="bad_workspace_answer")


async def unpack(repository: Repository, spool: IO[bytes], offset: int) -> None:
    """Unpack a pack into the repository; git checks every object.

    `git fetch` from a bundle doesn't check objects before git 2.48, whatever its settings.

    Raises GitError if an object is malformed, or one that it needs is missing.
    """
    spool.seek(offset)
    start_bytes = spool.read(12)
    if not start_bytes:
        return
    count = int.from_bytes(start_bytes[8:12], "big")
    if start_bytes[:4] != b"PACK":
        raise GitError("the workspace didn't send a pack", code="bad_workspace_answer")
    os.lseek(spool.fileno(), offset, os.SEEK_SET)
    if count < LOOSE_BELOW:
        await repository.output("unpack-objects", "-q", "--strict", stdin=spool)
    else:
        await repository.output("index-pack", "--stdin", "--fix-thin", "--strict", stdin=spool)


def refuse_reserved_folder(files: Iterable[str]) -> None:
    """Raises GitError if a file is in `.allstop`; case is ignored, as some file systems do."""
    for file in files:
        if file.partition("/")[0].casefold() == ".allstop":
            raise GitError(
                f"the work contains {file}, but that folder is reserved for Allstop",
                code="reserved_folder",
            )


async def describe_work(
    repository: Repository, base: str, head: str, limits: TreeLimits
) -> tuple[Change, list[str]]:
    """Return the difference to the base, and the changed files. Checks that all new objects exist.

    Raises GitError if an object is missing, a tree is too large, or `head` isn't a commit.
    """
    out = await repository.output("rev-list", "--objects", f"{head}^{{commit}}", f"^{base}", "--")
    listed = out.splitlines()
    await limits.check(base, listed)
    changed = await changed_files(repository, base, head)
    commits = sum(1 for line in listed if b" " not in line)
    links = {raw.path: raw.new for raw in changed if raw.new_mode == LINK}
    loose = await loose_links(repository, head, links) if links else []
    (tree,) = await repository.resolve(f"{head}^{{tree}}")
    change = Change(
        head=head,
        commits=commits,
        files=len(changed),
        tree=tree or "",
        loose=shorten_names(loose),
        sketch=summarize(changed),
        guarded=guarded_files(changed),
    )
    return change, [raw.path for raw in changed]


async def changed_files(repository: Repository, base: str, head: str) -> list[RawChange]:
    """Return changes since the work left the base's history; all of them if it was never on it."""
    shape = ("--raw", "--no-abbrev", "-z", "--no-renames", "--no-ext-diff")
    words = ("diff", *shape, "--ignore-submodules=none")
    done = await repository.run(*words, f"{base}...{head}", "--")
    out = done.out if done.code == 0 else await repository.output(*words, base, head, "--")
    return list(parse_raw(iter(out.split(b"\0"))))
