"""Steps a pilot by hand: get the next move, pass its result, look at the next move."""

from datetime import timedelta

from allstop.board.board_pilot import BoardPilot
from allstop.core import run as runs
from allstop.core.brakes import Tally
from allstop.core.commands import AddTasks
from allstop.core.events import (
    ChildClosed,
    ChildRested,
    ChildWaited,
    ChildWentOn,
    Commanded,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Reached,
    ThreadOpened,
)
from allstop.core.moves import (
    CheckpointMade,
    EndSprint,
    Finish,
    MakeCheckpoint,
    Outcome,
    Spawn,
    Spawned,
    SprintEnded,
    Wait,
    without_prompt_text,
)
from allstop.core.tasks import NewTask
from allstop.testing.virtual_clock import EPOCH as NOW


class PilotSteps:
    def __init__(self, pilot, spec, **options):
        self._pilot = pilot
        self.now = NOW
        opened = Opened(at=NOW, kind=pilot.kind, spec=spec, **options)
        self.state = runs.begin(pilot, opened)
        self.events = [opened]

    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)
        return self

    def next(self):
        return runs.choose(self._pilot, self.state, self.now)

    def back(self, result, after_s=0):
        """Carry out the next move and let this come back; gives the move after it."""
        self.start()
        self.wait(after_s)
        self._write(MoveEnded(at=self.now, id=self.state.moves, result=result))
        return self.next()

    @property
    def undelivered(self):
        return self._pilot.undelivered(self.state.pilot)

    def start(self):
        move = self.next()
        assert not isinstance(move, Wait | Finish), f"nothing to carry out: {move}"
        self._write(
            MoveStarted(at=self.now, id=self.state.moves + 1, move=without_prompt_text(move))
        )

    def end(self, result):
        self._write(MoveEnded(at=self.now, id=self.state.moves, result=result))
        return self.next()

    def opens(self, thread):
        self._write(ThreadOpened(at=self.now, id=self.state.moves, thread=thread))

    def reaches(self):
        self._write(Reached(at=self.now, id=self.state.moves))

    def notes(self, *items):
        self._write(Noted(at=self.now, id=self.state.moves, items=items))

    def told(self, command):
        self._write(Commanded(at=self.now, command=command))
        return self.next()

    def _write(self, event):
        self.events.append(event)
        self.state = runs.evolve(self._pilot, self.state, event)


def _result_of(move):
    match move:
        case Spawn(ref=ref):
            return Spawned(run=f"board/{ref}")
        case MakeCheckpoint(checkpoint=name):
            return CheckpointMade(checkpoint=name, commit="tip")
        case EndSprint(sprint=sprint):
            return SprintEnded(sprint=sprint)


class BoardSteps(PilotSteps):
    """Steps a board pilot: starts child runs and passes their outcomes."""

    def __init__(self, **spec):
        given = {"target": "main", "agents": ["cli"], "review": "skip", **spec}
        super().__init__(BoardPilot(), given)
        self.spawned = []  # the Spawn move of every child

    @property
    def board(self):
        return self.state.pilot.board

    def task(self, name):
        return self.board[name]

    def status(self, *names):
        return [self.board[name].status.value for name in names]

    def add(self, *tasks, **more):
        """Tasks by their names, or as they are; gives the names of those that start."""
        made = [NewTask(id=t, title=t, **more) if isinstance(t, str) else t for t in tasks]
        return self.tell(AddTasks(tasks=tuple(made)))

    def tell(self, *commands):
        for command in commands:
            self._write(Commanded(at=self.now, command=command))
        return self.go()

    def go(self):
        """Start all that can be; gives their refs. Checkpoints are made, and sprints end."""
        started = []
        while isinstance(move := self.next(), Spawn | MakeCheckpoint | EndSprint):
            number = self.state.moves + 1
            self._write(MoveStarted(at=self.now, id=number, move=move))
            self._write(MoveEnded(at=self.now, id=number, result=_result_of(move)))
            if isinstance(move, Spawn):
                self.spawned.append(move)
                started.append(move.ref)
            assert len(started) < 10_000, "it starts and starts"
        return started

    def spec_of(self, ref):
        return next(move.spec for move in self.spawned if move.ref == ref)

    def ends(self, ref, outcome=Outcome.DONE, note="", turns=1, tally=None, **facts):
        """A child is over; gives the refs of those that start now."""
        closed = ChildClosed(
            at=self.now,
            ref=ref,
            run=f"board/{ref}",
            outcome=outcome,
            tally=tally or Tally(turns=turns),
            note=note,
            facts=facts,
        )
        self._write(closed)
        return self.go()

    def waits(self, ref, reason="asks: well?"):
        self._write(ChildWaited(at=self.now, ref=ref, run=f"board/{ref}", reason=reason))
        return self.go()

    def rests(self, ref, reason="paused", until=None):
        run = f"board/{ref}"
        self._write(ChildRested(at=self.now, ref=ref, run=run, reason=reason, until=until))
        return self.go()

    def goes_on(self, ref):
        self._write(ChildWentOn(at=self.now, ref=ref, run=f"board/{ref}"))
        return self.go()
