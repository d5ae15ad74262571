"""F1, F5: the real codex asks, and gets the answer."""

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from adapters.agents.codex.launch_codex import outputs, patch, run, until
from allstop.adapters.agents.codex import Approvals
from allstop.adapters.agents.codex.approvals import NO_ANSWER
from allstop.adapters.shell import appraise
from allstop.core.asks import (
    NOBODY,
    Answer,
    Ask,
    Decision,
    Option,
    Permission,
    Question,
    Rule,
    answer_by_rules,
)
from allstop.core.moves import TurnDone
from allstop.policy.policy import Policy
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Call, Say

QUESTION = {
    "id": "colour",
    "header": "Colour",
    "question": "Which colour?",
    "options": [
        {"label": "Red", "description": "as now"},
        {"label": "Blue", "description": "new"},
    ],
}


class Undecided(RecordingWatch):
    """A watch that never answers."""

    async def ask(self, ask):
        self.asks.append(ask)
        await anyio.sleep_forever()


@pytest.mark.parametrize("allows", [True, False])
async def test_f1_an_edit_is_asked_about_with_its_paths_and_its_diff(
    stage, place, tmp_path, allows
):
    """F1: the request has neither; they come from the item with the same id."""
    agent = await stage.agent_that(patch("a.txt"), "ok", approvals=Approvals.UNTRUSTED)
    watch = RecordingWatch(allows=allows)

    result = await agent.take_turn(turn(place), watch)

    assert isinstance(result, TurnDone), result
    (ask,) = watch.asks
    assert ask == Ask(id=ask.id, kind="edit", paths=("/project/a.txt",), text="/project/a.txt\nnew")
    assert (tmp_path / "work" / "a.txt").exists() is allows


@pytest.mark.parametrize(
    ("watch", "answers"),
    [
        (
            RecordingWatch(allows=True, answers=("Blue", "as small as it gets")),
            ["Blue", "as small as"],
        ),
        (RecordingWatch(message="Nobody is there."), [f"Nobody is there. {NO_ANSWER}"]),
        (RecordingWatch(allows=True), [NO_ANSWER]),
    ],
)
async def test_f5_questions_are_put_with_their_options_and_answered(stage, place, watch, answers):
    """F1, F5, K18: any answer reaches the tool; if nobody is there, the agent is told."""
    size = {"id": "size", "header": "Size", "question": "How big?", "options": QUESTION["options"]}
    call = Call(name="request_user_input", arguments={"questions": [QUESTION, size]})
    server = await stage.model(lambda asked: (outputs(asked) or [Say(calls=(call,))])[-1])

    result = await stage.agent(server).take_turn(turn(place), watch)

    assert all(answer in result.text for answer in answers), result.text
    (ask,) = watch.asks
    options = (Option(label="Red", text="as now"), Option(label="Blue", text="new"))
    questions = (
        Question(text="Which colour?", options=options),
        Question(text="How big?", options=options),
    )
    text = "Which colour?\nHow big?"
    assert ask == Ask(id=ask.id, kind="question", text=text, questions=questions)


HARMLESS = (
    "ls",
    "cat a.txt",
    "git status --short",
    "git log -3 --oneline",
    "rg -n new src | head -5",
)
FOR_A_PERSON = ("make install", "curl http://127.0.0.1:1/x", "python3 -c 'print(1)'", "ls; touch x")


@pytest.mark.parametrize("approvals", Approvals)
async def test_f5_the_rules_see_every_command_and_people_only_what_they_leave(
    stage, place, approvals
):
    """F5, K18: codex asks before each command; the policy allows read-only ones."""
    commands = (*HARMLESS, *FOR_A_PERSON)
    steps = (*map(run, commands), patch("b.txt"), "ok")
    agent = await stage.agent_that(*steps, approvals=approvals)
    policy = Policy(workspace="/project")
    for_people = []

    class Ruled(RecordingWatch):
        async def ask(self, ask):
            self.asks.append(ask)
            answer = answer_by_rules((), appraise(ask, policy))
            if answer is None:
                for_people.append(ask.text)
            return answer or self.answer

    watch = Ruled()
    result = await agent.take_turn(replace(turn(place), asks_first=True), watch)

    assert isinstance(result, TurnDone), result
    assert [ask.text for ask in watch.asks] == [*commands, "/project/b.txt\nnew"]
    assert for_people == list(FOR_A_PERSON)


async def test_f5_a_session_permission_covers_only_the_same_command(stage, place):
    """F5, K18: codex asks once for the same command, and again for another."""
    agent = await stage.agent_that(
        run("touch one"), run("touch one"), run("touch two"), "ok", approvals=Approvals.UNTRUSTED
    )
    watch = RecordingWatch(allows=True)
    watch.answer = Answer(leave=Permission.SESSION)

    await agent.take_turn(turn(place), watch)

    assert [ask.text for ask in watch.asks] == ["touch one", "touch two"]


async def test_f5_a_command_elsewhere_is_not_the_command_it_seems(stage, place):
    """F5, K18: a rule for a command covers only the workspace."""
    agent = await stage.agent_that(run("rm x", workdir="/tmp"), "ok", approvals=Approvals.UNTRUSTED)
    watch = RecordingWatch()

    await agent.take_turn(turn(place), watch)

    (ask,) = watch.asks
    assert ask == Ask(id=ask.id, kind="command", text="cd /tmp && rm x")


async def test_f1_a_turn_can_be_stopped_while_somebody_is_asked(stage):
    """F1: the turn ends before codex withdraws the request; the server stays usable."""
    agent = await stage.agent_that(run("make x"), "on we go", approvals=Approvals.UNTRUSTED)
    watch = Undecided()
    async with anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, turn(None), watch)
        await until(lambda: watch.asks)
        group.cancel_scope.cancel()

    again = await agent.take_turn(turn(None, thread=watch.threads[0]), RecordingWatch())
    assert again.text == "on we go"
    assert stage.launcher.killed() == ()


async def test_k18_a_rule_counts_where_its_box_would_let_it(stage, place):
    """K18: the rules see every command; those without a rule are unchanged."""
    policy = Policy(workspace="/project", rules=(Rule(prefix=("touch",), decision=Decision.DENY),))

    class Ruled(RecordingWatch):
        async def ask(self, ask):
            await super().ask(ask)
            return answer_by_rules((), appraise(ask, policy)) or NOBODY

    steps = (run("touch one"), run("mkdir two"), patch("Makefile"), "ok")
    agent = await stage.agent_that(*steps, ruled=True)
    watch = Ruled()

    result = await agent.take_turn(turn(place), watch)

    assert isinstance(result, TurnDone), result
    assert [ask.within for ask in watch.asks] == [True, True, True]
    made = sorted(path.name for path in Path(place.workspace).iterdir())
    assert made == ["Makefile", "two"]
