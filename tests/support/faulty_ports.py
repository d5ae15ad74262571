"""Journals and workspaces with faults: races, kills, delays, a full disk."""

import anyio

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.core.commands import Allstop
from allstop.core.events import Commanded
from allstop.core.ids import HELM
from allstop.core.moves import CheckResult, Delivered, Failed, FailureKind, Integrated
from allstop.ports import Entry, StoreFullError
from allstop.testing.virtual_clock import LoopClock
from support.in_memory_world import FakeWorkspaces


class EndlessLoopError(BaseException):
    """Endless writes at one moment of virtual time. A BaseException, so that nothing catches it."""


class GuardedJournal(MemoryJournal):
    """Limits the calls at one moment of virtual time, and records the order of writes."""

    MOST_AT_ONCE = 3000

    def __init__(self):
        super().__init__()
        self.writes = []  # (time, entries), in the order in which they became durable
        self._moment = (-1.0, 0)

    async def append(self, *entries, expect=None, write=None):
        self._guard()
        before = len(self._writes)
        await super().append(*entries, expect=expect, write=write)
        if write is None or len(self._writes) > before:
            self.writes.append((anyio.current_time(), entries))

    async def read(self, run, after=0, most=None):
        self._guard()
        return await super().read(run, after, most)

    def _guard(self):
        at, count = self._moment
        now = anyio.current_time()
        self._moment = (now, count + 1 if now == at else 1)
        if self._moment[1] > self.MOST_AT_ONCE:
            raise EndlessLoopError


class RacingJournal(GuardedJournal):
    """Writes an Allstop just before the n-th write after a run was opened.

    `where` is the helm, or "writer" or "root": the run that writes, or the one at the top.
    """

    def __init__(self, nth, where):
        super().__init__()
        self._countdown = nth + 1  # the first write opens the run
        self._where = where
        self.stopped = None  # the stopped run, or the helm
        self.stopped_at = 0  # index of the write

    async def append(self, *entries, expect=None, write=None):
        self._countdown -= 1
        if self._countdown == 0 and entries[0].run != HELM:
            writer = entries[0].run
            self.stopped = {"helm": HELM, "root": writer.partition("/")[0], "writer": writer}[
                self._where
            ]
            stop = Commanded(at=LoopClock().now(), command=Allstop(), by="race")
            told = [self.stopped, *self._below(self.stopped)]
            told_all = tuple(Entry(run, stop) for run in told)
            await super().append(*told_all)
            self.stopped_at = [entries for _, entries in self.writes].index(told_all)
        await super().append(*entries, expect=expect, write=write)

    def _below(self, run):
        return [other for other in self._records if other.startswith(f"{run}/")]


class CrashingJournal(GuardedJournal):
    """The process dies at the n-th write: just before it is durable, or just after.

    Whoever was writing never hears of it, and nobody writes after it.
    """

    def __init__(self, nth, when):
        super().__init__()
        self._countdown = nth
        self._when = when
        self.dead = anyio.Event()

    async def append(self, *entries, expect=None, write=None):
        if self.dead.is_set():
            await anyio.sleep_forever()
        self._countdown -= 1
        is_last = self._countdown == 0
        if is_last and self._when == "before":
            await self._die()
        await super().append(*entries, expect=expect, write=write)
        if is_last:
            await self._die()

    async def _die(self):
        self.dead.set()
        await anyio.sleep_forever()

    def disk(self):
        """What the next process finds."""
        survivor = GuardedJournal()
        survivor._records = {run: list(records) for run, records in self._records.items()}
        survivor.writes = list(self.writes)
        return survivor


class SlowJournal(GuardedJournal):
    """Confirms late: a write is durable, and others see it, before the writer continues."""

    def __init__(self, append_s=0.0, read_s=0.0, heads_s=0.0):
        super().__init__()
        self.append_s = append_s
        self.read_s = read_s
        self.heads_s = heads_s

    async def append(self, *entries, expect=None, write=None):
        await super().append(*entries, expect=expect, write=write)
        with anyio.CancelScope(shield=True):
            await anyio.sleep(self.append_s)

    async def read(self, run, after=0, most=None):
        found = await super().read(run, after, most)
        await anyio.sleep(self.read_s)
        return found

    async def heads(self, **which):
        found = await super().heads(**which)
        await anyio.sleep(self.heads_s)
        return found


