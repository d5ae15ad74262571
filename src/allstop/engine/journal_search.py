"""Finding a moment in the record of all runs."""

from __future__ import annotations

from datetime import datetime, timedelta

from allstop.ports import Journal

OUT_OF_ORDER = timedelta(hours=1)
"""Records may be written later than their time says, by no more than this."""


async def place_before(journal: Journal, at: datetime) -> int:
    """Of a record before a moment: nothing up to it belongs to that moment or a later one."""
    at -= OUT_OF_ORDER
    low, high = 0, await journal.last_place()
    while low < high:
        middle = (low + high) // 2
        records = await journal.written(middle, 1)
        if not records or records[0].record.event.at >= at:
            high = middle
        else:
            low = records[0].pos
    return low
