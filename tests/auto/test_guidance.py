"""F8: guidance before the first turn of Full Auto and after each one."""

import msgspec
import pytest

from allstop.auto.guidance import SIGNATURES, Stage, is_go
from allstop.auto.guidance_stages import stage_ended
from allstop.auto.prompts import first
from allstop.auto.state import Action, ModelDecision
from allstop.auto.structured_output import read, schema_of
from allstop.core import run
from allstop.core.commands import Allstop, Say
from allstop.core.moves import FailureKind, Finish, Outcome, Survey, TakeTurn, TurnDone, Wait
from allstop.core.replay import differences
from allstop.views.auto import AutoLog, backtest, decisions
from support.auto_runs import DONE, AutoSteps

GUIDE = {"agent": "guide", "permissions": ["network: none"]}
ROUTE = {"route": "respond", "reason": "it is clear", "confidence": 0.9}
UNDERSTOOD = {"task": "Parse TOML.", "requirements": ["dates too"], "confidence": 0.8}
PLANNED = {"steps": ["Write the lexer.", "Write the parser."], "confidence": 0.8}
DIRECTED = {"directive": "Write the lexer now.", "reason": "it comes first", "confidence": 0.8}


def steps(auto):
    return [(step.stage.value, step.by) for step in auto.state.guide.steps]


@pytest.mark.parametrize(
    "message",
    ["go", "Go!", "just do it", "Just do it.", "ok, go ahead", "Let's go", "please start now",
     "do your thing", "keep going", "make it so"],
)  # fmt: skip
def test_f8_super_mode_is_for_messages_that_say_nothing(message):
    assert is_go(message)


@pytest.mark.parametrize(
    "message", ["", "Write a parser", "go to the shop", "do it in Rust", "start the server", "it"]
)
def test_f8_and_for_no_others(message):
    assert not is_go(message)


def test_f8_a_clear_goal_goes_to_the_agent_as_it_is():
    """F8: router → respond."""
    auto = AutoSteps(guide=GUIDE)
    asked = auto.guidance(ROUTE)
    auto.turn()

    assert asked.agent == "guide"
    assert "network: none" in auto.prompts[0]
    assert "Write a parser." in auto.prompts[0]
    assert auto.prompts[1] == first(auto.state.spec, "")
    assert steps(auto)[0] == ("route", "guide")


@pytest.mark.parametrize(
    ("route", "answer", "told"),
    [("understand", UNDERSTOOD, "- dates too"), ("plan", PLANNED, "- Write the lexer.")],
)
def test_f8_what_was_understood_or_planned_is_told_to_the_agent(route, answer, told):
    """F8: router → task understanding / planning."""
    auto = AutoSteps(guide=GUIDE)
    auto.guidance({**ROUTE, "route": route})
    auto.guidance(answer)
    auto.turn()

    assert auto.prompts[-1].startswith("Write a parser.")
    assert told in auto.prompts[-1]


def super_auto(**more):
    auto = AutoSteps(goal="Just do it!", guide=GUIDE, name="a", target="main", **more)
    auto.survey()
    auto.guidance(UNDERSTOOD)
    auto.guidance(PLANNED)
    auto.guidance(DIRECTED)
    return auto


def test_f8_super_mode_looks_understands_plans_and_directs():
    """F8: repo research → understanding → plan → directive, and the directive is dispatched."""
    auto = super_auto()
    auto.turn()

    assert steps(auto)[:4] == [
        ("research", "git"), ("understanding", "guide"), ("plan", "guide"), ("directive", "guide")
    ]  # fmt: skip
    assert "# Parsnip" in auto.prompts[0]
    assert "- Write the parser." in auto.prompts[2]
    assert auto.prompts[3].startswith("Parse TOML.")
    assert "Begin with this: Write the lexer now." in auto.prompts[3]
    assert auto.state.decisions[0].by == "guidance by guide"


def test_f8_q20_a_turn_where_a_look_around_was_due_is_no_answer():
    """A journal with such an event can still be folded."""
    auto = AutoSteps(goal="Just do it!", guide=GUIDE, name="a", target="main")

    assert auto.state.guide.ahead[0] is Stage.RESEARCH
    assert stage_ended(auto.state, TurnDone(text="Looked.")) == auto.state


def test_f8_f9_the_goal_of_super_mode_stays_what_was_understood():
    auto = super_auto()
    auto.turn()
    auto.survey("c1")
    auto.guidance(DIRECTED)
    auto.turn()

    assert auto.prompts[-1].startswith("The goal is still:\nParse TOML.")
    assert "Next step: Write the lexer now." in auto.prompts[-1]