class FullJournal(GuardedJournal):
    """Refuses writes while it is full; a reserve may be left for the helm."""

    def __init__(self, reserve=0):
        super().__init__()
        self.full = False
        self.reserve = reserve
        self.refused = 0

    async def append(self, *entries, expect=None, write=None):
        if self.full and not self._from_reserve(entries):
            self.refused += 1
            raise StoreFullError("the disk is full", "make room")
        await super().append(*entries, expect=expect, write=write)

    def _from_reserve(self, entries):
        if self.reserve and any(entry.run == HELM for entry in entries):
            self.reserve -= 1
            return True
        return False


class IdempotentWorkspaces(FakeWorkspaces):
    """Delivers a branch only once, as git does."""

    def __init__(self):
        super().__init__()
        self.brought = []  # a branch for each delivery
        self.takes_s = 1.0

    async def deliver(self, workspace, branch, label):
        await anyio.sleep(self.takes_s)
        commit = f"c{self.commits[workspace]}"
        if self.delivered.get(branch) != commit:
            self.delivered[branch] = commit
            self.brought.append(branch)
        await anyio.sleep(self.takes_s)
        return Delivered(branch=branch, commit=commit)


class SecondTimeChecks:
    """Pass from the second commit on; stateless, so that they can be repeated."""

    def __init__(self, workspaces):
        self._workspaces = workspaces
        self.ran = []

    async def run(self, check, place, label, progress):
        self.ran.append(check.run)
        await anyio.sleep(1)
        passed = self._workspaces.commits[place.workspace.rpartition("/")[2]] >= 2
        return CheckResult(name=check.name, run=check.run, passed=passed, code=0 if passed else 1)


class MergingWorkspaces(FakeWorkspaces):
    """Merges slowly and idempotently; some work conflicts until it has more commits."""

    def __init__(self, fits_after=None):
        super().__init__()
        self.fits_after = fits_after or {}  # commits without a conflict, by workspace
        self.merged = []  # a workspace for each merge
        self.reverted = []
        self.takes_s = 1.0
        self._within = {}  # merged commits by target commit and workspace

    async def integrate(self, workspace, target, message, label, *, onto=""):
        await anyio.sleep(self.takes_s)
        tip, commits = onto or self.tips.get(target, "base"), self.commits.get(workspace, 0)
        within = self._within.get(tip, {})
        if within.get(workspace) == commits:
            return Integrated(tip=tip, commit=tip, tree=f"tree of {tip}")
        if commits < self.fits_after.get(workspace, 0):
            return Failed(kind=FailureKind.CONFLICT, message="same.txt")
        made = f"{tip}+{workspace}.{commits}"
        self._within[made] = {**within, workspace: commits}
        return Integrated(tip=tip, commit=made, tree=f"tree of {made}")

    async def revert(self, commit, target, message):
        await anyio.sleep(self.takes_s)
        tip = self.tips[target]
        made = f"{tip}-({commit})"
        workspace = commit.rpartition("+")[2].partition(".")[0]
        self._within[made] = {k: v for k, v in self._within[tip].items() if k != workspace}
        return Integrated(tip=tip, commit=made, tree=f"tree of {made}")

    async def land(self, target, tip, commit):
        await anyio.sleep(self.takes_s)
        before = len(self.landed)
        landed = await super().land(target, tip, commit)
        if len(self.landed) > before:
            made = commit.removeprefix(tip)
            if made.startswith("-("):
                self.reverted.append(made[2:-1].rpartition("+")[2].partition(".")[0])
            else:  # a merge, or a batch of them
                self.merged += [name.partition(".")[0] for name in made.split("+")[1:]]
        await anyio.sleep(self.takes_s)
        return landed
