"""F5, K10: forms and session modes of ACP agents."""

import json
from pathlib import Path

import anyio
import pytest

from adapters.agents.acp.test_turn import Thinking, methods, taken
from adapters.agents.claude_code.launch_claude import came_back, write
from allstop.adapters.agents.acp import SessionSettings
from allstop.adapters.agents.acp.acp_session import choose_mode
from allstop.adapters.agents.acp.form_questions import DECLINED, WITHDRAWN, read_ask, write_answer
from allstop.adapters.agents.acp.messages import Choice, Field, Fields, Form
from allstop.adapters.agents.acp.turn import AGENT_DECIDES
from allstop.adapters.processes.sandbox.box_ownership import hand_over
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.core.asks import NOBODY, Answer, Option, Permission, Question
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Call, Say

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Red", "description": "as now"},
        {"label": "Blue", "description": "new"},
    ],
}
SIZES = {**COLOUR, "question": "Which sizes?", "header": "Sizes", "multiSelect": True}


def form(**fields):
    return Form(message="Please say.", requested_schema=Fields(properties=fields))


def said(*answers):
    return Answer(leave=Permission.ALLOW, answers=answers, by="user")


@pytest.mark.parametrize("questions", [[COLOUR], [COLOUR, SIZES]], ids=["one", "two"])
async def test_f5_a_question_of_the_real_agent_reaches_a_person_and_back(bench, questions):
    """F5, K10: with its options; a free-text answer reaches the model too."""
    call = Call(name="AskUserQuestion", arguments={"questions": questions})
    agent = await bench.agent(lambda asked: (came_back(asked) or [Say(calls=(call,))])[-1])
    watch = RecordingWatch(allows=True, answers=("a shade of teal", "Red, Blue")[: len(questions)])

    result = await bench.turn(agent, watch)

    assert isinstance(result, TurnDone), result
    assert "a shade of teal" in result.text
    assert ("Red, Blue" in result.text) is (len(questions) == 2)
    options = (Option(label="Red", text="as now"), Option(label="Blue", text="new"))
    asked = [ask.questions for ask in watch.asks if ask.questions]
    assert asked == [tuple(Question(text=q["question"], options=options) for q in questions)]


async def test_f5_where_nobody_answers_the_real_agent_goes_on(bench):
    """F5, K18: if nobody is there, the agent is told at once, and the turn doesn't fail."""
    call = Call(name="AskUserQuestion", arguments={"questions": [COLOUR]})
    agent = await bench.agent(lambda asked: "on we go" if came_back(asked) else Say(calls=(call,)))

    result = await bench.turn(agent, RecordingWatch())

    assert isinstance(result, TurnDone), result
    assert result.text == "on we go"


async def test_f5_only_a_form_that_people_can_fill_in_is_put_to_them(bench):
    """F5: a URL is declined, and an invalid form gets an error."""
    watch = RecordingWatch(allows=True, answers=("blue",))

    result = await taken(bench, "forms", watch)

    accepted = {"action": "accept", "content": {"colour": "blue"}}
    assert json.loads(result.text) == [accepted, DECLINED, -32601]
    assert [ask.text for ask in watch.asks] == ["Which?"]


async def test_f5_a_withdrawn_form_is_not_asked_any_more(bench):
    watch = Thinking()

    result = await taken(bench, "hasty_form", watch)

    assert watch.was_let_go
    assert json.loads(result.text) == WITHDRAWN


@pytest.mark.parametrize(
    ("field", "words", "value"),
    [
        (Field(type="string"), "any words", "any words"),
        (Field(type="string", enum=("a", "b")), "b", "b"),
        (Field(type="string", one_of=(Choice(const="a", title="First"),)), "First", "a"),
        (Field(type="integer"), "7", 7),
        (Field(type="number"), "0.5", 0.5),
        (Field(type="boolean"), "No", False),
        (Field(type="array", items=Field(enum=("a", "b"))), "b, a", ["b", "a"]),
    ],
)
def test_f5_an_answer_is_given_as_its_field_wants_it(field, words, value):
    answer = write_answer(form(x=field), said(words))

    assert answer == {"action": "accept", "content": {"x": value}}


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (Field(type="string", enum=("a", "b")), "c"),
        (Field(type="integer"), "seven"),
        (Field(type="boolean"), "perhaps"),
        (Field(type="array", items=Field(enum=("a", "b"))), "a, c"),
        (Field(type="object"), "x"),
    ],
)
def test_f5_what_does_not_fit_is_a_clean_no(field, words):
    assert write_answer(form(x=field), said(words)) == DECLINED


@pytest.mark.parametrize("told", [NOBODY, said(), said("a", "b")])
def test_f5_without_an_answer_for_each_field_it_is_declined(told):
    assert write_answer(form(x=Field(type="string")), told) == DECLINED


def test_f5_nobody_is_asked_to_fill_in_nothing():
    assert read_ask(1, form()) is None
    assert read_ask(1, form(**{f"f{n}": Field(type="string") for n in range(21)})) is None


