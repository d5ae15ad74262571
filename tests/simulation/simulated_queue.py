"""A simulated merge queue: the pilots of the board and of merges, with a git and checks on paper."""

from collections import Counter
from random import Random
from typing import NamedTuple

from allstop.board.board_pilot import BoardPilot
from allstop.core import run as runs
from allstop.core.moves import (
    CheckResult,
    ChecksDone,
    Failed,
    FailureKind,
    Finish,
    Integrate,
    Integrated,
    Land,
    Landed,
    Outcome,
    RunChecks,
    Wait,
)
from allstop.merges.pilot import MergePilot
from support.pilot_steps import BoardSteps, PilotSteps

LINT, UNIT, WHOLE = "lint", "unit tests", "whole system"
SEVERAL = {LINT: 0.1, UNIT: 0.5, WHOLE: 0.4}
"""The share of a full run that each check takes."""

ONE = {"everything": 1.0}
"""The hardest gate: what has failed can't be told apart, so a second run is a full one."""

BACKLOG = 16

BOARD = BoardPilot()


class Chances(NamedTuple):
    fails: float = 0.05  # a change breaks a check
    clashes: float = 0.0  # it does so only together with another change
    flakes: float = 0.05  # a full run fails although nothing is broken
    conflicts: float = 0.0
    kills: float = 0.0  # by move
    moves: float = 0.0  # somebody else commits to the target before it moves


