"""Frames of the event stream: encoded events with their position in the journal."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from allstop.core.ids import RunId
from allstop.ports import PositionedRecord
from allstop.server.wire_types import LogEvent
from allstop.views.log import lines

HEARTBEAT = b":\n\n"

_PLACE = re.compile(r"(\d{1,18})\.(\d{1,18})")
_encode = msgspec.json.Encoder().encode


class Position(NamedTuple):
    """The position of an event in the stream: its record, and its number within that record."""

    pos: int
    part: int

    def __str__(self) -> str:
        return f"{self.pos}.{self.part}"


def parse_position(text: str) -> Position | None:
    """Parse an event id; None if it isn't one."""
    found = _PLACE.fullmatch(text)
    return Position(int(found[1]), int(found[2])) if found else None


class Frame(NamedTuple):
    position: Position
    kind: str
    run: str  # the run that it is about; "" means all runs
    wire: bytes


def frame(kind: str, run: str, value: object, position: Position) -> Frame:
    id_ = str(position).encode()
    wire = b"id: %b\nevent: %b\ndata: %b\n\n" % (id_, kind.encode(), _encode(value))
    return Frame(position, kind, run, wire)


def transient_frame(kind: str, run: str, value: object, position: Position) -> Frame:
    """Make a frame without an id: it isn't sent again after a reconnect."""
    return Frame(position, kind, run, b"event: %b\ndata: %b\n\n" % (kind.encode(), _encode(value)))


def record_frames(
    placed: PositionedRecord, name: str = "", messages: Sequence[Struct] = ()
) -> Iterator[Frame]:
    """Yield the frames of one record: its log lines, then its messages as events of this name."""
    run, part = placed.record.run, 0
    for log in _log(placed):
        yield frame("log", run, log, Position(placed.pos, part))
        part += 1
    for event in messages:
        yield frame(name, run, event, Position(placed.pos, part))
        part += 1


def _log(placed: PositionedRecord) -> Iterator[LogEvent]:
    run, seq, event = placed.record
    kind = str(type(event).__struct_config__.tag)
    for line in lines(event):
        yield LogEvent(run=run, seq=seq, at=line.at, type=kind, mark=line.mark, text=line.text)


class EventFilter(NamedTuple):
    """Selects events by run and kind; empty fields select all."""

    run: str = ""
    kinds: frozenset[str] = frozenset()

    def matches(self, frame: Frame) -> bool:
        if self.kinds and frame.kind not in self.kinds and frame.kind != "reset":
            return False
        return not self.run or not frame.run or is_within(RunId(frame.run), self.run)


def is_within(run: RunId, root: str) -> bool:
    return run == root or run.startswith(f"{root}/")
