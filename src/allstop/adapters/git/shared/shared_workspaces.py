"""Workspaces of a machine that shares its work with others by branches of one remote.

Each task's work is pushed to a branch of its own, from which another machine can continue. The
target branch is the remote's: a merge moves it from its exact old value to the new one.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from allstop.adapters.git.repository import branch_update
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref, folder_name
from allstop.adapters.git.shared.mirror import NOWHERE, Mirror, PushEnd
from allstop.adapters.git.workspace.salvage import next_backup
from allstop.adapters.git.workspace.workspaces import GitWorkspaces
from allstop.core import moves
from allstop.ports import Candidate, Subject, Unready

TASK_BRANCHES = "refs/heads/allstop/"

LOST = "it was made on another machine and is made again"
"""Why a merge commit isn't here: the machine that made it ended before it was on the target."""


def task_branch(workspace: str) -> str:
    return f"{TASK_BRANCHES}{folder_name(workspace)}"


class SharedWorkspaces(GitWorkspaces):
    def __init__(
        self, repository: Repository, folder: Path, *, mirror: Mirror, is_worker: bool, **more: Any
    ) -> None:
        """Only a worker pushes the work of its workspaces. `more` is what the base class takes."""
        super().__init__(repository, folder, **more)
        self._shared = repository
        self._mirror = mirror
        self._is_worker = is_worker

    # --- the port ---

    async def open(
        self,
        workspace: str,
        target: str,
        label: str,
        *,
        onto: str = "",
        stash: bool = False,
        given: str = "",
    ) -> moves.WorkspaceOpen | moves.Failed:
        await self._mirror.fetch()
        try:
            await self._adopt(workspace, target)
        except (GitError, OSError) as error:
            return _failed(error)
        return await super().open(workspace, target, label, onto=onto, stash=stash, given=given)

    async def keep(
        self, workspace: str, label: str, *, message: str = "", uncommitted: bool = False
    ) -> moves.Change | moves.Failed:
        change = await super().keep(workspace, label, message=message, uncommitted=uncommitted)
        if self._is_worker and isinstance(change, moves.Change) and change.commits:
            try:
                await self._publish(workspace, change.head)
            except GitError as error:
                return _failed(error)
        return change

    async def subject(
        self, workspace: str, label: str, *, commit: str = "", base: str = "", follows: str = ""
    ) -> Subject | moves.Failed:
        if (lost := await self._lost(commit)) is not None:
            return lost
        if follows:
            await self._mirror.fetch()
        return await super().subject(workspace, label, commit=commit, base=base, follows=follows)

    async def candidate(
        self,
        workspace: str,
        label: str,
        *,
        commit: str = "",
        base: str = "",
        follows: str = "",
        restore: Sequence[str] = (),
        alone: bool = False,
    ) -> Candidate | Unready | moves.Failed:
        if (lost := await self._lost(commit)) is not None:
            return lost
        return await super().candidate(
            workspace,
            label,
            commit=commit,
            base=base,
            follows=follows,
            restore=restore,
            alone=alone,
        )

    async def integrate(
        self, workspace: str, target: str, message: str, label: str, *, onto: str = ""
    ) -> moves.Integrated | moves.Failed:
        await self._mirror.fetch()
        if (lost := await self._lost(onto)) is not None:
            return lost
        try:
            await self._adopt(workspace, target, only_pushed=True)
        except (GitError, OSError) as error:
            return _failed(error)
        return await super().integrate(workspace, target, message, label, onto=onto)

    async def survey(self, workspace: str, target: str) -> moves.Surveyed | moves.Failed:
        await self._mirror.fetch()
        return await super().survey(workspace, target)

    async def discard(self, workspace: str) -> moves.Discarded | moves.Failed:
        discarded = await super().discard(workspace)
        if self._is_worker and isinstance(discarded, moves.Discarded):
            await self._mirror.fetch()
            await self._remove_branches(task_branch(workspace))
        return discarded

    async def make_checkpoint(self, name: str, target: str) -> moves.CheckpointMade | moves.Failed:
        await self._mirror.fetch()
        return await super().make_checkpoint(name, target)

    async def revert(
        self, commit: str, target: str, message: str
    ) -> moves.Integrated | moves.Failed:
        await self._mirror.fetch()
        return await super().revert(commit, target, message)

    async def land(self, target: str, tip: str, commit: str) -> moves.Landed | moves.Failed:
        """Move the remote's branch. Each try first asks the remote whether that has happened."""
        return await self._mirror.until_answered(lambda: self._land(target, tip, commit))

    async def deliver(
        self, workspace: str, branch: str, label: str
    ) -> moves.Delivered | moves.Failed:
        """The work's own branch is pushed after each turn already; another one is made here."""
        delivered = await super().deliver(workspace, branch, label)
        ref = branch_ref(branch)
        if isinstance(delivered, moves.Delivered) and ref is not None:
            try:
                await self._move_branch(ref, delivered.commit)
            except GitError as error:
                return _failed(error)
        return delivered

    # --- the work of a task ---

    async def _adopt(self, workspace: str, target: str, *, only_pushed: bool = False) -> None:
        """Take over what another machine has pushed since this one worked on the task.

        With `only_pushed`, later work of this machine is left out: it was never accepted.
        """
        shared, own = self._shared, self._shared.own
        theirs, ours, tip = await shared.resolve(
            task_branch(workspace), own.tip(workspace), f"{branch_ref(target)}^{{commit}}"
        )
        if theirs is None or theirs == ours or tip is None:
            return
        is_ahead = ours is not None and await shared.is_ancestor(theirs, ours)
        if is_ahead and not only_pushed:
            return  # this machine ended before it could push its last work
        base = (await shared.run("merge-base", tip, theirs)).out.decode().strip() or tip
        lines = [
            f"update {own.tip(workspace)} {theirs}",
            f"update {own.base(workspace)} {base}",
        ]
        if ours is not None and not await shared.is_ancestor(ours, theirs):
            lines.append(f"update {await next_backup(shared, workspace, ours)} {ours}")
        async with self.lock(workspace):
            await shared.set_refs(*lines)
            # what is left here is older than the work that another machine continued
            await anyio.to_thread.run_sync(self.remove_folders, workspace)

    async def _publish(self, workspace: str, head: str) -> None:
        await self._move_branch(task_branch(workspace), head)

    async def _move_branch(self, ref: str, commit: str) -> None:
        """Push a commit, also over what a machine wrote that has lost the task meanwhile."""
        while True:
            old = await self._shared.commit(ref)
            if old == commit:
                return
            push = partial(self._mirror.push, ref, commit, old or NOWHERE)
            pushed = await self._mirror.until_answered(push)
            if pushed.end is PushEnd.REFUSED:
                why = f"the shared remote refuses {ref}: {pushed.reason}"
                raise GitError(why, "look at its rules for branches", code="push_refused")
            await self._mirror.fetch()

    # --- the target branch ---

    async def _land(self, target: str, tip: str, commit: str) -> moves.Landed | moves.Failed:
        ref = branch_ref(target)
        while True:
            await self._mirror.fetch()
            current = await self._shared.branch(target)
            if ref is None or current is None:
                message = f"the shared remote has no branch {target!r}"
                return moves.Failed(kind=moves.FailureKind.BAD_REQUEST, message=message)
            if (lost := await self._lost(commit)) is not None:
                return lost
            if await self._shared.is_ancestor(commit, current):
                await self._remove_merged(commit)
                return moves.Landed(commit=commit)
            if current != tip:
                return branch_update.moved(ref, current, tip)
            if not await self._shared.is_ancestor(tip, commit):
                message = f"{commit} isn't a descendant of {tip}"
                return moves.Failed(kind=moves.FailureKind.BAD_REQUEST, message=message)
            pushed = await self._mirror.push(ref, commit, tip)
            if pushed.end is PushEnd.REFUSED:
                message = f"the shared remote refuses to move {target}: {pushed.reason}"
                return moves.Failed(kind=moves.FailureKind.BUSY, message=message)

    async def _lost(self, commit: str) -> moves.Failed | None:
        """The failure if a commit was made by a machine that has not pushed it."""
        if not commit or await self._shared.commit(commit) is not None:
            return None
        return moves.Failed(kind=moves.FailureKind.MOVED, message=f"{commit[:12]}: {LOST}")

    async def _remove_merged(self, commit: str) -> None:
        """Remove the branches of the tasks whose work has been merged."""
        out = await self._shared.git(
            "for-each-ref", "--format=%(refname)", f"--merged={commit}", TASK_BRANCHES
        )
        await self._remove_branches(*out.split())

    async def _remove_branches(self, *refs: str) -> None:
        """A branch that can't be removed now is removed after the next merge."""
        for ref in refs:
            if (old := await self._shared.commit(ref)) is not None:
                await self._mirror.push(ref, "", old)
                await self._shared.run("update-ref", "-d", ref, old)


def _failed(error: Exception) -> moves.Failed:
    return moves.Failed(kind=moves.FailureKind.BAD_REQUEST, message=str(error))
