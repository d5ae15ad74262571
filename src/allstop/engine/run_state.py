"""Folds a run's state from all its records, or from newer records and a known state."""

from collections.abc import Mapping, Sequence
from typing import Any

from allstop.core import run
from allstop.core.events import Opened
from allstop.core.run import FoldedRun, Pilot
from allstop.ports import Record


def fold(
    pilots: Mapping[str, Pilot[Any]], records: Sequence[Record], known: FoldedRun[Any] | None
) -> tuple[Pilot[Any], FoldedRun[Any]]:
    """The run's pilot and its folded state."""
    events = [record.event for record in records]
    opened = known.state.opened if known else events[0]
    assert isinstance(opened, Opened), "a journal starts with Opened"
    pilot = pilots[opened.kind]
    if known is None:
        return pilot, FoldedRun(run.fold(pilot, events), records[-1].seq)
    seq = records[-1].seq if records else known.seq
    return pilot, FoldedRun(run.fold_more(pilot, known.state, events), seq)
