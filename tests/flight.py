"""Flies a pilot by hand: ask for the next move, say what came back, look at the move after it."""

from datetime import timedelta

from allstop.core import run as runs
from allstop.core.events import Commanded, MoveEnded, MoveStarted, Opened, ThreadOpened
from allstop.core.moves import Finish, Wait, on_record
from histories import NOW


class Flight:
    def __init__(self, pilot, spec, **options):
        self._pilot = pilot
        self.now = NOW
        opened = Opened(at=NOW, kind=pilot.kind, spec=spec, **options)
        self.state = runs.begin(pilot, opened)

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

    def start(self):
        move = self.next()
        assert not isinstance(move, Wait | Finish), f"nothing to carry out: {move}"
        self._write(MoveStarted(at=self.now, id=self.state.moves + 1, move=on_record(move)))

    def end(self, result):
        self._write(MoveEnded(at=self.now, id=self.state.moves, result=result))
        return self.next()

    def opens(self, thread):
        self._write(ThreadOpened(at=self.now, id=self.state.moves, thread=thread))

    def told(self, command):
        self._write(Commanded(at=self.now, command=command))
        return self.next()

    def _write(self, event):
        self.state = runs.evolve(self._pilot, self.state, event)