class QueueHistory:
    """Changes wait in the queue until all of them are merged; those thrown out are mended."""

    def __init__(self, seed, changes, chances=None, checks=SEVERAL):
        self.chances = chances or Chances()
        self._random = Random(seed)
        self._checks = checks
        self._changes = changes
        gate = {"checks": [{"name": name, "run": name} for name in checks]}
        self.board = BoardSteps(slots=BACKLOG, gate=gate, batch=8, errors=0, conflicts=10**6)
        self.tip = "base"
        self._parents = {}  # of each merge commit: the one before it, and the change it adds
        self._trees = {"base": "tree of base"}
        self._landed = set()  # commits
        self._on_target = set()  # changes, with their versions
        self._breaks = {}  # the check that a version of a change breaks, and the change it needs
        self._versions = Counter()
        self._passed = {}  # checks by tree
        self.runs = 0.0  # full runs
        self.merged = 0
        self.wrongly = 0  # honest changes that were thrown out
        self.rightly = 0
        self.kills = 0
        self.sizes = Counter()
        self._oldest = "", 0, 0  # its version, and the batches begun since it is the oldest
        self.longest_wait = 0  # in batches

    def play(self):
        self._add(BACKLOG)
        while self.merged < self._changes:
            begun = [ref for ref in self.board.state.pilot.refs if ".merge" not in ref]
            for ref in begun:
                self._attempt_ends(ref)
            merging = self.board.state.pilot.merging
            assert merging, f"the queue stands still: {self.board.next()}"
            self._note_batch(merging)
            self._end(merging, self._merge(self.board.spec_of(merging)))
        return self

    def _add(self, count):
        first = len(self.board.board.nodes)
        left = self._changes - first
        self.board.add(*(f"t{first + n}" for n in range(min(count, left))))

    def _attempt_ends(self, ref):
        task = ref.rpartition(".")[0]
        self._versions[task] += 1
        if self._versions[task] == 1:
            check, neighbour = self._random.choice(list(self._checks)), self._random.randint(1, 8)
            if self._random.random() < self.chances.fails:
                self._breaks[task, 1] = check, ""
            elif self._random.random() < self.chances.clashes:
                self._breaks[task, 1] = check, f"t{int(task[1:]) - neighbour}"
        self.board.ends(ref, tree=f"tree of {ref}")

    # --- a merge ---

    def _merge(self, spec):
        steps = PilotSteps(MergePilot(), spec)
        while not isinstance(move := steps.next(), Finish):
            if isinstance(move, Wait):
                steps.wait(60)
            else:
                steps.back(self._perform(move))
            if self._random.random() < self.chances.kills:
                self.kills += 1
                before, events = steps.state, steps.events
                steps = PilotSteps(MergePilot(), spec)
                for event in events[1:]:
                    steps._write(event)
                assert steps.state == before, "the next process knows what the last one knew"
        return move

    def _perform(self, move):
        is_killed = self._random.random() < self.chances.kills
        if is_killed and self._random.random() < 0.5:
            return Failed(kind=FailureKind.INTERRUPTED)
        match move:
            case Integrate():
                result = self._integrate(move)
            case RunChecks():
                result = self._run_checks(move)
            case Land():
                result = self._land(move)
        return Failed(kind=FailureKind.INTERRUPTED) if is_killed else result

    def _integrate(self, move):
        tip, change = move.onto or self.tip, (move.workspace, self._versions[move.workspace])
        if change in self._on_target or change in self._chain(tip):
            return Integrated(tip=tip, commit=tip, tree=self._trees[tip])
        if change[1] < 3 and self._random.random() < self.chances.conflicts:
            return Failed(kind=FailureKind.CONFLICT, message="same.txt")
        commit = self._commit(tip, change)
        return Integrated(tip=tip, commit=commit, tree=self._trees[commit])

    def _commit(self, tip, change):
        commit = f"c{len(self._parents)}"
        self._parents[commit] = tip, change
        self._trees[commit] = str(hash((self._trees[tip], change)))
        return commit

    def _chain(self, commit):
        """The changes of a commit that are not on the target."""
        found = []
        while commit not in self._landed and commit in self._parents:
            commit, change = self._parents[commit]
            found.append(change)
        return found

    def _broken(self, changes):
        """The checks that really fail if these changes were on the target."""
        names = {task for task, _ in changes}
        found = []
        for change in changes:
            check, other = self._breaks.get(change, ("", ""))
            is_there = other in names or any((other, n) in self._on_target for n in (1, 2, 3, 4))
            if check and (not other or is_there):
                found.append(check)
        return found

    def _run_checks(self, move):
        tree, broken = self._trees[move.commit], self._broken(self._chain(move.commit))
        results = []
        for check in move.checks:
            share = self._checks[check.name]
            self.runs += share
            flaked = self._random.random() < self.chances.flakes * share
            passed = check.name not in broken and not flaked
            results.append(CheckResult(name=check.name, run=check.run, passed=passed))
            if not passed:
                break
            self._passed.setdefault(tree, set()).add(check.name)
        return ChecksDone(results=tuple(results), tree=tree)

    def _land(self, move):
        if self._random.random() < self.chances.moves:
            self.tip = self._commit(self.tip, ("somebody", len(self._parents)))
            self._landed.add(self.tip)
        if move.commit in self._landed:
            return Landed(commit=move.commit)  # a process was killed after it
        if self.tip != move.tip:
            return Failed(kind=FailureKind.MOVED)
        changes = self._chain(move.commit)
        assert self._passed[self._trees[move.commit]] == set(self._checks), "green as this tree"
        assert not self._broken(changes), "the target is never red"
        for task, version in changes:
            assert (task, version) not in self._on_target, "each change lands once"
        self._on_target |= set(changes)
        self.tip = commit = move.commit
        while commit != move.tip:
            self._landed.add(commit)
            commit, _ = self._parents[commit]
        return Landed(commit=move.commit)

    # --- what came of it ---

    def _note_batch(self, ref):
        """Q27: how many batches begin until the oldest change that waits is settled."""
        pilot = self.board.state.pilot
        self.sizes[len(pilot.queue.batch)] += 1
        if "-" in ref or self.board.spec_of(ref).get("landed"):
            return  # a part of a batch that has begun
        waiting = [*pilot.queue.batch, *(task for _, task in pilot.board.merges)]
        oldest = next((task for task in waiting if task not in pilot.queue.batch), waiting[0])
        name, version, batches = self._oldest
        if (name, version) == (name, self._versions[name]) and name in waiting:
            self._oldest = name, version, batches + 1
        else:
            self._oldest = oldest, self._versions[oldest], 1
        self.longest_wait = max(self.longest_wait, self._oldest[2])

    def _end(self, ref, finish):
        task, facts = ref.rpartition(".merge")[0], finish.facts
        if finish.outcome is Outcome.DONE:
            self.merged += 1
        elif facts.get("batch") == task:
            if self._broken([(task, self._versions[task])]):
                self.rightly += 1
            else:
                self.wrongly += 1
        self.board.ends(ref, finish.outcome, finish.note, **facts)
        if finish.outcome is Outcome.DONE:
            self._add(1)

    def check(self):
        """At the end each change is on the target once, and folding the record gives the state."""
        assert len(self._on_target) == self.merged == self._changes
        assert {task for task, _ in self._on_target} == {f"t{n}" for n in range(self._changes)}
        queue = self.board.state.pilot.queue
        assert (queue.landed, queue.limits, queue.batch) == ({}, {}, ())
        first, *events = self.board.events
        state = runs.begin(BOARD, first)
        for event in events:
            state = runs.evolve(BOARD, state, event)
        assert state == self.board.state
        return self
