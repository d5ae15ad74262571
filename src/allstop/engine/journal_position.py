"""Finds the position of the journal at which a given time begins."""

from datetime import datetime, timedelta

from allstop.ports import Journal

OUT_OF_ORDER = timedelta(hours=1)
"""Maximum delay between a record's time and its write."""


async def position_before(journal: Journal, at: datetime) -> int:
    """A position such that all records up to it are older than the moment."""
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
