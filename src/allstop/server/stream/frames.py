"""Events of the stream as they go over the wire, each with its place in the journal's order."""

from __future__ import annotations

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


class Place(NamedTuple):
    """Where an event of the stream stands: at which record, and the how-manieth of it."""

    pos: int
    part: int

    def __str__(self) -> str:
        return f"{self.pos}.{self.part}"


def read_place(text: str) -> Place | None:
    """None for what is no place of ours."""
    found = _PLACE.fullmatch(text)
    return Place(int(found[1]), int(found[2])) if found else None


class Frame(NamedTuple):
    place: Place
    kind: str
    run: str  # whom it is about; "" is about all
    wire: bytes


def frame(kind: str, run: str, value: object, place: Place) -> Frame:
    wire = b"id: %b\nevent: %b\ndata: %b\n\n" % (str(place).encode(), kind.encode(), _encode(value))
    return Frame(place, kind, run, wire)


def fleeting(kind: str, run: str, value: object, place: Place) -> Frame:
    """Without an id: nobody is sent it again."""
    return Frame(place, kind, run, b"event: %b\ndata: %b\n\n" % (kind.encode(), _encode(value)))


def of_record(placed: PositionedRecord, messages: Sequence[Struct]) -> Iterator[Frame]:
    """What one record says: its lines of the log, then what it means in its room."""
    run, part = placed.record.run, 0
    for log in _log(placed):
        yield frame("log", run, log, Place(placed.pos, part))
        part += 1
    for event in messages:
        yield frame("room", run, event, Place(placed.pos, part))
        part += 1


def _log(placed: PositionedRecord) -> Iterator[LogEvent]:
    run, seq, event = placed.record
    kind = str(type(event).__struct_config__.tag)
    for line in lines(event):
        yield LogEvent(run=run, seq=seq, at=line.at, type=kind, mark=line.mark, text=line.text)


class Wish(NamedTuple):
    """What somebody wants to hear of."""

    run: str = ""
    kinds: frozenset[str] = frozenset()

    def wants(self, frame: Frame) -> bool:
        if self.kinds and frame.kind not in self.kinds and frame.kind != "reset":
            return False
        return not self.run or not frame.run or is_within(RunId(frame.run), self.run)


def is_within(run: RunId, root: str) -> bool:
    return run == root or run.startswith(f"{root}/")
