"""Model calls that the gateway measured, as the runs recorded them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from msgspec import Struct

from allstop.core.events import Event, MoveEnded, MoveStarted, Noted
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import Billable, ModelCall, TakeTurn
from allstop.core.text import one_line

MOST_MODELS = 200
OTHER_MODELS = "other"


class RecordedCall(Struct, frozen=True, kw_only=True):
    """One call, and the turn that made it."""

    at: datetime  # when it was recorded, which is shortly after its end
    run: RunId
    agent: AgentName
    call: ModelCall


class CallLedger:
    """Finds calls in the events of all runs; each run's events come in order."""

    def __init__(self) -> None:
        self._agents: dict[RunId, AgentName] = {}

    def take(self, run: RunId, event: Event) -> list[RecordedCall]:
        match event:
            case MoveStarted(move=TakeTurn(agent=agent)):
                self._agents[run] = agent
            case Noted(items=items, at=at):
                agent = self._agents.get(run, AgentName(""))
                return [
                    RecordedCall(at=at, run=run, agent=agent, call=item.call)
                    for item in items
                    if item.call is not None
                ]
            case MoveEnded(result=result, at=at) if isinstance(result, Billable):
                if result.call is not None:
                    agent = self._agents.get(run, AgentName(""))
                    return [RecordedCall(at=at, run=run, agent=agent, call=result.call)]
            case _:
                pass
        return []


class CallTotal(Struct, kw_only=True):
    """The calls of one model."""

    calls: Counter[int]  # by HTTP status
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost_microusd: int = 0  # as far as it is known
    replies: int = 0
    first_ms: int = 0  # of all replies together

    def add(self, call: ModelCall) -> None:
        self.calls[call.status] += 1
        self.input += call.input
        self.cached += call.cached
        self.output += call.output
        self.reasoning += call.reasoning
        self.cost_microusd += call.cost_microusd or 0
        if 200 <= call.status < 300:
            self.replies += 1
            self.first_ms += call.first_ms


class CallTotals:
    """Sums of calls by provider and model."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, str], CallTotal] = {}
        self._ledger = CallLedger()

    def take(self, run: RunId, event: Event) -> None:
        for recorded in self._ledger.take(run, event):
            call = recorded.call
            key = call.provider, call.model
            if key not in self.of and len(self.of) >= MOST_MODELS:
                key = "", OTHER_MODELS  # an agent in a box can ask for any name
            self.of.setdefault(key, CallTotal(calls=Counter())).add(call)


def describe_call(call: ModelCall) -> str:
    if call.status >= 400 or not call.status:
        answer = f"HTTP {call.status}" if call.status else "no answer"
        parts = [
            answer,
            f"after {call.total_ms:,} ms",
            *([call.request_id] if call.request_id else []),
        ]
        return one_line(f"{call.model}: {', '.join(parts)}", 500)
    cost = "no price" if call.cost_microusd is None else f"${call.cost_microusd / 1_000_000:.4f}"
    parts = [
        f"{call.input:,} tokens in ({call.cached:,} cached), {call.output:,} out",
        *([f"{call.reasoning:,} of them reasoning"] if call.reasoning else []),
        cost,
        f"first after {call.first_ms:,} ms, all after {call.total_ms:,} ms",
        f"HTTP {call.status}",
        *([call.request_id] if call.request_id else []),
        *(["cut by the budget"] if call.cut else []),
        *(["estimated"] if call.estimated else []),
    ]
    return one_line(f"{call.model}: {', '.join(parts)}", 500)
