"""P13: the pilot of a draft, stepped by hand."""

from datetime import timedelta

import pytest

from allstop.core.commands import Abort, Answer, Pause, Resume, Say, Skip
from allstop.core.moves import (
    Discard,
    Discarded,
    Failed,
    FailureKind,
    Finish,
    OpenWorkspace,
    Outcome,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.replay import differences
from allstop.kinds import PILOTS
from allstop.plans.draft import MOST_QUESTIONS, draft_problems, plan_in, questions_in
from allstop.plans.draft_pilot import DraftPilot
from support.pilot_steps import PilotSteps

PLAN = "# A\n\nAssumption: none.\n\n## B\n\n- one\n  - [ ] it holds\n  - check: true\n"
GIVEN = TurnDone(text=f"Here.\n<plan>\n{PLAN}</plan>\n", thread="t")
ASKED = TurnDone(text="<questions>\n1. Which?\n2. Where?\n</questions>", thread="t")


class DraftSteps(PilotSteps):
    """Steps a draft's pilot; the workspace is open."""

    def __init__(self, **spec):
        given = {"goal": "Do B", "name": "draft1", "target": "main", "agents": ["cli", "other"],
                 "asks": True, "backoff": {"jitter": 0.0}, "patience": {"recover": True}, **spec}  # fmt: skip
        super().__init__(DraftPilot(), given)
        assert isinstance(self.next(), OpenWorkspace)
        self.back(WorkspaceOpen(base="b"))

    @property
    def draft(self):
        return self.state.pilot

    def prompt(self):
        move = self.next()
        assert isinstance(move, TakeTurn), move
        return move.prompt.text


def test_p13_a_plan_ends_the_run_and_nothing_else_is_kept():
    draft = DraftSteps(gate={"checks": [{"name": "Tests", "run": "pytest -q"}]})
    move = draft.next()
    prompt = draft.prompt()

    assert isinstance(move, TakeTurn)
    assert move.discards
    assert all(each in prompt for each in ("Do B", "pytest -q", "ask a person first"))
    assert draft.back(GIVEN) == Discard(workspace="draft1")
    assert draft.back(Discarded()) == Finish(outcome=Outcome.DONE, note="1 phase, 1 step")
    assert draft.draft.text == PLAN
    assert differences(PILOTS["draft"], draft.events) == []


def test_p13_a_workspace_that_cannot_be_removed_does_not_lose_the_plan():
    draft = DraftSteps()
    draft.back(GIVEN)
    stuck = Failed(kind=FailureKind.BAD_REQUEST, message="it is locked")

    assert draft.back(stuck) == Finish(outcome=Outcome.DONE, note="1 phase, 1 step")


def test_p13_each_question_waits_for_its_answer():
    draft = DraftSteps()
    first = draft.back(ASKED)
    second = draft.told(Say(text="this one"))
    draft.told(Skip())

    assert first == Wait(reason="question 1 of 2: Which?", for_person=True, question="Which?")
    assert (second.reason, second.question) == ("question 2 of 2: Where?", "Where?")
    assert "- Which?\n  Answer: this one" in draft.prompt()
    assert "Nobody answers these questions of yours" in draft.prompt()
    assert "ask a person first" not in draft.prompt()


def test_p13_one_text_with_a_line_for_each_question_answers_all():
    draft = DraftSteps()
    draft.back(ASKED)
    draft.told(Answer(text="this one\nthere"))

    assert [each.answer for each in draft.draft.questions] == ["this one", "there"]
    assert "Assumption" not in draft.prompt()


def test_p13_more_than_a_handful_of_questions_are_left_to_the_agent():
    draft = DraftSteps()
    text = "\n".join(f"{n}. Question {n}?" for n in range(1, 9))
    wait = draft.back(TurnDone(text=f"<questions>\n{text}\n</questions>"))
    for _ in range(MOST_QUESTIONS):
        draft.told(Say(text="yes"))

    assert wait.reason == "question 1 of 5: Question 1?"
    assert "- Question 6?\n- Question 7?\n- Question 8?" in draft.prompt()


def test_p13_an_answer_that_asks_again_or_has_no_plan_goes_back_a_bounded_number_of_times():
    draft = DraftSteps(corrections=2)
    draft.back(ASKED)
    draft.told(Answer(text="a\nb"))
    draft.back(ASKED)
    again = draft.prompt()
    draft.back(TurnDone(text="I am done."))
    empty = draft.prompt()
    end = draft.back(TurnDone(text="<plan>\n- x\n</plan>"))

    assert "it asks questions again" in again
    assert "the message has no plan" in empty
    assert end == Discard(workspace="draft1")
    finish = draft.back(Discarded())
    assert (finish.outcome, draft.draft.text) == (Outcome.FAILED, "- x\n")
    assert "line 1: the step stands before the first heading" in finish.note


def test_p13_a_message_during_the_turn_changes_the_plan():
    draft = DraftSteps()
    draft.start()
    draft.told(Say(text="keep it small"))
    assert draft.undelivered == ("A person says: keep it small",)
    draft.end(GIVEN)

    assert "A person says: keep it small" in draft.prompt()
    assert "Your last plan was:" in draft.prompt()
    draft.back(GIVEN)
    assert draft.draft.is_ready


def test_p6_a_limited_agent_is_replaced():
    draft = DraftSteps()
    until = draft.now + timedelta(hours=1)
    limited = Failed(kind=FailureKind.RATE_LIMITED, message="429", retry_at=until)

    move = draft.back(limited)

    assert (move.agent, move.thread) == ("other", None)
    assert draft.back(GIVEN) == Discard(workspace="draft1")


def test_p4_a_failed_turn_is_repeated_then_a_person_decides():
    draft = DraftSteps()
    broken = Failed(kind=FailureKind.CRASHED, message="it died")
    waits = [draft.back(broken)]
    draft.wait(2)
    waits.append(draft.back(broken))
    draft.wait(4)
    stuck = draft.back(broken)

    assert [each.reason.partition(";")[0] for each in waits] == ["retry 1 of 2", "retry 2 of 2"]
    assert (stuck.for_person, stuck.failure) == (True, FailureKind.CRASHED)
    assert isinstance(draft.told(Resume()), TakeTurn)


@pytest.mark.parametrize("kind", [FailureKind.INTERRUPTED, FailureKind.CANCELLED])
def test_p7_a_turn_that_was_cut_is_taken_again(kind):
    draft = DraftSteps()

    assert isinstance(draft.back(Failed(kind=kind)), OpenWorkspace)
    assert isinstance(draft.back(WorkspaceOpen(base="b")), TakeTurn)


def test_k2_brakes_hold_for_drafts():
    draft = DraftSteps()

    assert draft.told(Pause()) == Wait(reason="paused")
    assert draft.told(Abort()) == Finish(outcome=Outcome.ABORTED)


@pytest.mark.parametrize(
    ("reply", "plan", "questions"),
    [
        ("nothing", None, ()),
        ("<plan>\n```markdown\n# A\n- b\n```\n</plan>", "# A\n- b\n", ()),
        ("use <plan> for it\n<plan>\n# A\n</plan>", "# A\n", ()),
        ("</plan> <plan>", None, ()),
        ("<questions>\n- a\n  b\n\n2) c\n</questions>", None, ("a b", "c")),
        ("<questions>why?</questions>", None, ("why?",)),
    ],
)
def test_p13_a_reply_is_read(reply, plan, questions):
    assert (plan_in(reply), questions_in(reply)) == (plan, questions)


def test_p13_the_rules_for_drafts_name_lines():
    text = "# A\n\n## B\n\n- one\n- [x] two\n  - [ ] it holds\n"

    found = [f"{each.line}: {each.problem}" for each in draft_problems(text, 1)]

    assert found == [
        "1: the plan states 0 of 1 assumptions",
        "1: no step has a check",
        "5: the step 1.1 has no acceptance criterion",
        "6: the step 1.2 is ticked, but nothing is done yet",
    ]
