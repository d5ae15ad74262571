"""Hypothesis strategies: values of core's types, and histories of runs."""

import functools
import types
import typing
from datetime import UTC, datetime, timedelta
from enum import Enum
from random import Random

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType
from msgspec.structs import fields, replace

from allstop.core import run
from allstop.core.commands import Command, Say, StartSession
from allstop.core.events import (
    Asked,
    ChildClosed,
    ChildWaited,
    ChildWentOn,
    Closed,
    Commanded,
    Event,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Reached,
    ThreadOpened,
)
from allstop.core.moves import (
    Change,
    CheckResult,
    ChecksDone,
    Committed,
    Delivered,
    Discarded,
    EndSprint,
    Failed,
    FailureKind,
    Finish,
    Integrated,
    Landed,
    Result,
    Spawn,
    Spawned,
    SprintEnded,
    TurnDone,
    Wait,
    WorkspaceOpen,
    without_prompt_text,
)
from board import random_boards
from support.random_runs import SCENARIOS, some_limits, some_session

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
LEAVES = {
    str: st.text(max_size=20),
    int: st.integers(0, 2**53),
    float: st.floats(0, 1e9),
    bool: st.booleans(),
    datetime: st.timedeltas(timedelta(), timedelta(days=9999)).map(lambda since: NOW + since),
    object: JSON,
    type(None): st.none(),
    UnsetType: st.just(UNSET),
}
WORDS = ("", "a", "b", "c0", "x/c1", "two words", "\x1b[31m", "\u202e", "é 日本", "\n")
SAYINGS = (
    "",
    "working on it",
    "<promise>COMPLETE</promise>",
    "did it\n<promise>COMPLETE</promise>\n",
    "<promise>BLOCKED: no key</promise>",
    "<promise>PENDING: which one?</promise>",
    "<promise>PROGRESS: 50% half</promise>",
    "<promise>COMPLETE</promise> or so",
    "\x1b[31mred\x1b[0m",
    "<questions>\n1. which?\n2. where?\n</questions>",
    "<plan>\n# A\n\nAssumption: none.\n\n## B\n\n- c\n  - [ ] d\n  - check: e\n</plan>",
    '{"message": "hi"}',
    '{"message": "hi", "handoff": {"to": "b", "task": "edit"}}',
    '{"message": "hi", "handoff": {"to": "x", "task": "edit"}, "final": true}',
)


