"""The auditor: checks the invariants at every write of a simulation."""

from collections import defaultdict
from datetime import UTC

import anyio

from allstop.core import helm
from allstop.core import run as runs
from allstop.core.brakes import Limits
from allstop.core.commands import Abort, Allstop, Interrupt, Permit
from allstop.core.daily_budget import day_of
from allstop.core.events import (
    Asked,
    ChildClosed,
    Closed,
    Commanded,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Reached,
    Stopped,
    ThreadOpened,
)
from allstop.core.helm import Helm, Hold
from allstop.core.ids import HELM
from allstop.core.moves import (
    RESUMABLE,
    ChecksDone,
    Failed,
    FailureKind,
    Land,
    Spawn,
    TakeTurn,
    TurnDone,
)

CUT = {FailureKind.CANCELLED, FailureKind.DISCARDED}

GRACE_S = 4.0
"""Time after a stop in which work may still end: the longest delay of the simulated disk."""


class RuleViolationError(BaseException):
    """An invariant is violated. A BaseException, so that nothing catches it."""


def rule(holds, what, *details):
    if not holds:
        raise RuleViolationError(what, *details)


class Auditor:
    """Folds every run and the helm in the order of the journal."""

    def __init__(self, pilots):
        self._pilots = pilots
        self.boards = None  # further checks of boards
        self.helm = Helm()
        self.states = {}
        self._epochs = {}  # the helm's stops when a run's move began
        self._came_back = {}  # usage of ended turns that aren't written yet
        self._stopped_at = {}  # the last stop, by run or helm
        self._braked_at = {HELM: 0.0}  # the last change of a hold, by run or helm
        self._started_at = {}
        self._written_at = {}
        self._turns = {}  # every turn: its start, and its usage or reservation
        self._day, self._zone = Limits(), UTC
        self._questions = {}  # answers by run and question
        self._passed = defaultdict(set)  # required checks that passed, by tree
        self.tree_of = None  # the tree of a commit

    def watch_days(self, limits, zone):
        self._day, self._zone = limits, zone

    def day_limits(self, now):
        """The limits that a person granted on this day, or the settings'."""
        grant = self.helm.grant
        is_todays = grant is not None and day_of(now, self._zone).has(grant.at)
        return grant.limits if is_todays else self._day

    def __call__(self, entries):
        for number, entry in enumerate(entries):
            run, event = entry.run, entry.event
            self._written_at[run] = anyio.current_time()
            if run == HELM:
                self._helm(event)
            elif isinstance(event, Opened):
                self._opened(run, event, entries)
            else:
                self._check(run, event, entries[number + 1 :], entries)
                self._fold(run, event)

    # --- queries ---

    def is_cut(self, run):
        """Whether the run's open move began before a stop of the run or the helm."""
        state = self.states[run]
        move = state.open_move
        return move is not None and (
            self.helm.stops > self._epochs[run] or state.stops > move.stops or state.aborting
        )

    def cut_since(self, run):
        return max(self._stopped_at.get(run, 0.0), self._stopped_at.get(HELM, 0.0))

    def held_since(self, run):
        """The last change of the run's hold or open move."""
        moments = (self._braked_at.get(run, 0.0), self._braked_at[HELM], self._started_at[run])
        return max(moments)

    @property
    def held_at(self):
        """The last change of the helm's hold."""
        return self._braked_at[HELM]

    def written_at(self, run):
        """The time of the run's last write."""
        return self._written_at[run]

    def is_frozen(self, run):
        return runs.is_frozen(self.states[run], self.helm)

    def open_runs(self):
        return [run for run, state in self.states.items() if state.closed is None]

    def total(self, run, what):
        """The usage of a run, including open runs below it."""
        below = (
            self.total(other, what)
            for other, state in self.states.items()
            if state.opened.parent == run and state.closed is None
        )
        return getattr(self.states[run].tally, what) + sum(below)

    def came_back(self, run, result):
        """A turn ended; its usage is known before it is written."""
        self._came_back[run] = (int(isinstance(result, TurnDone)), result.usage.tokens)

    def died(self, run):
        """The run's process died: the usage of an open turn is unknown."""
        move = self.states[run].open_move
        if move is not None and isinstance(move.move, TakeTurn):
            self._came_back[run] = (0, move.move.most_tokens)

    def was_answered(self, run, ask, allowed):
        """An agent got the answer to a request."""
        question, answer = self._questions.get((run, ask.id), (None, None))
        said_yes = question == ask and answer is True
        rule(said_yes or not allowed, "an agent is allowed only after an approval", run, ask)

    def in_flight(self, run):
        """The maximum usage of the open turns in a run and below it."""
        return [
            self._may_come_to(other, state.open_move.move)
            for other, state in self.states.items()
            if (other == run or other.startswith(f"{run}/"))
            and state.open_move is not None
            and isinstance(state.open_move.move, TakeTurn)
        ]

    def _may_come_to(self, run, turn):
        turns, tokens = self._came_back.get(run, (1, turn.most_tokens))
        return (0 if self.is_cut(run) else turns, tokens)

    # --- folding ---

    def _helm(self, event):
        before, self.helm = self.helm, helm.steer(self.helm, event)
        if self.helm.stops > before.stops:
            self._stopped_at[HELM] = anyio.current_time()
        if self.helm.hold is not before.hold:
            self._braked_at[HELM] = anyio.current_time()

    def _fold(self, run, event):
        before = self.states[run]
        if isinstance(event, MoveStarted):
            self._epochs[run] = self.helm.stops
            self._started_at[run] = anyio.current_time()
        match event:
            case MoveEnded():
                self._came_back.pop(run, None)
            case Asked(ask=ask):
                self._questions[run, ask.id] = (ask, None)
            case Commanded(command=Permit(ask=name, allow=allow)) if (run, name) in self._questions:
                self._questions[run, name] = (self._questions[run, name][0], allow)
        self.states[run] = runs.evolve(self._pilots[before.opened.kind], before, event)
        if self.boards is not None and before.opened.kind == "board":
            self.boards.check_after(run, self.states[run])
        if before.opened.kind == "room":
            check_room(run, before, event, self.states[run])
        if isinstance(event, Commanded) and isinstance(event.command, Allstop | Abort | Interrupt):
            self._stopped_at[run] = anyio.current_time()
        if self.states[run].hold is not before.hold:
            self._braked_at[run] = anyio.current_time()

    # --- rules ---

    def _opened(self, run, event, entries):
        rule(run not in self.states, "a run is opened once", run)
        if event.parent is not None:
            births = [
                entry.event.move.ref
                for entry in entries
                if entry.run == event.parent
                and isinstance(entry.event, MoveStarted)
                and isinstance(entry.event.move, Spawn)
            ]
            rule(births == [event.ref], "a child opens in its parent's move", run)
        self.states[run] = runs.begin(self._pilots[event.kind], event)

    def _check(self, run, event, later, entries):
        state = self.states[run]
        if self.boards is not None and state.opened.kind == "board":
            self.boards.check_start(run, state, event)
        match event:
            case MoveStarted():
                self._may_start(run, state, event, later)
            case MoveEnded():
                self._may_end(run, state, event)
            case Noted() | Asked() | ThreadOpened():
                self._may_speak(run, state, event, later)
            case Reached():
                self._may_speak(run, state, event, later)
                pilot = self._pilots[state.opened.kind]
                rule(pilot.undelivered(state.pilot), "a delivered message was pending", run)
            case Closed():
                rule(state.closed is None, "a run is closed once", run)
                rule(state.open_move is None, "no move is open when a run closes", run)
                rule(self.helm.hold is Hold.NONE, "no run closes while the helm holds", run)
            case ChildClosed(run=child):
                rule(Closed in kinds_of(entries, child), "a closing child tells its parent", run)

    def _may_start(self, run, state, event, later):
        rule(state.closed is None, "no move starts in a closed run", run)
        rule(state.open_move is None, "one move at a time", run)
        pilot = self._pilots[state.opened.kind]
        helm_holds = runs.is_held(self.helm.hold, pilot, state.pilot)
        rule(not helm_holds, "no move starts while the helm holds", run, self.helm)
        is_run_held = runs.is_held(state.hold, pilot, state.pilot)
        rule(not is_run_held, "no move starts while the run is held", run, state.hold)
        rule(not state.aborting, "no move starts in an aborting run", run)
        rule(event.id == state.moves + 1, "moves are numbered", run)
        if isinstance(event.move, Land) and event.move.commit != event.move.tip:
            self._lands_green(run, state, event.move)
        if isinstance(event.move, TakeTurn) and not is_refused(run, event, later):
            self._fits_every_budget(run, event.move)
            self._fits_the_day(run, event)

    def _lands_green(self, run, state, move):
        """M3: every required check passed on exactly the tree that lands."""
        required = {check.run for check in state.pilot.spec.gate.checks if check.required}
        lacking = required - self._passed[self.tree_of(move.commit)]
        rule(not lacking, "only green trees land", run, move, lacking)

    def _fits_every_budget(self, run, move):
        name = run
        while name:
            limits = self.states[name].limits
            under_way = self.in_flight(name)
            if limits.tokens is not None and self.states[name].closed is None:
                reserved = sum(tokens for _, tokens in under_way) + move.most_tokens
                used = self.total(name, "tokens")
                rule(used + reserved <= limits.tokens, "tokens fit", run, name, used, reserved)
            if limits.turns is not None and self.states[name].closed is None:
                used = self.total(name, "turns") + sum(turns for turns, _ in under_way) + 1
                rule(used <= limits.turns, "turns fit", run, name, used)
            name = name.rpartition("/")[0]

    def _fits_the_day(self, run, event):
        """By journal order: each turn counts for the day it started on."""
        limits, day = self.day_limits(event.at), day_of(event.at, self._zone)
        used = [amount for at, amount in self._turns.values() if day.has(at)]
        tokens = sum(tokens for _, tokens in used) + event.move.most_tokens
        turns = sum(turns for turns, _ in used) + 1
        rule(limits.tokens is None or tokens <= limits.tokens, "tokens fit the day", run, tokens)
        rule(limits.turns is None or turns <= limits.turns, "turns fit the day", run, turns)
        self._turns[run, event.id] = (event.at, (1, event.move.most_tokens))

    def _may_end(self, run, state, event):
        if isinstance(event.result, ChecksDone):
            passed = {r.run for r in event.result.results if r.passed and r.required}
            self._passed[event.result.tree] |= passed
        if (run, event.id) in self._turns:
            at, _ = self._turns[run, event.id]
            turns = int(isinstance(event.result, TurnDone))
            self._turns[run, event.id] = (at, (turns, event.result.usage.tokens))
        rule(state.open_move is not None, "an ended move was started", run)
        rule(state.open_move.id == event.id, "the ended move is the open one", run)
        failed = isinstance(event.result, Failed)
        if self.is_cut(run):
            rule(
                failed and event.result.kind in RESUMABLE | {FailureKind.OUT_OF_BUDGET},
                "no result of an agent is accepted after a stop",
                run,
                event,
            )
        else:
            rule(
                not failed or event.result.kind not in CUT,
                "only moves cut by a stop are recorded as cut",
                run,
                event,
            )

    def _may_speak(self, run, state, event, later):
        rule(state.open_move is not None, "an agent's message has an open move", run, event)
        rule(state.open_move.id == event.id, "an agent's message belongs to the open move", run)
        if self.is_cut(run):
            ends = any(entry.run == run and isinstance(entry.event, MoveEnded) for entry in later)
            rule(
                isinstance(event, Noted) and ends, "no message is recorded after a stop", run, event
            )
            for item in event.items:
                said_at = float(item.text.rpartition(" at ")[2]) if " at " in item.text else 0.0
                rule(
                    said_at <= self.cut_since(run) + GRACE_S, "late messages are dropped", run, item
                )


def check_room(run, before, event, after):
    """No turn without a session, and every stop ends the session."""
    if isinstance(event, MoveStarted):
        rule(before.pilot.session is not None, "a turn has a session", run)
    stops = isinstance(event, Stopped) or (
        isinstance(event, Commanded) and isinstance(event.command, Allstop | Interrupt)
    )
    if stops and before.closed is None:
        rule(after.pilot.session is None, "a stop ends the session", run)
    if before.pilot.session is None and isinstance(event, MoveEnded):
        rule(after.pilot.talk == before.pilot.talk, "nothing is posted after a stop", run)
    session = after.pilot.session
    if session is not None:
        guards = session.spec.guards
        rule(session.turns < guards.max_turns, "turns are capped", run)
        rule(session.tokens < guards.max_tokens, "tokens are capped", run)


def kinds_of(entries, run):
    return [type(entry.event) for entry in entries if entry.run == run]


def is_refused(run, started, later):
    return any(
        entry.run == run
        and isinstance(entry.event, MoveEnded)
        and entry.event.id == started.id
        and isinstance(entry.event.result, Failed)
        and entry.event.result.kind is FailureKind.OUT_OF_BUDGET
        for entry in later
    )
