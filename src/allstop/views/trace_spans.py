"""A run's record as spans of a trace: how long each thing took, and what it used.

Names follow the GenAI conventions of OpenTelemetry where they have one. What people and agents say
is left out unless it is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import run as runs
from allstop.core.events import Asked, Closed, Event, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import (
    ChecksDone,
    Delivered,
    Failed,
    Integrated,
    Landed,
    Outcome,
    Result,
    Spawn,
    TakeTurn,
    TurnDone,
)
from allstop.core.run import OpenMove, RunState
from allstop.rooms.session import Summary
from allstop.views.kind import Kind

Value: TypeAlias = str | int | float | bool
Attributes: TypeAlias = Mapping[str, Value]

MOST_MARKS = 128
"""Of one span: an agent may do thousands of things in a turn."""

_FINE = frozenset({Outcome.DONE, Outcome.ABORTED})


class Mark(Struct, frozen=True, kw_only=True):
    """Something that happened within a span."""

    name: str
    at: datetime
    attributes: Attributes = {}


class Span(Struct, frozen=True, kw_only=True):
    """Something that began and is over. Its ids are made from its names, so that whoever tells of
    it again, after a crash, tells of the same."""

    name: str
    trace: str
    key: str
    parent: str = ""  # the key of the span that it is within
    began: datetime
    ended: datetime
    is_call: bool = False  # of somebody outside
    attributes: Attributes = {}
    marks: tuple[Mark, ...] = ()
    error: str = ""  # what kind of failure it is; "" if it is none


class AgentInfo(NamedTuple):
    """An agent by the settings."""

    driver: str
    model: str


class TraceOptions(NamedTuple):
    """What spans may contain."""

    who: Callable[[AgentName], AgentInfo]
    with_text: bool  # include the text of people and agents


class TracedRun(Struct, frozen=True, kw_only=True):
    """The state of a followed run."""

    state: RunState[Any]
    trace: str
    marks: tuple[Mark, ...] = ()  # of the move under way
    talk_began: datetime | None = None  # the session of a room


def begin(run: RunId, kind: Kind, opened: Opened, above: TracedRun | None) -> TracedRun:
    """A run below another one that is followed belongs to its trace."""
    trace = above.trace if above else f"{run} {opened.at.isoformat()}"
    return TracedRun(state=runs.begin(kind.pilot, opened), trace=trace)


def follow(
    run: RunId, kind: Kind, before: TracedRun, event: Event, telling: TraceOptions
) -> tuple[TracedRun, list[Span]]:
    """The run after an event, and what has come to its end with it."""
    state = runs.evolve(kind.pilot, before.state, event)
    after = replace(before, state=state, marks=_marks(before, event, telling))
    session_before, session = kind.session(before.state), kind.session(state)
    began = session_before or session
    if session_before is None and session is not None:
        after = replace(after, talk_began=event.at)
    place = _Place(run, before, began.spec.id if began else "")
    found: list[Span] = []
    move = before.state.open_move
    if isinstance(event, MoveEnded) and move is not None and not isinstance(move.move, Spawn):
        found.append(_of_move(place, move, event, after.marks, telling))
    ended = kind.last_session(state) if session_before is not None else None
    if ended is not None and before.talk_began:
        found.append(_of_talk(place, ended, before.talk_began, event.at, telling))
    if isinstance(event, Closed):
        found.append(_of_run(place, state, event, telling))
    return after, found


def digest(text: str, size: int) -> int:
    """The number of so many bytes that stands for a name."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big")


class _Place(NamedTuple):
    run: RunId
    traced: TracedRun
    session: str

    @property
    def trace(self) -> str:
        """Each session of a room is a trace of its own: the room is never over."""
        return f"{self.traced.trace} {self.session}" if self.session else self.traced.trace

    @property
    def span(self) -> str:
        return f"{self.run} {self.session}" if self.session else str(self.run)

    @property
    def above(self) -> str:
        parent = self.traced.state.opened.parent
        return str(parent) if parent and not self.traced.trace.startswith(f"{self.run} ") else ""

    @property
    def attributes(self) -> dict[str, Value]:
        return {"allstop.run": self.run, "allstop.kind": self.traced.state.opened.kind}


# --- what happens within a move ---


def _marks(before: TracedRun, event: Event, telling: TraceOptions) -> tuple[Mark, ...]:
    match event:
        case MoveStarted():
            return ()
        case Noted(items=items):
            made = [
                Mark(name=item.kind, at=event.at, attributes=_text(item.text, telling))
                for item in items
                if item.kind != "check"  # the result says more of it
            ]
        case Asked(ask=ask):
            made = [Mark(name="asked", at=event.at, attributes={"allstop.ask.kind": ask.kind})]
        case _:
            return before.marks
    return (*before.marks, *made)[:MOST_MARKS]