@functools.cache
def some(kind):
    """Any value of a type: a struct, a union, or a field type."""
    if kind in LEAVES:
        return LEAVES[kind]
    if hasattr(kind, "__supertype__"):
        return some(kind.__supertype__)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(some, inner))
    if origin is typing.Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(some(inner[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(some(inner[0]), some(inner[1]), max_size=3)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert issubclass(kind, msgspec.Struct), f"no strategy for {kind}"
    return st.builds(kind, **{field.name: some(field.type) for field in fields(kind)})


EVENTS = some(Event)
COMMANDS = some(Command)
RESULTS = some(Result)
_fields = functools.cache(fields)
FITTING = [  # typical results
    *(TurnDone(text=text) for text in SAYINGS),
    *(TurnDone(text=text, change=Change(head="h", commits=1, files=1)) for text in SAYINGS),
    WorkspaceOpen(base="b"),
    ChecksDone(),
    ChecksDone(results=(CheckResult(name="t", run="t", passed=False, code=1, output="no"),)),
    Committed(change=Change(head="h", commits=1, files=1)),
    Delivered(branch="b", commit="c"),
    Discarded(),
    Integrated(tip="t", commit="m", tree="tree"),
    Landed(commit="m"),
    *(Failed(kind=kind) for kind in FailureKind),
]


def opening(kind, seed):
    """The first event of a random run of this kind."""
    chance = Random(seed)
    spec = SCENARIOS[kind].make(chance, "x", ["a", "b", "c"])
    return Opened(at=NOW, kind=kind, spec=spec, limits=some_limits(chance))


def histories(kinds=tuple(SCENARIOS), most=40):
    """A journal as a drive writes it, with random commands and results."""
    return st.builds(history, st.sampled_from(kinds), st.integers(0, 2**32), st.integers(0, most))


def history(kind, seed, steps):
    chance = Random(f"{kind} {seed}")
    opened = opening(kind, seed)
    pilot = SCENARIOS[kind].pilot
    events, state, at = [opened], run.begin(pilot, opened), NOW
    for _ in range(steps):
        at += timedelta(seconds=chance.choice([0, 1, 60, 4000]))
        for event in _next_events(chance, pilot, state, at):
            events.append(event)
            state = run.evolve(pilot, state, event)
    return events


def _next_events(chance, pilot, state, at):
    if chance.random() < 0.4:
        return [Commanded(at=at, command=_some_command(chance, state, at))]
    if state.open_move is not None:
        return [_during(chance, state.open_move.id, at)]
    move = run.choose(pilot, state, at)
    number = state.moves + 1
    match move:
        case Wait():
            return [_of_a_child(chance, state, at)]
        case Finish(outcome=outcome, note=note, facts=facts):
            return [Closed(at=at, outcome=outcome, note=note, facts=facts)]
        case Spawn(ref=ref):
            return [
                MoveStarted(at=at, id=number, move=move),
                MoveEnded(at=at, id=number, result=Spawned(run=f"x/{ref}")),
            ]
        case EndSprint(sprint=sprint):
            return [
                MoveStarted(at=at, id=number, move=move),
                MoveEnded(at=at, id=number, result=SprintEnded(sprint=sprint)),
            ]
        case _:
            return [MoveStarted(at=at, id=number, move=without_prompt_text(move))]


def _some_command(chance, state, at):
    if hasattr(state.pilot, "session") and chance.random() < 0.6:  # a command for rooms
        start = StartSession(session=some_session(chance, chance.randrange(9), ["a", "b", "c"]))
        return chance.choice([start, start, Say(text=chance.choice(["hm", "@b go on"]))])
    board = getattr(state.pilot, "board", None)
    if board is not None and chance.random() < 0.9:  # a command for boards
        if chance.random() < 0.1:
            return random_boards.some_sprint_command(chance, at)
        return random_boards.some_command(chance, board)
    return any_of(chance, Command)


def _of_a_child(chance, state, at):
    """An event of a child, known or unknown."""
    event = any_of(chance, ChildClosed | ChildClosed | ChildWaited | ChildWentOn)
    known = list(getattr(state.pilot, "refs", ()))
    ref = chance.choice(known) if known and chance.random() < 0.9 else event.ref
    return replace(event, at=at, ref=ref)


def _during(chance, move_id, at):
    if chance.random() < 0.6:
        fits = chance.random() < 0.7
        result = chance.choice(FITTING) if fits else any_of(chance, Result)
        return MoveEnded(at=at, id=move_id, result=result)
    return replace(any_of(chance, Noted | Reached | Asked | ThreadOpened), at=at, id=move_id)


def many_events(most):
    """A list of unrelated events."""
    numbers = st.lists(st.integers(0, 2**32), max_size=most)
    return numbers.map(lambda seeds: [any_of(Random(seed), Event) for seed in seeds])


def any_of(chance, kind):
    """Like `some`, but from a Random: fast enough for long histories."""
    if kind in _BY_CHANCE:
        return _BY_CHANCE[kind](chance)
    if hasattr(kind, "__supertype__"):
        return any_of(chance, kind.__supertype__)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any_of(chance, chance.choice(inner))
    if origin is typing.Literal:
        return chance.choice(inner)
    if origin is tuple:
        return tuple(any_of(chance, inner[0]) for _ in range(chance.randint(0, 3)))
    if origin is dict:
        return {any_of(chance, inner[0]): any_of(chance, inner[1]) for _ in range(2)}
    if issubclass(kind, Enum):
        return chance.choice(list(kind))
    return kind(**{field.name: any_of(chance, field.type) for field in _fields(kind)})


_BY_CHANCE = {
    str: lambda chance: chance.choice(WORDS),
    int: lambda chance: chance.choice([0, 1, 3, 40, 1000]),
    float: lambda chance: chance.choice([0.0, 0.5, 60.0, 5000.0]),
    bool: lambda chance: chance.random() < 0.5,
    datetime: lambda chance: NOW + timedelta(seconds=chance.randint(-1000, 9000)),
    object: lambda chance: chance.choice([None, 1, "x", [1, "y"], {"z": None}]),
    type(None): lambda chance: None,
    UnsetType: lambda chance: UNSET,
}
