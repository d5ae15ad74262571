"""The engine context: the objects that all drives of a process share, and the viewers."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from allstop.core.asks import Ask
from allstop.core.helm import Helm, steer
from allstop.core.ids import HELM, AgentName, RunId
from allstop.core.run import OpenMove
from allstop.engine.budgets import Budgets
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.hands import Hands
from allstop.engine.parent_budgets import ParentBudgets
from allstop.engine.slots import Slots
from allstop.ports import Clock, Journal, Live

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


class HelmReader:
    """The helm's state as this process knows it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.helm = Helm()
        self.seq = 0

    async def catch_up(self) -> None:
        for record in await self._journal.read(HELM, after=self.seq):
            if record.seq > self.seq:  # a concurrent call may have folded it
                self.helm, self.seq = steer(self.helm, record.event), record.seq


class EngineContext(NamedTuple):
    journal: Journal
    hands: Hands
    clock: Clock
    helm_reader: HelmReader
    turn_slots: Slots
    budgets: Budgets
    parent_budgets: ParentBudgets
    show: Callable[[RunId, Live], None]
    daily_budget: DailyBudget
    appraise: Callable[[Ask, OpenMove | None], Ask]  # adds the policy's verdict
    most_microusd: Callable[[AgentName, int], int]  # maximum cost of an agent's tokens
