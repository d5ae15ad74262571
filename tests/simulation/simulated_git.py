"""A simulated git repository that survives process kills."""

import math
from collections import Counter

import anyio
from msgspec.structs import replace

from allstop.core.moves import (
    Change,
    CheckpointMade,
    Delivered,
    Discarded,
    Failed,
    FailureKind,
    Integrated,
    Landed,
    WorkspaceOpen,
)
from allstop.ports import Box, Candidate, Subject
from simulation.auditor import GRACE_S, rule

BASE = "base"


class Repository:
    check_every_s = math.inf  # disk space is unlimited

    def __init__(self, chance, auditor):
        self._chance = chance
        self._auditor = auditor
        self._commits = {}
        self._branches = {}
        self._tips = {}  # by target
        self._seen = {}  # the target's tip in each workspace
        self._within = {BASE: {}}  # merged work by target commit and workspace
        self._history = {BASE: {}}  # work ever merged, including reverted work
        self._begins = Counter()  # the first unmerged commit of each workspace
        self._made = {}  # author and workspace of merges and reverts
        self._parents = {}  # the commit that each of them was made on
        self._landed = set()
        self.calm = False
        self.brought = []  # a branch for each delivery
        self.merged = Counter()  # merges by workspace
        self.reverted = Counter()

    async def _takes(self, most_s):
        await anyio.sleep(self._chance.uniform(0, most_s))

    def _happens(self, share):
        return not self.calm and self._chance.random() < share

    async def open(self, workspace, target, label, *, onto="", stash=False, given=""):
        await self._takes(3)
        if self._happens(0.05):
            return Failed(kind=FailureKind.CRASHED, message="git was killed")
        tip, number = self._tips.get(target, BASE), self._commits.setdefault(workspace, 0)
        self._seen.setdefault(workspace, tip)
        if number and self._history[tip].get(workspace) == number:
            self._begins[workspace] = number  # all work is merged: continue from the tip
            self._seen[workspace] = tip
        if onto:
            self._seen[workspace] = tip
        conflicts = ("same.txt",) if onto and self._happens(0.7) else ()
        return WorkspaceOpen(base=BASE, conflicts=conflicts, stashed=stash and self._happens(0.5))

    def box_of(self, workspace):
        return Box(home="/home", workspace=f"/w/{workspace}")

    async def over_limit(self, workspace):
        return ""

    candidate_over_limit = over_limit

    def shortage(self):
        return ""

    async def keep(self, workspace, label, *, message="", uncommitted=False):
        await self._takes(1)
        self._commits[workspace] += self._chance.random() < 0.8
        number = self._commits[workspace]
        return Change(head=f"c{number}", commits=number, files=number - self._begins[workspace])

    async def subject(self, workspace, label, *, commit="", base="", follows=""):
        if follows and not commit and self._tips.get(follows, BASE) != self._seen[workspace]:
            return Failed(kind=FailureKind.MOVED)
        number = self._commits[workspace]
        made = commit or f"{workspace}.{number}"
        tree = self._tree(made) if commit else self._tree_of({workspace: number})
        return Subject(BASE, made, tree)

    async def drop_candidate(self, workspace):
        pass

    async def candidate(self, workspace, label, *, commit="", base="", follows="", restore=()):
        box = Box(home="/clean", workspace=f"/clean/{workspace}")
        work = await self.subject(workspace, label, commit=commit, follows=follows)
        return work if isinstance(work, Failed) else Candidate(box, *work)

    async def changes(self, work):
        return ()

    async def discard(self, workspace):
        await self._takes(1)
        return Discarded()

    async def deliver(self, workspace, branch, label):
        await self._takes(20)
        tip = self._commits[workspace]
        if self._branches.get(branch) != (label, tip):  # deliver only once, as git does
            self._not_after_a_stop(label)
            before, known = self._branches.get(branch, ("", 0))
            goes_on = before != label or known < tip  # the run was resumed during the delivery
            rule(goes_on, "a run delivers its work once", label, branch)
            self._branches[branch] = (label, tip)
            self.brought.append(branch)
        await self._takes(5)
        return Delivered(branch=branch, commit=f"c{tip}")

    # --- merging ---

    async def integrate(self, workspace, target, message, label, *, onto=""):
        await self._takes(10)
        if self._happens(0.2):
            return Failed(kind=FailureKind.CONFLICT, message="same.txt")
        if self._happens(0.05):
            return Failed(kind=FailureKind.CRASHED, message="git was killed")
        tip, number = onto or self._tips.get(target, BASE), self._commits[workspace]
        within, known = self._within[tip], self._history[tip].get(workspace, 0)
        if known == number:
            return Integrated(tip=tip, commit=tip, tree=self._tree(tip))
        begins = known > self._begins[workspace]
        rule(
            not begins or workspace in within,
            "reverted work is merged only with new commits",
            workspace,
        )
        if onto and self._happens(0.1):
            return Failed(kind=FailureKind.CONFLICT, message="same.txt")
        made = self._make(tip, {**within, workspace: number}, (label, workspace, "merge"))
        return replace(made, sets_rules=self._happens(0.05))

    async def make_checkpoint(self, name, target):
        await self._takes(2)
        if self._happens(0.1):
            return Failed(kind=FailureKind.CRASHED, message="git was killed")
        return CheckpointMade(checkpoint=name, commit=self._tips.get(target, BASE))

    async def revert(self, commit, target, message):
        await self._takes(10)
        tip = self._tips[target]
        _, workspace, _ = self._made[commit]
        rule(workspace in self._within[tip], "only merged work is reverted", workspace)
        within = {k: v for k, v in self._within[tip].items() if k != workspace}
        return self._make(tip, within, ("", workspace, "revert"))

    def _make(self, tip, within, how):
        commit = f"m{len(self._made) + 1}"
        self._within[commit] = within
        self._history[commit] = {**self._history[tip], **within}
        self._made[commit] = how
        self._parents[commit] = tip
        return Integrated(tip=tip, commit=commit, tree=self._tree(commit))

    def tree_of(self, commit):
        return self._tree(commit)

    def _tree(self, commit):
        return self._tree_of(self._within[commit])

    def _tree_of(self, within):
        return f"tree of {sorted(within.items())}"

    async def land(self, target, tip, commit):
        await self._takes(10)
        if self._happens(0.1):
            return Failed(kind=FailureKind.BUSY, message=f"{target} is checked out, with changes")
        if self._happens(0.1):
            self._somebody_commits(target)
        landed = commit
        if commit in self._landed or commit == tip:
            return Landed(commit=commit)
        if self._tips.get(target, BASE) != tip:
            return Failed(kind=FailureKind.MOVED)
        while commit != tip:
            label, workspace, kind = self._made[commit]
            if label:
                self._not_after_a_stop(label)
            self._landed.add(commit)
            (self.merged if kind == "merge" else self.reverted)[workspace] += 1
            commit = self._parents[commit]
        self._tips[target] = commit = landed
        await self._takes(5)
        return Landed(commit=commit)

    def _somebody_commits(self, target):
        tip = self._tips.get(target, BASE)
        commit = f"u{len(self._within)}"
        self._within[commit] = {**self._within[tip], "somebody": len(self._within)}
        self._history[commit] = self._history[tip]
        self._tips[target] = commit

    def has(self, target, workspace):
        """Whether the target contains all work of the workspace."""
        within = self._within[self._tips.get(target, BASE)]
        return within.get(workspace) == self._commits.get(workspace)

    def _not_after_a_stop(self, run):
        late_s = anyio.current_time() - self._auditor.cut_since(run)
        rule(
            not self._auditor.is_cut(run) or late_s <= GRACE_S,
            "nothing is delivered after a stop",
            run,
        )
