"""Trace spans of runs, sessions and moves, with durations and usage.

Names follow the GenAI conventions of OpenTelemetry where one exists. Text of people and agents is
included only if the settings ask for it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import moves
from allstop.core import run as runs
from allstop.core.events import Asked, Closed, Event, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.ids import AgentName, RunId
from allstop.core.run import OpenMove, RunState
from allstop.rooms.session import Summary
from allstop.views.kind import Kind

Value: TypeAlias = str | int | float | bool
Attributes: TypeAlias = Mapping[str, Value]

MAX_EVENTS = 128
"""Events kept for one span; a turn may have thousands."""

_FINE = frozenset({moves.Outcome.DONE, moves.Outcome.ABORTED})


class SpanEvent(Struct, frozen=True, kw_only=True):
    """An event within a span."""

    name: str
    at: datetime
    attributes: Attributes = {}


class Span(Struct, frozen=True, kw_only=True):
    """A finished span. Its ids are derived from its names, so sending it again after a crash sends
    the same ids."""

    name: str
    trace: str
    key: str
    parent: str = ""  # the key of the enclosing span
    began: datetime
    ended: datetime
    is_call: bool = False  # of an agent
    attributes: Attributes = {}
    events: tuple[SpanEvent, ...] = ()
    error: str = ""  # the kind of failure; "" if it succeeded


class AgentInfo(NamedTuple):
    """An agent's driver and model in the settings."""

    driver: str
    model: str


class TraceOptions(NamedTuple):
    agent_info: Callable[[AgentName], AgentInfo]
    with_text: bool  # include the text of people and agents


class TracedRun(Struct, frozen=True, kw_only=True):
    state: RunState[Any]
    trace: str
    events: tuple[SpanEvent, ...] = ()  # of the running move
    session_began: datetime | None = None  # of a room


def begin(run: RunId, kind: Kind, opened: Opened, above: TracedRun | None) -> TracedRun:
    """Start to trace a run; a child run belongs to the trace of its parent."""
    trace = above.trace if above else f"{run} {opened.at.isoformat()}"
    return TracedRun(state=runs.begin(kind.pilot, opened), trace=trace)


def follow(
    run: RunId, kind: Kind, before: TracedRun, event: Event, options: TraceOptions
) -> tuple[TracedRun, list[Span]]:
    """Return the traced run after an event, and the spans that the event ends."""
    state = runs.evolve(kind.pilot, before.state, event)
    after = replace(before, state=state, events=_span_events(before, event, options))
    session_before, session = kind.session(before.state), kind.session(state)
    began = session_before or session
    if session_before is None and session is not None:
        after = replace(after, session_began=event.at)
    context = _SpanContext(run, before, began.spec.id if began else "")
    found: list[Span] = []
    move = before.state.open_move
    if isinstance(event, MoveEnded) and move is not None and not isinstance(move.move, moves.Spawn):
        found.append(_move_span(context, move, event, after.events, options))
    ended = kind.last_session(state) if session_before is not None else None
    if ended is not None and before.session_began:
        found.append(_session_span(context, ended, before.session_began, event.at, options))
    if isinstance(event, Closed):
        found.append(_run_span(context, state, event, options))
    return after, found


def digest(text: str, size: int) -> int:
    """Return a number of `size` bytes that identifies a name."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big")


class _SpanContext(NamedTuple):
    run: RunId
    traced: TracedRun
    session: str

    @property
    def trace(self) -> str:
        """The trace's key; each session of a room has its own, because a room never ends."""
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


# --- events within a move ---


def _span_events(before: TracedRun, event: Event, options: TraceOptions) -> tuple[SpanEvent, ...]:
    match event:
        case MoveStarted():
            return ()
        case Noted(items=items):
            made = [
                SpanEvent(name=item.kind, at=event.at, attributes=_text(item.text, options))
                for item in items
                if item.kind != "check"  # the result has more details
            ]
        case Asked(ask=ask):
            made = [SpanEvent(name="asked", at=event.at, attributes={"allstop.ask.kind": ask.kind})]
        case _:
            return before.events
    return (*before.events, *made)[:MAX_EVENTS]


def _text(text: str, options: TraceOptions) -> dict[str, Value]:
    return {"allstop.text": text} if options.with_text else {}


# --- finished spans ---