async def test_k10_it_begins_in_the_mode_that_was_set(bench):
    """K10: by the protocol's modes, or as one of its options."""
    for scenario, file in (("modes", "mode"), ("optional_modes", "model")):
        agent = bench.peer(scenario, session=SessionSettings(mode="plan"))

        result = await taken(bench, "", agent=agent)

        assert isinstance(result, TurnDone), result
        assert (bench.work / file).read_text() == "plan"
    assert methods(bench).index("session/set_mode") < methods(bench).index("session/prompt")


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        ("modes", "the agent has no mode 'zebra'; its modes: ask, plan"),
        ("ordinary", "the agent has no setting for its mode: leave it out"),
    ],
)
async def test_k10_a_mode_that_it_does_not_have_fails_the_turn(bench, scenario, why):
    agent = bench.peer(scenario, session=SessionSettings(mode="zebra"))

    result = await taken(bench, "", agent=agent)

    assert (result.kind, result.message) == (FailureKind.BAD_REQUEST, why)


async def test_k10_the_real_agent_takes_its_mode(bench):
    """K10, K18: the model sees the instructions of plan mode."""
    agent = await bench.agent(["a plan"], session=SessionSettings(mode="plan"))

    with anyio.fail_after(60):
        result = await bench.turn(agent)

    assert isinstance(result, TurnDone), result
    assert "Plan mode" in json.dumps(bench.server.requests[0].body)


@pytest.mark.parametrize(
    ("scenario", "session", "mode", "notices"),
    [
        ("modes", SessionSettings(), "ask", []),
        ("modes", SessionSettings(mode="plan"), "plan", [AGENT_DECIDES]),  # a person chose it
        ("ordinary", SessionSettings(), None, [AGENT_DECIDES]),
    ],
)
async def test_f5_where_it_is_to_ask_first_it_is_put_into_a_mode_that_asks(
    bench, scenario, session, mode, notices
):
    """F5, K18: if it offers one; otherwise the record notes once that the agent decides."""
    agent, watch = bench.peer(scenario, session=session), RecordingWatch()

    with anyio.fail_after(60):
        first = await bench.turn(agent, watch, asks_first=True)
        await bench.turn(agent, watch, asks_first=True, thread=first.thread)

    file = bench.work / "mode"
    assert (file.read_text() if file.exists() else None) == mode
    assert [item.text for item in watch.items if item.kind == "notice"] == notices


@pytest.mark.parametrize(
    ("scenario", "asks_first", "file", "mode"),
    [
        ("zed_codex", True, "mode", "read-only"),
        ("zed_codex", False, "mode", None),
        ("codex", True, "model", "edit-internal"),
        ("codex", False, "model", "edit-internal"),
    ],
)
async def test_f5_codex_behind_either_adapter_asks_for_what_is_wanted(
    bench, scenario, asks_first, file, mode
):
    """F5, K18: by its own mode names, as modes or options; no model answers for people."""
    with anyio.fail_after(60):
        result = await bench.turn(bench.peer(scenario), asks_first=asks_first)

    assert isinstance(result, TurnDone), result
    written = bench.work / file
    assert (written.read_text() if written.exists() else None) == mode


CLAUDE = ("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")
GEMINI = ("default", "autoEdit", "yolo", "plan")
ZED = ("read-only", "auto", "full-access")
NODE = ("read-only", "workspace-write", "agent", "agent-full-access")


@pytest.mark.parametrize(
    ("offered", "current", "asking", "unattended"),
    [
        (CLAUDE, "default", "default", None),
        (CLAUDE, "acceptEdits", "default", None),
        (CLAUDE, "plan", None, None),
        (CLAUDE, "dontAsk", None, None),
        (CLAUDE, "auto", "default", "default"),
        (CLAUDE, "bypassPermissions", "default", "default"),
        (GEMINI, "autoEdit", "default", None),
        (GEMINI, "yolo", "default", "default"),
        (ZED, "auto", "read-only", None),
        (ZED, "read-only", None, None),
        (ZED, "full-access", "read-only", "auto"),
        (NODE, "agent", "read-only", "workspace-write"),
        (NODE, "agent-full-access", "read-only", "workspace-write"),
        (NODE, "workspace-write", "read-only", None),
        (("build", "plan"), "build", None, None),
        ((), "", None, None),
    ],
)
def test_f5_a_mode_is_never_changed_for_a_laxer_one(offered, current, asking, unattended):
    """F5, K18: for known modes; all others stay."""
    assert choose_mode(current, offered, asks_first=True) == asking
    assert choose_mode(current, offered, asks_first=False) == unattended


@pytest.mark.parametrize("asks_first", [True, False])
async def test_f5_its_own_settings_do_not_keep_the_real_agent_from_asking(bench, asks_first):
    """F5, K18: settings in its home, which the agent can write itself."""
    settings = Path(bench.place.home) / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"defaultMode": "acceptEdits"}}')
    hand_over(Path(bench.place.home), this_host())
    agent, watch = await bench.agent([write(), "done"]), RecordingWatch(allows=True)

    with anyio.fail_after(60):
        result = await bench.turn(agent, watch, asks_first=asks_first)

    assert isinstance(result, TurnDone), result
    assert bool(watch.asks) == asks_first