def test_f8_guidance_runs_again_after_every_turn_until_the_agent_is_done():
    """F8: demo mode; the repository is surveyed again only if it has changed."""
    auto = AutoSteps(guide=GUIDE, name="a", target="main")
    auto.guidance(ROUTE)
    auto.turn()
    auto.survey("c1")
    auto.guidance(DIRECTED)
    auto.turn(changes=False)
    auto.guidance({**DIRECTED, "directive": "Test it."})
    auto.turn(DONE)

    assert [d.action for d in auto.state.decisions] == [Action.CONTINUE] * 3 + [Action.STOP]
    assert [d.by for d in auto.state.decisions][1:] == ["guidance by guide"] * 2 + ["rules"]
    assert auto.state.decisions[2].next_input == "Test it."
    assert not auto.state.guide.ahead


def test_f8_a_guard_stops_it_whatever_guidance_would_say():
    """F8, F4: the no-progress check runs before guidance."""
    auto = AutoSteps(guide=GUIDE)
    auto.guidance(ROUTE)
    for _ in range(2):
        auto.turn("The same.")
        auto.guidance(DIRECTED)
    auto.turn("The same.")

    assert auto.decision.action is Action.PAUSE
    assert "no progress" in auto.decision.condition
    assert auto.move().for_person


@pytest.mark.parametrize("stage", ["first", "after"])
def test_f8_low_confidence_pauses(stage):
    """F8, F3: the stop conditions apply as for any decision; a person's message resumes."""
    auto = AutoSteps(guide=GUIDE)
    if stage == "first":
        auto.guidance({**ROUTE, "route": "understand"})
        auto.guidance({**UNDERSTOOD, "questions": ["Which version?"], "confidence": 0.3})
    else:
        auto.guidance(ROUTE)
        auto.turn()
        auto.guidance({**DIRECTED, "confidence": 0.3})

    assert auto.decision.overridden is Action.CONTINUE
    assert isinstance(auto.move(), Wait)
    auto.say(Say(text="TOML 1.0."))
    assert isinstance(auto.move(), TakeTurn)


@pytest.mark.parametrize(
    "answer", ["I can't.", '{"route": "dance", "reason": "x"}', "{" * 5000 + "}"]
)
def test_f8_an_answer_that_fits_no_signature_gives_way_to_the_rules(answer):
    auto = AutoSteps(goal="Write a parser for TOML.", guide=GUIDE)
    auto.guidance(answer)

    ((stage, by),) = steps(auto)
    assert stage == "route"
    assert by.startswith("rules (")
    assert auto.decision.action is Action.CONTINUE


def test_f8_a_model_that_fails_gives_way_to_the_rules():
    auto = AutoSteps(guide=GUIDE)
    auto.fail(FailureKind.NETWORK)

    assert steps(auto) == [("route", "rules (network)")]
    assert auto.state.failures == 0


def test_f8_what_was_cut_off_is_asked_again():
    auto = AutoSteps(guide=GUIDE)
    first = auto.begin()
    auto.fail(FailureKind.INTERRUPTED)

    assert auto.begin() == first


def test_f8_a_repository_that_cannot_be_read_is_no_obstacle():
    auto = AutoSteps(goal="go", guide={"agent": None}, target="main")
    auto.fail(FailureKind.BAD_REQUEST, "no such branch")

    assert auto.state.guide.steps[0].text == "nothing: no such branch"
    assert auto.state.spec.goal.startswith("Find out what this repository needs most")


def test_f8_without_a_model_the_rules_guide():
    """F8: without a model, the survey is guidance's only move."""
    auto = AutoSteps(goal="go", guide={}, name="a", target="main")
    auto.survey()
    move = auto.turn(items=[("plan", "[x] read\n[>] write the lexer")])
    auto.survey("c1")
    auto.turn()

    assert move.agent == "codex"
    assert "Find out what Parsnip needs most" in auto.prompts[0]
    assert "Next step: write the lexer" in auto.prompts[1]
    assert {by for _, by in steps(auto)} == {"git", "rules"}


def test_f8_rules_route_a_list_to_planning():
    auto = AutoSteps(goal="Do these:\n- lex\n- parse", guide={})
    auto.turn()

    assert [step.text for step in auto.state.guide.steps[:2]] == [
        "plan: it lists 2 things",
        "1. lex; 2. parse",
    ]
    assert "The plan:\n- lex\n- parse" in auto.prompts[0]


