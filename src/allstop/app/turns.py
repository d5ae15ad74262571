"""Turns since a moment, where the board's time went and what its gate caught, from the journal."""

from __future__ import annotations

from datetime import datetime

import anyio
import anyio.lowlevel

from allstop.board.gate_catches import CatchLedger
from allstop.board.time_use import TimeLedger
from allstop.engine.journal_position import position_before
from allstop.ports import Journal
from allstop.views.usage import Ledger, Turn

READ_AT_ONCE = 1000


class TurnReader:
    """Reads turns, times and results of the gate from a journal; each event is read once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = anyio.Lock()
        self._begin(None, 0)

    def _begin(self, earliest: datetime | None, position: int) -> None:
        self._earliest = earliest
        self._position = position
        self._ledger = Ledger()
        self._turns: list[Turn] = []
        self.times = TimeLedger()
        self.catches = CatchLedger()

    async def since(self, moment: datetime) -> list[Turn]:
        journal = self._journal
        async with self._lock:
            if self._earliest is None or moment < self._earliest:
                self._begin(moment, await position_before(journal, moment))
            while records := await journal.written(self._position, READ_AT_ONCE):
                for _, record in records:
                    self.times.take(record.run, record.event)
                    self.catches.take(record.run, record.event)
                    if (turn := self._ledger.take(record.run, record.event)) is not None:
                        self._turns.append(turn)
                self._position = records[-1].pos
                await anyio.lowlevel.checkpoint()
        return [turn for turn in self._turns if turn.began_at >= moment]

    def under_way(self, moment: datetime) -> list[Turn]:
        """Those begun since then that had not ended when `since` was called."""
        return [turn for turn in self._ledger.under_way() if turn.began_at >= moment]