def _move_span(
    context: _SpanContext,
    move: OpenMove,
    ended: MoveEnded,
    events: tuple[SpanEvent, ...],
    options: TraceOptions,
) -> Span:
    result, attributes = ended.result, context.attributes
    name = type(move.move).__struct_config__.tag
    if isinstance(move.move, moves.TakeTurn):
        name, more = _turn_attributes(move.move, result, options)
        attributes |= more
    attributes |= _result_attributes(result)
    if isinstance(result, moves.Failed):
        attributes |= {"error.type": result.kind.value, **_text(result.message, options)}
    if isinstance(result, moves.ChecksDone):
        events = (*events, *_checks(result, ended.at))
    return Span(
        name=str(name),
        trace=context.trace,
        key=f"{context.run} {move.id}",
        parent=context.span,
        began=move.started_at,
        ended=ended.at,
        is_call=isinstance(move.move, moves.TakeTurn),
        attributes=attributes,
        events=events,
        error=result.kind.value if isinstance(result, moves.Failed) else "",
    )


_PROVIDERS = {"codex": "openai", "claude-code": "anthropic"}
_CHATS = frozenset({"openai", "anthropic", "ollama"})


def _turn_attributes(
    turn: moves.TakeTurn, result: moves.Result, options: TraceOptions
) -> tuple[str, dict[str, Value]]:
    agent_info = options.agent_info(turn.agent)
    operation = "chat" if agent_info.driver in _CHATS else "invoke_agent"
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _PROVIDERS.get(agent_info.driver, agent_info.driver),
        "gen_ai.agent.name": turn.agent,
    }
    if agent_info.model:
        attributes["gen_ai.request.model"] = agent_info.model
    thread = (result.thread if isinstance(result, moves.TurnDone) else None) or turn.thread
    if thread:
        attributes["gen_ai.conversation.id"] = thread
    if isinstance(result, moves.TurnDone | moves.Failed):
        attributes |= {
            "gen_ai.usage.input_tokens": result.usage.input,
            "gen_ai.usage.output_tokens": result.usage.output,
            "gen_ai.usage.cache_read.input_tokens": result.usage.cached,
            "allstop.cost_usd": result.usage.cost_microusd / 1e6,
        }
    if isinstance(result, moves.TurnDone) and options.with_text:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": result.text}]}]
        attributes["gen_ai.output.messages"] = json.dumps(said, ensure_ascii=False)
    target = agent_info.model if operation == "chat" and agent_info.model else turn.agent
    return f"{operation} {target}", attributes


def _result_attributes(result: moves.Result) -> dict[str, Value]:
    match result:
        case moves.ChecksDone():
            return {
                "allstop.gate.passed": result.passed,
                "allstop.gate.checks": len(result.results),
            }
        case (
            moves.Integrated(commit=commit)
            | moves.Landed(commit=commit)
            | moves.Delivered(commit=commit)
        ):
            return {"vcs.ref.head.revision": commit}
        case _:
            return {}


def _checks(done: moves.ChecksDone, at: datetime) -> list[SpanEvent]:
    return [
        SpanEvent(
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


def _run_span(
    context: _SpanContext, state: RunState[Any], closed: Closed, options: TraceOptions
) -> Span:
    opened, tally = state.opened, state.tally
    is_fine = closed.outcome in _FINE
    return Span(
        name=f"run {opened.kind}",
        trace=context.trace,
        key=context.span,
        parent=context.above,
        began=opened.at,
        ended=closed.at,
        attributes={
            **context.attributes,
            "allstop.outcome": closed.outcome.value,
            "allstop.turns": tally.turns,
            "allstop.tokens": tally.tokens,
            "allstop.cost_usd": tally.cost_microusd / 1e6,
            **({} if is_fine else {"error.type": closed.outcome.value}),
            **_text(opened.title, options),
        },
        error="" if is_fine else closed.outcome.value,
    )


def _session_span(
    context: _SpanContext, summary: Summary, began: datetime, ended: datetime, options: TraceOptions
) -> Span:
    return Span(
        name=f"talk {summary.mode}",
        trace=context.trace,
        key=context.span,
        began=began,
        ended=ended,
        attributes={
            **context.attributes,
            "allstop.ending": summary.reason.value,
            "allstop.turns": summary.turns,
            "allstop.tokens": summary.tokens,
            "allstop.cost_usd": summary.cost_microusd / 1e6,
            **_text(summary.goal, options),
        },
    )
