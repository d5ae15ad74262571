"""The protocols of workspaces, checks and the clock."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from allstop.core.gate import Check, Gate
from allstop.core.moves import (
    Change,
    CheckpointMade,
    CheckResult,
    Delivered,
    Discarded,
    Failed,
    Integrated,
    Landed,
    Surveyed,
    WorkspaceOpen,
)
from allstop.gate.facts import ChangedFile, Report, Runner, TestCommand, Variant
from allstop.gate.receipt import GateReceipt
from allstop.ports.agents import Live
from allstop.ports.programs import Box


class FileChange(NamedTuple):
    path: str
    status: str  # A, M, D, R
    added: tuple[str, ...] = ()  # lines
    tests_differently: bool = False  # it changes the test settings of a shared file


class Subject(NamedTuple):
    """The work that is examined: its base commit, its commit and that commit's tree."""

    base: str
    commit: str
    tree: str


class Candidate(NamedTuple):
    """Work that is checked: a clean clone, and the commit in it."""

    box: Box  # of the checks
    base: str
    commit: str
    tree: str
    notes: tuple[str, ...] = ()  # files that the clone lacks
    agent_box: Box | None = None  # for an agent's turn in it; None: the same


class Unready(NamedTuple):
    """A clean clone whose setup failed; that counts as a failed check."""

    result: CheckResult
    notes: tuple[str, ...] = ()  # files that the clone lacks


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
        """Make it from the tip of `target`, or reopen it. If the target's history contains its
        work, it continues from the tip.

        `onto` is a commit of the target that is merged into it; conflicts are left in the files.
        With `stash`, uncommitted changes are stashed first. `given` is a commit of a person who
        continued the work: it is merged too, but it counts as work and not as the base.
        """
        ...

    def box_of(self, workspace: str) -> Box: ...

    @property
    def check_every_s(self) -> float:
        """How often to check the size of a workspace in use."""
        ...

    def shortage(self) -> str:
        """Why no work may begin, and what helps: the disk is nearly full; "" if it isn't."""
        ...

    async def over_limit(self, workspace: str) -> str:
        """Why the program in the workspace may not continue: a full disk, or it uses too much."""
        ...

    async def candidate_over_limit(self, workspace: str) -> str:
        """The same for the clean clones in which its work is checked; each has this limit."""
        ...

    async def keep(
        self, workspace: str, label: str, *, message: str = "", uncommitted: bool = False
    ) -> Change | Failed:
        """Commit uncommitted changes, fetch the work, and describe it. Safe to repeat.

        With `uncommitted` they stay as they are in the workspace; what is fetched is a commit
        that none of its branches has.
        """
        ...

    async def subject(
        self, workspace: str, label: str, *, commit: str = "", base: str = "", follows: str = ""
    ) -> Subject | Failed:
        """Return the commits that `candidate` would use, without making a clone."""
        ...

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
    ) -> Candidate | Unready | Failed:
        """Make a clean clone of `commit`, or of the last commit of the work, for checks.

        The base of `commit` is its first parent, or the commit `base`. It contains no untracked files of the agent. Paths that match `restore` are as in the base.
        With `alone` it contains no git objects but those of this commit.
        MOVED: the work doesn't contain the tip of the branch `follows`; not checked for a `commit`.
        """
        ...

    async def variant(
        self,
        workspace: str,
        label: str,
        work: Candidate,
        variant: Variant,
        *,
        on_target: bool = False,
    ) -> Candidate | Unready | Failed:
        """Make another clean clone beside that of the candidate, of a variant of its commit or base.

        Several may be made and used at the same time. The next `candidate` removes those left.
        """
        ...

    async def drop_variant(self, variant: Candidate) -> None:
        """Remove the clean clone of a variant."""
        ...

    async def paths(self, commit: str) -> Sequence[str]:
        """Return the paths of a commit's files."""
        ...

    async def drop_candidate(self, workspace: str) -> None:
        """Remove that clone and those of its variants; they contain no work."""
        ...

    async def changes(self, work: Subject | Candidate) -> Sequence[FileChange]:
        """Return the changes since the base."""
        ...

    async def contents(self, work: Subject | Candidate) -> Sequence[ChangedFile]:
        """Return the changed files with both versions of those that are text and not too large."""
        ...

    async def texts(self, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Return the files of a commit that exist, are text, and are not too large."""
        ...

    async def integrate(
        self, workspace: str, target: str, message: str, label: str, *, onto: str = ""
    ) -> Integrated | Failed:
        """Merge the work with the tip of `target` into a commit that no branch has yet.

        With `onto`, a commit that follows the tip takes the place of the tip.

        CONFLICT names the files. If the target already has the work, the result is its tip.
        """
        ...

    async def survey(self, workspace: str, target: str) -> Surveyed | Failed:
        """Survey the tree of the last fetched work, or else of the tip of `target`.

        The result is bounded and read from git's object store: nothing is run or checked out.
        """
        ...

    async def discard(self, workspace: str) -> Discarded | Failed:
        """Remove it with everything in it and its refs. Safe to repeat; no program runs in it."""
        ...

    async def make_checkpoint(self, name: str, target: str) -> CheckpointMade | Failed:
        """Keep the tip of `target` under a ref of this name, which may exist. Safe to repeat."""
        ...

    async def revert(self, commit: str, target: str, message: str) -> Integrated | Failed:
        """Make a commit that undoes a merge on `target`."""
        ...

    async def land(self, target: str, tip: str, commit: str) -> Landed | Failed:
        """Move `target` from `tip` to `commit`, and update a clean checkout of it.

        MOVED: it isn't at `tip` any more. BUSY: it is checked out and has changes.
        """
        ...

    async def deliver(self, workspace: str, branch: str, label: str) -> Delivered | Failed: ...


class Gates(Protocol):
    """The gate of a target branch, as its own settings file defines it."""

    async def __call__(self, target: str) -> Gate | None:
        """Return the gate at the branch's tip; None if it is unknown."""
        ...


class Progress(Protocol):
    def __call__(self, live: Live) -> None: ...


class Checks(Protocol):
    """Runs the checks that work must pass."""

    async def run(
        self, check: Check, place: Box, label: str, progress: Progress
    ) -> CheckResult: ...


class ReportRequest(NamedTuple):
    """A check whose runner is asked for a report."""

    runner: Runner
    run: str  # the shell command that asks for it and then runs the check
    token: str  # the folder of the report in the box's home
    path: str = ""  # in the work's tree, of a report that the command writes by itself


class Collected(NamedTuple):
    """What a run left. Without a report, `problem` may say why."""

    report: Report | None = None
    output: str = ""  # what the runner would have printed, if the request took that away
    problem: str = ""


class ReportError(Exception):
    """A report that can't be read."""


class Reports(Protocol):
    """Asks the runners of tests for reports."""

    def request(self, command: TestCommand, run: str, path: str = "") -> ReportRequest | None:
        """How to run the command so that it makes a report; None if that is unknown.

        `path` names the report of a command that writes one by itself.
        """
        ...

    async def collect(self, request: ReportRequest, box: Box) -> Collected:
        """Read the report after the run has ended."""
        ...

    async def differing(self, box: Box, texts: Mapping[str, str]) -> Sequence[str]:
        """Return those of these files that a run has changed, or removed."""
        ...


class HeldOutCheck(NamedTuple):
    """A check that agents never see: its own command, and a folder that only it may read."""

    run: str
    folder: str = ""
    timeout_s: float = 300.0


class HeldOut(Protocol):
    """The person's held-out checks. What they print goes to the person, never into a record."""

    def checks(self) -> Sequence[HeldOutCheck]:
        """Raises AllstopError if they can't be held out, or not be run."""
        ...

    def keep(self, run: str, printed: str) -> None:
        """Keep what the checks of a run printed where only the person reads it."""
        ...


class Receipts(Protocol):
    """Keeps the receipts of verified trees."""

    async def keep(self, receipt: GateReceipt, place: Box) -> str:
        """Add the time, this machine and the versions of the tools in the box, and keep it.

        Returns its digest once it is safe, or "" with a note to people if it can't be kept.
        """
        ...

    async def flaky_elsewhere(self, tree: str) -> Mapping[str, int]:
        """The flaky tests by the receipts of other trees, each with the number of these trees."""
        ...


class Clock(Protocol):
    def now(self) -> datetime: ...
