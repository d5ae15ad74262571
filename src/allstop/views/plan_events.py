"""The events of a plan with the names and fields of document 004, derived from its journal."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct, field

from allstop.core.accounts import RECOVERED, pick
from allstop.core.events import Closed, Event, MoveEnded, MoveStarted, Opened
from allstop.core.helm import Helm
from allstop.core.moves import LIMITED, Compaction, Failed, Outcome, TakeTurn, TurnDone
from allstop.core.run import Pilot, RunState
from allstop.core.text import one_line
from allstop.plans.plan import Step
from allstop.plans.plan_status import Status, status_of
from allstop.plans.state import PauseReason, PlanMode, PlanState
from allstop.views.live_state import LiveState

MAX_OUTPUT = 2000
"""Characters of an agent's final message in the result of a step."""

NAMED_SKIPPED = 20
"""So many of the skipped steps are named at the start of a later one, as in its prompt."""

RATE_LIMIT = "rate-limit"
"""The document's word for all limits as the reason why another agent continues."""


class _Event(
    Struct,
    frozen=True,
    gc=False,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    tag_field="type",
    tag=True,
):
    plan_id: str
    at: datetime
    seq: int = 0  # of the journal event that it comes from; 0: it is not in the journal


class StepResult(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    success: bool
    step_id: str
    output: str  # the end of the agent's final message


class Started(_Event, frozen=True, tag="autopilot:started"):
    total_steps: int
    mode: str


class Paused(_Event, frozen=True, tag="autopilot:paused"):
    """`reason` is user, failed, limited or approval."""

    reason: PauseReason
    error: str = ""
    resumes_at: datetime | None = None  # when it continues by itself


class Resumed(_Event, frozen=True, tag="autopilot:resumed"):
    pass


class StepStart(_Event, frozen=True, tag="autopilot:step-start"):
    step: Step
    phase: str
    agent: str
    after_skipped: tuple[str, ...] = ()  # earlier steps that were skipped and may be missing


class StepComplete(_Event, frozen=True, tag="autopilot:step-complete"):
    step: Step
    result: StepResult


class StepSkipped(_Event, frozen=True, tag="autopilot:step-skipped"):
    step: Step
    reason: str


class Aborted(_Event, frozen=True, tag="autopilot:aborted"):
    """The plan ended before its work was complete. Everything is kept."""

    step: Step | None
    error: str
    outcome: str


class Complete(_Event, frozen=True, tag="autopilot:complete"):
    completed: int
    skipped: int = 0


class Output(_Event, frozen=True, tag="autopilot:output"):
    """Text of the running turn. Only the stream has it: text in flight is not journaled."""

    chunk: str


class Retrying(_Event, frozen=True, tag="autopilot:retrying"):
    step: Step | None  # null: what the verification commands found is corrected
    attempt: int
    backoff_ms: int
    error: str


class RateLimited(_Event, frozen=True, tag="autopilot:rate-limited"):
    agent: str
    backoff_ms: int
    step: Step | None
    error: str = ""


class AgentSwitched(_Event, frozen=True, tag="autopilot:agent-switched"):
    from_: str = field(name="from")
    to: str
    reason: str


class Compacted(_Event, frozen=True, tag="autopilot:compacted"):
    """The agent's conversation was compacted. Sizes are in tokens."""

    agent: str
    before: int
    after: int | None = None  # none: the agent doesn't report it
    summary: bool = False  # a summary begins a new conversation; else the agent did it itself


class AllLimited(_Event, frozen=True, tag="autopilot:all-limited"):
    resumes_at: datetime | None = None


AutopilotEvent: TypeAlias = (
    Started
    | Paused
    | Resumed
    | StepStart
    | StepComplete
    | StepSkipped
    | Aborted
    | Complete
    | Output
    | Retrying
    | RateLimited
    | AgentSwitched
    | AllLimited
    | Compacted
)


def plan_id(plan: PlanState) -> str:
    return plan.spec.plan_id or plan.spec.name


class LivePlan(LiveState):
    """The state of a plan with all its events. The same journal gives the same events.

    A pause of all runs is not in a plan's own journal, so it is not among them.
    """

    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        super().__init__(pilot, opened)
        self._announced = -1  # the position of the last step whose start was told
        self._said = ""  # the agent's last final message
        self._pause: PauseReason | None = None
        plan: PlanState = self.state.pilot
        self._plan_id = plan_id(plan)
        start = Started(
            **self._common(opened.at), total_steps=len(plan.steps), mode=plan.spec.mode.value
        )
        self.events: list[AutopilotEvent] = [start, *self._pauses(opened.at)]

    def take(self, event: Event) -> None:
        before: RunState[PlanState] = self.state
        super().take(event)
        if (
            isinstance(event, MoveEnded)
            and isinstance(event.result, TurnDone)
            and before.pilot.in_turn
        ):
            self._said = event.result.text
        self.events += self._changes(event, before.pilot, self.state.pilot)
        self.events += self._pauses(event.at)
        if isinstance(event, Closed):
            self.events.append(self._end(event))

    def messages_at(self, seq: int) -> list[AutopilotEvent]:
        start = bisect_left(self.events, seq, key=lambda each: each.seq)
        end = bisect_left(self.events, seq + 1, key=lambda each: each.seq)
        return self.events[start:end]

    def messages_after(self, seq: int) -> list[AutopilotEvent]:
        return self.events[bisect_left(self.events, seq + 1, key=lambda each: each.seq) :]

    def _common(self, at: datetime) -> dict[str, Any]:
        return {"plan_id": self._plan_id, "at": at, "seq": self.seq}

    def _changes(
        self, event: Event, before: PlanState, after: PlanState
    ) -> Iterator[AutopilotEvent]:
        match event:
            case MoveStarted(move=TakeTurn(compacts=0)):
                yield from self._turn_started(event.at, before, after)
            case MoveEnded(result=TurnDone(compacted=Compaction() as done)):
                yield Compacted(
                    **self._common(event.at),
                    agent=before.agent,
                    before=done.before,
                    after=done.after or None,
                    summary=done.summary,
                )
            case MoveEnded(result=Failed(kind=kind) as failed) if (
                (before.in_turn or before.talk.compacting)
                and kind in LIMITED
                and after.spec.mode is PlanMode.AUTOPILOT
            ):
                yield self._limited(failed, event.at, before, after)
            case _:
                pass
        yield from self._step_ended(event.at, before, after)

    def _turn_started(
        self, at: datetime, before: PlanState, after: PlanState
    ) -> Iterator[AutopilotEvent]:
        common, first = self._common(at), after.spec.agents[0]
        last = before.agent or first
        if after.agent != last:
            reason = after.roster.switches[-1].reason if before.agent else RECOVERED
            reason = RATE_LIMIT if reason in LIMITED else reason
            yield AgentSwitched(**common, from_=last, to=after.agent, reason=reason)
        if after.step is not None and after.position != self._announced:
            self._announced = after.position
            yield StepStart(
                **common,
                step=after.step,
                phase=after.spec.plan.phases[after.phase].name,
                agent=after.agent,
                after_skipped=tuple(each.step for each in after.skipped[-NAMED_SKIPPED:]),
            )

    def _limited(
        self, failed: Failed, at: datetime, before: PlanState, after: PlanState
    ) -> AutopilotEvent:
        until = after.roster.held_until.get(before.agent) or after.wait_until or at
        return RateLimited(
            **self._common(at),
            agent=before.agent,
            backoff_ms=_milliseconds(until, at),
            step=before.step,
            error=one_line(failed.message, 300),
        )

    def _step_ended(
        self, at: datetime, before: PlanState, after: PlanState
    ) -> Iterator[AutopilotEvent]:
        common, step = self._common(at), before.step
        if after.failures > before.failures and after.wait_until is not None:
            yield Retrying(
                **common,
                step=step,
                attempt=after.failures,
                backoff_ms=_milliseconds(after.wait_until, at),
                error=one_line(after.waits_for, 300),
            )
        if step is None:
            return
        if after.completed > before.completed:
            output = self._said[-MAX_OUTPUT:]
            result = StepResult(success=True, step_id=step.id, output=output)
            yield StepComplete(**common, step=step, result=result)
        if len(after.skipped) > len(before.skipped):
            yield StepSkipped(**common, step=step, reason=after.skipped[-1].reason)

    def _pauses(self, at: datetime) -> Iterator[AutopilotEvent]:
        """The beginning or the end of a pause."""
        now, before = status_of(self.state, Helm(), at), self._pause
        self._pause, common = now.reason, self._common(at)
        if now.reason is None or now.reason is before:
            is_over = before is not None and now.reason is None
            if is_over and now.status in (Status.RUNNING, Status.PAUSING):
                yield Resumed(**common)
            return
        plan: PlanState = self.state.pilot
        is_all = plan.roster.awaited is None and isinstance(pick(plan.roster, at), datetime)
        if now.reason is PauseReason.LIMITED and is_all:
            yield AllLimited(**common, resumes_at=now.resumes_at)
        error = one_line(now.note, 300) if now.reason is not PauseReason.USER else ""
        yield Paused(**common, reason=now.reason, error=error, resumes_at=now.resumes_at)

    def _end(self, closed: Closed) -> AutopilotEvent:
        plan, common = self.state.pilot, self._common(closed.at)
        if closed.outcome is Outcome.DONE:
            return Complete(**common, completed=plan.completed, skipped=len(plan.skipped))
        error = closed.note or closed.outcome.value
        return Aborted(**common, step=plan.step, error=error, outcome=closed.outcome.value)


def _milliseconds(until: datetime, at: datetime) -> int:
    return max(0, round((until - at).total_seconds() * 1000))
