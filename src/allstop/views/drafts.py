"""Views of drafts: what an agent asks, the plan that it wrote, and the log."""

from typing import Any

from msgspec import Struct

from allstop.core import run as runs
from allstop.core.events import Closed, Event, MoveEnded, Opened
from allstop.core.ids import RunId
from allstop.core.moves import Outcome, TurnDone
from allstop.core.run import RunState
from allstop.core.text import counted
from allstop.plans.draft import DraftState, assumptions, plan_in, questions_in
from allstop.plans.draft_pilot import DraftPilot
from allstop.plans.plan import Problem
from allstop.plans.plan_file import read_plan
from allstop.views.log import Line, lines


class DraftQuestion(Struct, frozen=True, kw_only=True):
    text: str
    answer: str | None  # null: it waits for a person; "": it is left to the agent


class DraftView(Struct, frozen=True, kw_only=True):
    """A plan that an agent writes."""

    run: RunId
    goal: str
    questions: tuple[DraftQuestion, ...]
    text: str  # of the plan as the agent wrote it last; "" before that
    problems: tuple[Problem, ...]  # why it can't be used yet
    assumptions: tuple[str, ...]
    is_ready: bool  # the plan can be used
    outcome: str | None


def draft_view(run: RunId, state: RunState[DraftState]) -> DraftView:
    draft = state.pilot
    is_read = draft.is_ready
    plan = read_plan("plan.md", draft.text.encode(errors="replace")).plan if is_read else None
    return DraftView(
        run=run,
        goal=draft.spec.goal,
        questions=tuple(DraftQuestion(text=q.text, answer=q.answer) for q in draft.questions),
        text=draft.text,
        problems=draft.problems,
        assumptions=assumptions(plan) if plan else (),
        is_ready=draft.is_ready,
        outcome=state.closed.outcome.value if state.closed else None,
    )


class DraftLog:
    """The log of a draft: its events, and why a plan goes back to the agent."""

    def __init__(self, pilot: DraftPilot) -> None:
        self.pilot = pilot
        self.state: RunState[Any] | None = None

    def take(self, event: Event) -> list[Line]:
        before = self.state
        if isinstance(event, Opened):
            self.state = runs.begin(self.pilot, event)
        elif before is not None:
            self.state = runs.evolve(self.pilot, before, event)
        match event:
            case MoveEnded(result=TurnDone() as turn):
                return [Line(event.at, "✓", _given(turn)), *self._returned(event)]
            case Closed(outcome=Outcome.DONE, note=note):
                return [Line(event.at, "■", f"the plan is written: {note}")]
            case _:
                return lines(event)

    def _returned(self, event: Event) -> list[Line]:
        """Why the agent's plan goes back to it."""
        state = self.state.pilot if self.state else None
        if not isinstance(state, DraftState) or not state.problems or state.end is not None:
            return []
        first, more = state.problems[0], len(state.problems) - 1
        others = f"; and {counted(more, 'more problem')}" if more else ""
        return [Line(event.at, "→", f"it goes back: line {first.line}: {first}{others}")]


def _given(turn: TurnDone) -> str:
    """What an agent's reply contains."""
    plan, asked = plan_in(turn.text), len(questions_in(turn.text))
    if plan is not None:
        given = f"a plan of {counted(plan.count(chr(10)), 'line')}"
    else:
        given = counted(asked, "question") if asked else "neither a plan nor a question"
    used = turn.usage.tokens
    return f"{given} · {used:,} tokens" if used else given
