"""Views of Full Auto: its plan, log, decision receipts, and backtests with other rules."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from allstop.auto.guidance import Stage, Step
from allstop.auto.hard_stops import Stop, StopOf, stop_of
from allstop.auto.rules import GATE, by_rules, gated, overridden
from allstop.auto.state import Action, AutoSpec, AutoState, Decision, History, TurnSummary
from allstop.core import brakes, run
from allstop.core.asks import Ask
from allstop.core.brakes import BrakeLevel, Limits
from allstop.core.events import Closed, Event, MoveEnded, Opened
from allstop.core.helm import Helm, Hold
from allstop.core.ids import RunId
from allstop.core.moves import Outcome
from allstop.core.replay import DecisionDifference
from allstop.core.run import Pilot, RunState
from allstop.core.signals import Signal
from allstop.core.text import counted, one_line
from allstop.views.log import Line, lines, switch_lines

CONTINUING = (Action.CONTINUE, Action.REVIEW)


class DecisionReceipt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One decision with its inputs, its author and the hard stop that overrode it."""

    seq: int
    at: datetime
    summary: TurnSummary
    history: History
    decision: Decision
    edition: int = 1  # of the rules


class Backtest(Struct, frozen=True, gc=False, kw_only=True):
    """How other rules would have decided on a recorded run."""

    turns: int
    tokens: int
    differences: tuple[str, ...] = ()
    stops_at: int | None = None  # the turn after which it would have stopped
    saved_turns: int = 0
    saved_tokens: int = 0
    wrongly: bool = False  # the recorded run reached its goal after that turn
    done: bool = False  # it would have stopped with the work that reached the goal


class RunPlan(Struct, frozen=True, gc=False, kw_only=True):
    """The run's own plan, beside the agent's."""

    goal: str
    done_when: str
    tried: tuple[str, ...]
    next: str


def run_plan(state: AutoState, stopped: str = "") -> RunPlan:
    """Return the goal, the decisions so far and the next step."""
    spec = state.spec
    checks = ", ".join(check.name for check in spec.gate.checks)
    parts = [f"{spec.agent} says that it is done"]
    if checks:
        parts.append(f"{checks} pass")
    if spec.name and spec.merge:
        parts.append(f"the work is merged into {spec.target}")
    return RunPlan(
        goal=spec.goal,
        done_when=", ".join(parts),
        tried=tuple(describe_decision(decision) for decision in state.decisions),
        next=_next(state, stopped),
    )


class Guard(Struct, frozen=True, gc=False, kw_only=True):
    """A soft stop, and how near it is."""

    name: str
    count: int
    most: int


def guards(state: AutoState) -> tuple[Guard, ...]:
    """Return the soft stops with their counts and the limits in the settings."""
    spec, history = state.spec, state.history
    recent = [turn for turn in history.compactions if turn > state.turns - spec.compaction_turns]
    alike = _same_at_end(history.footprints)
    still = alike if alike > 1 else 0  # a single turn repeats nothing
    return (
        Guard(name="turns without progress", count=still, most=max(2, spec.no_progress_turns)),
        Guard(name="the same error", count=_same_at_end(history.errors), most=spec.repeated_errors),
        Guard(name="compactions", count=len(recent), most=spec.max_compactions),
    )


def _same_at_end(texts: tuple[str, ...]) -> int:
    count = 0
    for text in reversed(texts):
        if text != texts[-1]:
            break
        count += 1
    return count


def stop_condition(state: RunState[AutoState], helm: Helm, now: datetime) -> str:
    """Return the stop condition in force; of several, the one with the highest precedence."""
    auto = state.pilot
    if state.closed is not None:
        return state.closed.note
    if Hold.NONE is not helm.hold:
        return f"everything is {helm.hold}" + (f", by {helm.by}" if helm.by else "")
    if state.hold is not Hold.NONE:
        return f"the user: {state.hold}"
    verdict = brakes.check(state.limits, state.tally, state.opened.at, now)
    if verdict.level is BrakeLevel.HARD or state.limit_reached:
        return f"budget: {verdict.reason or state.limit_reached}"
    if run.waits_for_budget(state, now):
        return f"budget: {state.waits}"
    return auto.paused


def _next(state: AutoState, stopped: str) -> str:
    if state.end is not None:
        return f"nothing: it has ended ({state.end}{': ' + state.note if state.note else ''})"
    if stopped or state.paused:
        return f"a person: {stopped or state.paused}"
    if state.merging:
        return "the merge"
    if state.done:
        return "the gate" if not state.checked else "the merge"
    if state.reviews:
        return f"{state.spec.agent} reviews its own work"
    return state.step or f"{state.spec.agent} takes turn {state.turns + 1}"


