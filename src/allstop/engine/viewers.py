"""Viewers of live messages."""

from collections.abc import Callable
from datetime import datetime, timedelta

from allstop.core.ids import RunId
from allstop.ports import Clock, Live

Show = Callable[[RunId, Live], None]

TELL_AGAIN = timedelta(minutes=5)


class Viewers:
    def __init__(self, clean: Callable[[Live], Live], clock: Clock) -> None:
        self._clean = clean
        self._clock = clock
        self._shows: list[Show] = []
        self._told: dict[tuple[RunId, str], datetime] = {}  # recent troubles

    def add(self, show: Show) -> None:
        self._shows.append(show)

    def show(self, run: RunId, live: Live) -> None:
        if live.kind == "trouble":  # an error text may contain secrets
            live = self._clean(live)
            if self._was_told(run, live.text):
                return
        for show in self._shows:
            show(run, live)

    def _was_told(self, run: RunId, trouble: str) -> bool:
        """Whether the same trouble was shown recently."""
        now = self._clock.now()
        self._told = {key: at for key, at in self._told.items() if abs(now - at) < TELL_AGAIN}
        if (run, trouble) in self._told:
            return True
        self._told[run, trouble] = now
        return False