def test_f8_with_a_deciding_model_guidance_comes_after_its_decision():
    auto = AutoSteps(guide=GUIDE, policy="model", decision_agent="decider")
    auto.guidance(ROUTE)
    auto.turn()
    decider = auto.guidance({"action": "continue", "reason": "well", "confidence": 0.7})
    guide = auto.guidance(DIRECTED)

    assert (decider.agent, guide.agent) == ("decider", "guide")
    assert auto.decision.confidence == 0.7
    assert auto.begin().agent == "codex"


def test_f8_the_guides_conversation_is_not_the_agents():
    auto = AutoSteps(guide=GUIDE)
    auto.guidance(ROUTE)

    assert auto.begin().thread is None


def test_f8_k2_an_allstop_holds_guidance_too():
    auto = AutoSteps(guide=GUIDE)
    auto.say(Allstop())

    assert auto.move() == Wait(reason="stopped")


def test_f8_a_rehearsal_ends_where_the_agent_would_begin():
    auto = AutoSteps(guide={**GUIDE, "rehearses": True}, target="main")
    auto.guidance(ROUTE)

    assert auto.move() == Finish(outcome=Outcome.DONE, note="continue: it is clear")


@pytest.mark.parametrize(
    ("text", "action"), [("More to do.", Action.CONTINUE), (DONE, Action.STOP)]
)
def test_f8_a_rehearsal_begins_with_a_summary(text, action):
    signal = {"signal": "complete"} if text == DONE else {"signal": "none"}
    summary = {"turn": 4, "status": "completed", "text": text, "said": signal}
    auto = AutoSteps(guide={"rehearses": True}, summary=summary)

    assert auto.decision.action is action
    assert isinstance(auto.move(), Finish)


def test_f12_q20_the_record_alone_gives_the_same_guidance():
    """F12, Q20: every used answer is recorded; replay needs no model."""
    auto = super_auto()
    auto.turn()
    auto.survey("c1")
    auto.guidance(DIRECTED)
    auto.turn(DONE)
    again = run.fold(auto.pilot, auto.events)

    assert msgspec.json.encode(again.pilot) == msgspec.json.encode(auto.state)
    assert differences(auto.pilot, auto.events) == []


def test_f8_every_step_is_shown_once_and_in_order():
    auto = super_auto()
    auto.turn()
    story = AutoLog(auto.pilot)
    told = [line.text for event in auto.events for line in story.take(event) if line.mark in "◇◆"]

    assert [line.split(":")[0] for line in told] == [
        "research", "understanding", "plan", "directive", "turn 0"
    ]  # fmt: skip
    assert "by guide" in told[1]


def test_f7_guidance_has_receipts_and_is_no_turn_in_a_backtest():
    auto = super_auto()
    auto.turn()
    auto.survey("c1")
    auto.guidance(DIRECTED)

    assert [r.summary.turn for r in decisions(auto.pilot, auto.events)] == [0, 1]
    assert backtest(auto.pilot, auto.events, auto.state.spec).turns == 1


@pytest.mark.parametrize("kind", [*SIGNATURES.values(), ModelDecision])
def test_f8_a_signatures_schema_is_closed_and_without_references(kind):
    schema = schema_of(kind)

    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert b"$ref" not in msgspec.json.encode(schema)
    assert all("type" in each for each in schema["properties"].values())


@pytest.mark.parametrize(("stage", "answer"), [
    (Stage.ROUTE, ROUTE), (Stage.UNDERSTAND, UNDERSTOOD),
    (Stage.PLAN, PLANNED), (Stage.DIRECT, DIRECTED),
])  # fmt: skip
def test_f8_answers_are_validated_by_their_signature(stage, answer):
    kind = SIGNATURES[stage]
    without = {name: value for name, value in answer.items() if name != "confidence"}

    assert isinstance(read(f"Here: {msgspec.json.encode(answer).decode()}", kind), kind)
    assert isinstance(read(msgspec.json.encode(without).decode(), kind), str)
    assert isinstance(read(msgspec.json.encode({**answer, "confidence": 7}).decode(), kind), str)


def test_f8_only_a_survey_is_made_without_the_guide():
    auto = AutoSteps(goal="go", guide=GUIDE, name="a", target="main")

    assert isinstance(auto.begin(), Survey)