class Asking(Struct, frozen=True, kw_only=True):
    """A request of the agent, and the time until which a person can answer."""

    ask: Ask
    since: datetime
    until: datetime | None


class AutoView(Struct, frozen=True, kw_only=True):
    """The state of a Full Auto thread: plans, decisions and open requests."""

    run: RunId
    agent: str
    policy: str
    plan: RunPlan
    agent_plan: str
    turns: int
    paused: str
    condition: str  # the stop condition in force; "" if there is none
    guards: tuple[Guard, ...]
    decisions: int
    decision: Decision | None  # the latest
    asks: list[Asking]
    limits: Limits


def auto_view(run: RunId, state: RunState[AutoState], helm: Helm, now: datetime) -> AutoView:
    auto = state.pilot
    return AutoView(
        run=run,
        agent=auto.agent or auto.spec.agent,
        policy=auto.spec.policy.value,
        plan=run_plan(auto, stop_condition(state, helm, now)),
        agent_plan=auto.doing.plan if auto.doing else auto.plan,
        turns=auto.turns,
        paused=auto.paused,
        condition=stop_condition(state, helm, now),
        guards=guards(auto),
        decisions=len(auto.decisions),
        decision=auto.decision,
        asks=[_asking(state, ask, auto.spec.ask_s) for ask in state.asks.values()],
        limits=state.limits,
    )


def _asking(state: RunState[AutoState], ask: Ask, patience_s: float | None) -> Asking:
    since = state.asked_at[ask.id]
    until = since + timedelta(seconds=patience_s) if patience_s else None
    return Asking(ask=ask, since=since, until=until)


class AutoLog:
    """The log of a Full Auto run: events, steps of guidance and decisions."""

    def __init__(self, pilot: Pilot[AutoState]) -> None:
        self.pilot = pilot
        self.state: RunState[AutoState] | None = None

    def take(self, event: Event) -> list[Line]:
        """Return the log lines of the next event."""
        before = self.state
        if isinstance(event, Opened):
            self.state = run.begin(self.pilot, event)
        elif before is not None:
            self.state = run.evolve(self.pilot, before, event)
        if self.state is None:
            return lines(event)
        found = lines(event) + switch_lines(
            before.pilot.roster if before else None, self.state.pilot.roster
        )
        steps = _new_steps(before.pilot if before else None, self.state.pilot)
        found += [Line(event.at, "◇", describe_step(step)) for step in steps]
        if decision := _decision_after(self.pilot, before, self.state, event, stop_of):
            found.append(Line(event.at, "◆", describe_decision(decision)))
        return found


def _new_steps(before: AutoState | None, after: AutoState) -> list[Step]:
    guided = after.guide.steps if after.guide else ()
    known = before.guide.steps if before and before.guide else ()
    return [step for step in guided if step not in known] if guided is not known else []


def _decision_after(
    pilot: Pilot[AutoState],
    before: RunState[AutoState] | None,
    after: RunState[AutoState],
    event: Event,
    stopped: StopOf,
) -> Decision | None:
    """Return the decision that an event leads to: a new one, or one that a stop overrides."""
    auto = after.pilot
    is_new = before is None or auto.decisions is not before.pilot.decisions
    stop = stopped(pilot, before, after, event) if before else None
    if auto.decision is None or not (is_new or stop):
        return None
    decision = _as_recorded(event, auto.decision)
    return overridden(decision, stop.action, stop.why) if stop else decision


def _as_recorded(event: Event, derived: Decision) -> Decision:
    """Prefer the recorded decision: present rules may decide differently."""
    if isinstance(event, MoveEnded) and event.decided is not None:
        return event.decided.decision
    return derived


def describe_step(step: Step) -> str:
    """Describe a step of guidance in one line."""
    sure = f" · confidence {step.confidence:g}" if step.stage is not Stage.RESEARCH else ""
    return f"{step.stage}: {one_line(step.text, 500)}{sure} · by {step.by}"


def decisions(pilot: Pilot[AutoState], events: Sequence[Event]) -> list[DecisionReceipt]:
    """Return every decision, the oldest first, and each hard stop that overrode one."""
    return list(_receipts(pilot, events, stop_of))


def _no_stop(
    pilot: Pilot[AutoState], before: RunState[AutoState], after: RunState[AutoState], event: Event
) -> Stop | None:
    return None


