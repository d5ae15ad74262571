"""A shared clone for each piece of work. The host reads packs from it and touches nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from allstop.adapters.git.repository import GitError, Repository
from allstop.adapters.git.trees import (
    EXCLUDE,
    KEEP,
    MAKE,
    MAKE_FROM_PACK,
    SEND,
    TIDY,
    Meta,
    Tree,
    free_port,
)
from allstop.core.moves import Change, Delivered, Failed, FailureKind, WorkspaceOpen
from allstop.ports import Box, Chunk, Launch, Launcher, LaunchError, Stream, UnsafeError
from allstop.programs import Tail, run_to_end

BOXED_STORES = "/run/allstop/objects"
MOST_BYTES = 4 * 1024**3
"""More than this is not taken from a workspace."""


class BoxFailedError(Exception):
    """A git command in the box failed; the message is what it said."""


class GitWorkspaces:
    def __init__(
        self,
        repository: Repository,
        folder: Path,
        *,
        launcher: Launcher,
        box: Box,
        stores: tuple[str, ...],
        links: tuple[str, ...] = (),
    ) -> None:
        """`box` is what every workspace's box has; `stores` hold the repository's objects;
        `links` are folders of the checkout that are shown in it.
        """
        self._repository = repository
        self._folder = folder
        self._launcher = launcher
        self._box = box
        self._links = links
        self._stores = stores

    # --- the port ---

    async def open(self, workspace: str, target: str, label: str) -> WorkspaceOpen | Failed:
        tree = self._tree(workspace)
        meta = tree.meta()
        if meta is not None:
            with suppress(BoxFailedError):  # how damaged it is, is seen when its work is kept
                await self._in_box(self.place(workspace), label, TIDY)
            return WorkspaceOpen(base=meta.base)
        base = await self._repository.commit(f"refs/heads/{target}")
        if base is None:
            return _failed(f"there is no branch {target!r} with a commit to start from")
        try:
            await self._repository.git("update-ref", _base_ref(workspace), base)
            port = free_port(self._folder)
            meta = await self._make(
                tree, Meta(base=base, target=target, port=port), workspace, label
            )
        except (GitError, BoxFailedError, LaunchError, UnsafeError) as error:
            return _failed(str(error))
        tree.finish(meta)
        return WorkspaceOpen(base=base)

    def place(self, workspace: str) -> Box:
        tree = self._tree(workspace)
        meta = tree.meta()
        return self._place(tree, meta.port if meta else 0)

    async def keep(self, workspace: str, label: str) -> Change | Failed:
        meta = self._tree(workspace).meta()
        assert meta is not None, "a workspace is opened before it is worked in"
        try:
            said = await self._in_box(
                self.place(workspace), label, KEEP, meta.base, f"Work on {workspace}"
            )
            told = dict(line.split(" ", 1) for line in said.splitlines())
            return Change(head=told["head"], commits=int(told["commits"]), files=int(told["files"]))
        except (BoxFailedError, LaunchError, KeyError, ValueError) as error:
            return _failed(f"the workspace is damaged: {error}")

    async def candidate(self, workspace: str, label: str) -> Box | Failed:
        clean = Tree(self._tree(workspace).folder / "check")
        try:
            commit = await self._fetch(workspace, label)
            await self._make(clean, Meta(base=commit, target=""), workspace, label)
        except (GitError, BoxFailedError, LaunchError) as error:
            return _failed(str(error))
        meta = self._tree(workspace).meta()
        return self._place(clean, meta.port if meta else 0)

    async def deliver(self, workspace: str, branch: str, label: str) -> Delivered | Failed:
        """Only ever forward, and only once: what the branch already has is what git says."""
        repository = self._repository
        try:
            commit = await self._fetch(workspace, label)
            there = await repository.commit(f"refs/heads/{branch}")
            if there == commit:
                return Delivered(branch=branch, commit=commit)
            if there is not None and not await repository.is_ancestor(there, commit):
                message = f"branch {branch} has other commits; rename it or delete it"
                return Failed(kind=FailureKind.CONFLICT, message=message)
            await repository.git("update-ref", f"refs/heads/{branch}", commit, there or "0" * 40)
        except (GitError, BoxFailedError, LaunchError) as error:
            return _failed(str(error))
        Tree(self._tree(workspace).folder / "check").remove()
        return Delivered(branch=branch, commit=commit)

    def discard(self, workspace: str) -> None:
        """Only for workspaces that nobody worked in: nothing is looked at before it is gone."""
        self._tree(workspace).remove()

    # --- making ---

    async def _make(self, tree: Tree, meta: Meta, workspace: str, label: str) -> Meta:
        branch = f"allstop/{workspace}"
        tree.make()
        place = self._place(tree)
        try:
            await self._in_box(place, label, MAKE, meta.base, branch, *self._seen())
        except BoxFailedError:  # objects that the box's user can't read, or not all of them
            meta = replace(meta, borrows=False)
            tree.make()
            await self._lay_in_pack(tree, workspace, meta.base)
            await self._in_box(place, label, MAKE_FROM_PACK, meta.base, branch)
        if self._links:
            await self._in_box(place, label, EXCLUDE, *self._links)
        return meta

    async def _lay_in_pack(self, tree: Tree, workspace: str, base: str) -> None:
        ref = _base_ref(workspace)
        await self._repository.git("update-ref", f"{ref}.pack", base)
        bundle = tree.home / "base.bundle"
        await self._repository.git("bundle", "create", "-q", str(bundle), f"{ref}.pack")
        await self._repository.git("update-ref", "-d", f"{ref}.pack")
        bundle.chmod(0o644)

    def _seen(self) -> list[str]:
        """Where a program finds the stores."""
        if not self._launcher.isolation.boxed:
            return list(self._stores)
        return [f"{BOXED_STORES}/{number}" for number in range(len(self._stores))]

    def _place(self, tree: Tree, port: int = 0) -> Box:
        root = self._repository.root
        links = tuple(str(root / link) for link in self._links if (root / link).is_dir())
        return replace(
            self._box,
            home=str(tree.home),
            workspace=str(tree.work),
            at=str(root),
            objects=self._stores,
            read=(*self._box.read, *links),
            env={"ALLSTOP_PORT": str(port)} if port else {},
        )

    def _tree(self, workspace: str) -> Tree:
        return Tree(self._folder / workspace)

    # --- bringing home ---

    async def _fetch(self, workspace: str, label: str) -> str:
        """The workspace's last commit, now in the user's repository under refs/allstop."""
        meta = self._tree(workspace).meta()
        assert meta is not None, "a workspace is opened before work is brought home"
        ref = f"refs/allstop/tip/{workspace}"
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".bundle") as bundle:
            await self._receive(workspace, label, meta.base, bundle.write)
            bundle.flush()
            await self._repository.git(
                "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
                bundle.name, f"+HEAD:{ref}",
            )  # fmt: skip
        commit = await self._repository.commit(ref)
        assert commit is not None, "it was fetched"
        return commit

    async def _receive(
        self, workspace: str, label: str, base: str, write: Callable[[bytes], object]
    ) -> None:
        launch = self._launch(self.place(workspace), label, SEND, base)
        complaint = Tail(4096)
        received = 0
        async with self._launcher.launch(launch) as child:
            await child.close_input()
            while (chunk := await child.receive()) is not None:
                received += _sort(chunk, write, complaint)
                if received > MOST_BYTES:
                    raise BoxFailedError(f"the work has more than {MOST_BYTES:,} bytes")
            exit_ = await child.wait()
        if exit_.code != 0:
            raise BoxFailedError(complaint.text().strip())

    # --- in the box ---

    async def _in_box(self, place: Box, label: str, script: str, *arguments: str) -> str:
        out, err = Tail(), Tail(4096)
        launch = self._launch(place, label, script, *arguments)
        code = await run_to_end(self._launcher, launch, b"", out, lambda live: None, err)
        if code != 0:
            raise BoxFailedError(err.text().strip() or f"exit code {code}")
        return out.text()

    def _launch(self, place: Box, label: str, script: str, *arguments: str) -> Launch:
        return Launch(
            argv=("sh", "-c", script, "sh", *arguments), box=place, label=label, trusted=True
        )


def _base_ref(workspace: str) -> str:
    return f"refs/allstop/base/{workspace}"


def _sort(chunk: Chunk, write: Callable[[bytes], object], complaint: Tail) -> int:
    if chunk.stream is Stream.ERR:
        complaint.add(chunk.data)
        return 0
    write(chunk.data)
    return len(chunk.data)


def _failed(message: str) -> Failed:
    return Failed(kind=FailureKind.BAD_REQUEST, message=message)
