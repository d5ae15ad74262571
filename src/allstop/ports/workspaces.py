"""Workspaces, checks and time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from allstop.core.gate import Check, Gate
from allstop.core.moves import (
    Change,
    CheckResult,
    Delivered,
    Failed,
    Integrated,
    Landed,
    Surveyed,
    WorkspaceOpen,
)
from allstop.ports.agents import Live
from allstop.ports.programs import Box


class FileChange(NamedTuple):
    path: str
    status: str  # A, M, D, R
    added: tuple[str, ...] = ()  # lines


class Subject(NamedTuple):
    """Work that is looked at: where it began, and what it is by now."""

    base: str
    commit: str
    tree: str


class Candidate(NamedTuple):
    """Work as it is checked: a clean clone, and which commit is in it."""

    box: Box
    base: str
    commit: str
    tree: str
    notes: tuple[str, ...] = ()  # what the clone lacks


class Unready(NamedTuple):
    """A clean clone that can't be set up as the work is: a check which has failed."""

    result: CheckResult
    notes: tuple[str, ...] = ()  # what the clone lacks


class Workspaces(Protocol):
    """Clones of the repository, one for each piece of work, which only boxed programs touch."""

    async def open(
        self,
        workspace: str,
        target: str,
        label: str,
        *,
        onto: str = "",
        stash: bool = False,
        given: str = "",
    ) -> WorkspaceOpen | Failed:
        """Make it from the tip of `target`; one that exists is taken up as it is, and one whose
        work is in the target's history already goes on from the tip.

        `onto` is a commit of the target that is merged into it; conflicts are left in the files.
        With `stash`, what was left uncommitted is put aside first. `given` is a commit of a person
        who went on with the work: merged likewise, but it is work, not where work starts from.
        """
        ...

    def place(self, workspace: str) -> Box: ...

    @property
    def look_every_s(self) -> float:
        """How often it is worth asking whether a workspace is outgrown."""
        ...

    def shortage(self) -> str:
        """Why no work may begin, and what helps: there is too little room; "" where there is."""
        ...

    async def outgrown(self, workspace: str) -> str:
        """Why what is at work in there may not go on, likewise; it is asked meanwhile."""
        ...

    async def candidate_outgrown(self, workspace: str) -> str:
        """The same of the clean clone in which its work is checked."""
        ...

    async def keep(self, workspace: str, label: str) -> Change | Failed:
        """Commit what was left uncommitted, and say where the work stands."""
        ...

    async def subject(
        self, workspace: str, label: str, *, commit: str = "", follows: str = ""
    ) -> Subject | Failed:
        """What `candidate` would have in it; no clone is made."""
        ...

    async def candidate(
        self,
        workspace: str,
        label: str,
        *,
        commit: str = "",
        follows: str = "",
        restore: Sequence[str] = (),
    ) -> Candidate | Unready | Failed:
        """A clean clone of `commit`, or of the work's last one, where it can be checked.

        Nothing the agent left lying about is in it. Paths that match `restore` are as in the
        base, whatever the work made of them. MOVED: the work has not all of the branch `follows`,
        which is asked of no `commit`.
        """
        ...

    async def drop_candidate(self, workspace: str) -> None:
        """Remove that clone: nothing in it is anybody's work."""
        ...

    async def changes(self, work: Subject | Candidate) -> Sequence[FileChange]:
        """What the work changed since its base."""
        ...

    async def integrate(
        self, workspace: str, target: str, message: str, label: str
    ) -> Integrated | Failed:
        """Merge the work with the tip of `target` into a commit that no branch has yet.

        CONFLICT names the files. Work that the target already has gives its tip.
        """
        ...

    async def survey(self, workspace: str, target: str) -> Surveyed | Failed:
        """What is in the work as it last came home; without any, in the tip of `target`.

        Bounded, and read from git's own store: nothing of it is run or checked out.
        """
        ...

    async def revert(self, commit: str, target: str, message: str) -> Integrated | Failed:
        """Make a commit that takes a merge out of `target` again."""
        ...

    async def land(self, target: str, tip: str, commit: str) -> Landed | Failed:
        """Move `target` from `tip` to `commit`, and a clean checkout of it along.

        MOVED: it is no longer at `tip`. BUSY: it is checked out and has changes.
        """
        ...

    async def deliver(self, workspace: str, branch: str, label: str) -> Delivered | Failed: ...


class Gates(Protocol):
    """What work must pass, by the target branch's own word."""

    async def __call__(self, target: str) -> Gate | None:
        """As its tip says now; None where nobody can tell."""
        ...


class Progress(Protocol):
    def __call__(self, live: Live) -> None: ...


class Checks(Protocol):
    """Runs what must succeed before work counts as done."""

    async def run(
        self, check: Check, place: Box, label: str, progress: Progress
    ) -> CheckResult: ...


class Clock(Protocol):
    def now(self) -> datetime: ...