def _receipts(
    pilot: Pilot[AutoState], events: Sequence[Event], stopped: StopOf
) -> Iterator[DecisionReceipt]:
    opened = events[0]
    assert isinstance(opened, Opened), "a journal starts with Opened"
    state = run.begin(pilot, opened)
    for seq, event in enumerate(events[1:], start=2):
        before, state = state, run.evolve(pilot, state, event)
        auto = state.pilot
        decision = _decision_after(pilot, before, state, event, stopped)
        if decision is None or auto.summary is None:
            continue
        yield DecisionReceipt(
            seq=seq,
            at=event.at,
            summary=auto.summary,
            history=auto.history,
            decision=decision,
            edition=auto.spec.edition,
        )


def backtest(pilot: Pilot[AutoState], events: Sequence[Event], spec: AutoSpec) -> Backtest:
    """Decide again after each recorded turn, by rules with these settings."""
    made = [each for each in _receipts(pilot, events, _no_stop) if each.summary.turn]
    tokens = {receipt.summary.turn: receipt.summary.usage.tokens for receipt in made}
    refused = {_work(receipt) for receipt in made if receipt.decision.by == GATE}
    differences = []
    last: DecisionReceipt | None = None
    done = False
    for receipt in made:
        again = gated(spec, receipt.history, receipt.summary, _decide_again(spec, receipt))
        was = receipt.decision.action
        if again.action is not was:
            why = again.condition or again.reason
            turn = receipt.summary.turn
            differences.append(f"turn {turn}: {was} became {again.action} ({why})")
        ends = was in CONTINUING and again.action not in CONTINUING
        if last is None and ends and not (_is_done(receipt, again) and _work(receipt) in refused):
            last, done = receipt, _is_done(receipt, again) and _work(receipt) == _work(made[-1])
    stops_at = last.summary.turn if last else None
    saved = [used for turn, used in tokens.items() if stops_at is not None and turn > stops_at]
    reached = any(isinstance(e, Closed) and e.outcome is Outcome.DONE for e in events)
    return Backtest(
        turns=len(tokens),
        tokens=sum(tokens.values()),
        differences=tuple(differences),
        stops_at=stops_at,
        saved_turns=len(saved),
        saved_tokens=sum(saved),
        wrongly=last is not None and reached and not done,
        done=last is not None and reached and done,
    )


def _is_done(receipt: DecisionReceipt, again: Decision) -> bool:
    """Whether the agent reported completion; the gate gives the same result for the same work."""
    return again.action is Action.STOP and receipt.summary.said.signal is Signal.COMPLETE


def _work(receipt: DecisionReceipt) -> str:
    change = receipt.summary.change
    return (change.tree or change.head) if change else ""


def _decide_again(spec: AutoSpec, receipt: DecisionReceipt) -> Decision:
    """Decide by other rules; the gate's result stays."""
    made = receipt.decision
    if made.by == GATE:
        return replace(made, action=Action.CONTINUE, overridden=None, condition="")
    return by_rules(spec, receipt.history, receipt.summary)


def describe_inputs(receipt: DecisionReceipt) -> str:
    """Describe the inputs of a decision in one line."""
    summary, history = receipt.summary, receipt.history
    change = summary.change
    facts = [
        f"{summary.status}, a review" if summary.was_review else summary.status,
        one_line(summary.error),
        f"{counted(change.files, 'file')} changed" if change else "no files",
        counted(summary.usage.tokens, "token"),
        f"denied {counted(len(summary.denied), 'time')}" if summary.denied else "",
        f"not answered: {one_line('; '.join((*summary.unanswered, *summary.pending)))}"
        if summary.unanswered or summary.pending
        else "",
        counted(len(history.compactions), "compaction") if history.compactions else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def describe_difference(other: DecisionDifference) -> str:
    """Describe the repeated decision that differs from a recorded one, in one line."""
    if other.again is None:
        return f"turn {other.recorded.decision.turn}: no decision"
    if other.again.decision != other.recorded.decision:
        return describe_decision(other.again.decision)
    return "the same decision from different inputs"


def describe_decision(decision: Decision) -> str:
    """Describe a decision in one line."""
    over = f", overridden by {decision.condition}" if decision.overridden else ""
    if decision.condition and not decision.overridden:
        over = f" ({decision.condition})"
    was = f" (was {decision.overridden})" if decision.overridden else ""
    by = decision.by.replace("guidance by ", "guidance with ")
    return (
        f"turn {decision.turn}: {decision.action}{was}, {decision.reason}{over}"
        f" · confidence {decision.confidence:g} · by {by}"
    )