def _text(text: str, telling: TraceOptions) -> dict[str, Value]:
    return {"allstop.text": text} if telling.with_text else {}


# --- what is over ---


def _of_move(
    place: _Place, move: OpenMove, ended: MoveEnded, marks: tuple[Mark, ...], telling: TraceOptions
) -> Span:
    result, attributes = ended.result, place.attributes
    name = type(move.move).__struct_config__.tag
    if isinstance(move.move, TakeTurn):
        name, more = _of_turn(move.move, result, telling)
        attributes |= more
    attributes |= _of_result(result)
    if isinstance(result, Failed):
        attributes |= {"error.type": result.kind.value, **_text(result.message, telling)}
    if isinstance(result, ChecksDone):
        marks = (*marks, *_checks(result, ended.at))
    return Span(
        name=str(name),
        trace=place.trace,
        key=f"{place.run} {move.id}",
        parent=place.span,
        began=move.started_at,
        ended=ended.at,
        is_call=isinstance(move.move, TakeTurn),
        attributes=attributes,
        marks=marks,
        error=result.kind.value if isinstance(result, Failed) else "",
    )


_PROVIDERS = {"codex": "openai", "claude-code": "anthropic"}
_CHATS = frozenset({"openai", "anthropic", "ollama"})


def _of_turn(turn: TakeTurn, result: Result, telling: TraceOptions) -> tuple[str, dict[str, Value]]:
    who = telling.who(turn.agent)
    operation = "chat" if who.driver in _CHATS else "invoke_agent"
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _PROVIDERS.get(who.driver, who.driver),
        "gen_ai.agent.name": turn.agent,
    }
    if who.model:
        attributes["gen_ai.request.model"] = who.model
    thread = (result.thread if isinstance(result, TurnDone) else None) or turn.thread
    if thread:
        attributes["gen_ai.conversation.id"] = thread
    if isinstance(result, TurnDone | Failed):
        attributes |= {
            "gen_ai.usage.input_tokens": result.usage.input,
            "gen_ai.usage.output_tokens": result.usage.output,
            "gen_ai.usage.cache_read.input_tokens": result.usage.cached,
            "allstop.cost_usd": result.usage.cost_microusd / 1e6,
        }
    if isinstance(result, TurnDone) and telling.with_text:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": result.text}]}]
        attributes["gen_ai.output.messages"] = json.dumps(said, ensure_ascii=False)
    target = who.model if operation == "chat" and who.model else turn.agent
    return f"{operation} {target}", attributes


def _of_result(result: Result) -> dict[str, Value]:
    match result:
        case ChecksDone():
            return {
                "allstop.gate.passed": result.passed,
                "allstop.gate.checks": len(result.results),
            }
        case Integrated(commit=commit) | Landed(commit=commit) | Delivered(commit=commit):
            return {"vcs.ref.head.revision": commit}
        case _:
            return {}


def _checks(done: ChecksDone, at: datetime) -> list[Mark]:
    return [
        Mark(
            name="check",
            at=at,
            attributes={
                "allstop.check.name": each.name,
                "allstop.check.passed": each.passed,
                "allstop.check.required": each.required,
                "allstop.check.seconds": each.seconds,
            },
        )
        for each in done.results
    ]


def _of_run(place: _Place, state: RunState[Any], closed: Closed, telling: TraceOptions) -> Span:
    opened, tally = state.opened, state.tally
    is_fine = closed.outcome in _FINE
    return Span(
        name=f"run {opened.kind}",
        trace=place.trace,
        key=place.span,
        parent=place.above,
        began=opened.at,
        ended=closed.at,
        attributes={
            **place.attributes,
            "allstop.outcome": closed.outcome.value,
            "allstop.turns": tally.turns,
            "allstop.tokens": tally.tokens,
            "allstop.cost_usd": tally.cost_microusd / 1e6,
            **({} if is_fine else {"error.type": closed.outcome.value}),
            **_text(opened.title, telling),
        },
        error="" if is_fine else closed.outcome.value,
    )


def _of_talk(
    place: _Place, summary: Summary, began: datetime, ended: datetime, telling: TraceOptions
) -> Span:
    return Span(
        name=f"talk {summary.mode}",
        trace=place.trace,
        key=place.span,
        began=began,
        ended=ended,
        attributes={
            **place.attributes,
            "allstop.ending": summary.reason.value,
            "allstop.turns": summary.turns,
            "allstop.tokens": summary.tokens,
            "allstop.cost_usd": summary.cost_microusd / 1e6,
            **_text(summary.goal, telling),
        },
    )
