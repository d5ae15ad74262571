"""Makes a line for every kind of event, move, result, command, failure and outcome there is.

PYTHONPATH=tests .venv/bin/python -m journals.make_vocabulary tests/journals/words/v2.jsonl

Once a version is released its file is never made again; one that adds words gets its own, with
those that no file next to it has.
"""

import sys
import types
import typing
from datetime import datetime
from enum import Enum
from pathlib import Path

import msgspec
from msgspec import UnsetType
from msgspec.structs import fields

from allstop.core.brakes import Tally
from allstop.core.commands import Command
from allstop.core.events import ChildClosed, Commanded, Event, MoveEnded, MoveStarted
from allstop.core.moves import Failed, FailureKind, Outcome, Result, Work
from allstop.testing.virtual_clock import EPOCH

PLAIN = {str: "word", int: 7, float: 1.5, datetime: EPOCH, object: [1, {"deep": None}]}


def every_word():
    yield from (full(kind) for kind in Event.__args__)
    yield from (MoveStarted(at=EPOCH, id=1, move=full(kind)) for kind in Work.__args__)
    yield from (MoveEnded(at=EPOCH, id=1, result=full(kind)) for kind in Result.__args__)
    yield from (MoveEnded(at=EPOCH, id=1, result=Failed(kind=kind)) for kind in FailureKind)
    yield from (Commanded(at=EPOCH, command=full(kind)) for kind in Command.__args__)
    for outcome in Outcome:
        yield ChildClosed(at=EPOCH, ref="c", run="r/c", outcome=outcome, tally=Tally())


def full(kind, default=None):
    """A value in which no field is left at its default, so that every name is on record."""
    if kind in PLAIN:
        return PLAIN[kind]
    if kind is bool:
        return not default
    if hasattr(kind, "__supertype__"):
        return full(kind.__supertype__)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return full(next(one for one in inner if one not in (type(None), UnsetType)))
    if origin is typing.Literal:
        return next(one for one in inner if one != default)
    if origin is tuple:
        return (full(inner[0]),)
    if origin is dict:
        return {full(inner[0]): full(inner[1])}
    if issubclass(kind, Enum):
        return next(one for one in kind if one is not default)
    return kind(**{field.name: full(field.type, field.default) for field in fields(kind)})


if __name__ == "__main__":
    target = Path(sys.argv[1])
    known = {
        line for file in target.parent.glob("*.jsonl") for line in file.read_bytes().splitlines()
    }
    lines = dict.fromkeys(msgspec.json.encode(event) for event in every_word())
    with target.open("xb") as file:
        file.writelines(line + b"\n" for line in lines if line not in known)
