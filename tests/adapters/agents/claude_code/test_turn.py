"""K9, K10: conversations, questions, structured replies and their cost, with the real program."""

import json
from uuid import uuid4

from adapters.agents.claude_code.launch_claude import bash, came_back, replies, write
from allstop.adapters.agents.claude_code import PermissionMode
from allstop.adapters.agents.claude_code.approvals import DENIED_ADVICE, NO_ANSWER
from allstop.core.asks import Ask, Option, Question
from allstop.core.moves import Item, TurnDone
from allstop.core.prompt import StructuredPrompt, part, prompt_from
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Call, Say

QUESTION = {
    "questions": [
        {
            "question": "Which zebra?",
            "header": "Zebra",
            "multiSelect": False,
            "options": [
                {"label": "Left", "description": "the left one"},
                {"label": "Right", "description": "the right one"},
            ],
        }
    ]
}
SCHEMA = {
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}


async def test_k10_its_name_for_the_conversation_is_told_before_anything_is_said(bench):
    """K10: a crash after that can be resumed."""
    said_when_opened = []

    class Early(RecordingWatch):
        async def opened(self, thread):
            said_when_opened.append(len(bench.server.requests))
            await super().opened(thread)

    watch = Early()
    agent = await bench.agent(["zebra"])

    result = await bench.turn(agent, watch)

    assert said_when_opened == [0]
    assert watch.threads == [result.thread]


async def test_k10_a_conversation_that_never_began_begins_under_its_name(bench):
    """K10: the process died between the id and the first message."""
    thread, watch = str(uuid4()), RecordingWatch()
    agent = await bench.agent(lambda asked: f"turn {replies(asked) + 1}")

    first = await bench.turn(agent, watch, thread=thread)
    second = await bench.turn(agent, thread=thread)

    assert (first.text, first.thread) == ("turn 1", thread)
    assert (second.text, second.thread) == ("turn 2", thread)
    assert [item.kind for item in watch.items] == ["notice", "message"]


async def test_k10_a_fork_has_the_history_and_its_name_is_told(bench):
    """K10: the contract checks that the original doesn't get the fork's messages."""
    watch = RecordingWatch()
    agent = await bench.agent(lambda asked: f"turn {replies(asked) + 1}")
    first = await bench.turn(agent)

    copy = await bench.turn(agent, watch, thread=first.thread, fork=True)

    assert copy.text == "turn 2"
    assert watch.threads == [copy.thread] != [first.thread]


async def test_k10_cost_and_tokens_are_of_this_turn(bench):
    """K10: Claude Code counts on from turn to turn, even in another process."""
    agent = await bench.agent([Say(text="x", input=1000, cached=400, written=100, output=50)])
    first = await bench.turn(agent)
    second = await bench.turn(agent, thread=first.thread)

    assert first.usage.cost_microusd > 0
    assert (first.usage.input, first.usage.cached, first.usage.output) == (1000, 400, 50)
    assert first.usage == second.usage


async def test_k10_what_its_own_agents_use_is_counted(bench):
    """K10, K7: the result's own count leaves them out."""
    sent = Call(
        name="Agent",
        arguments={"description": "d", "prompt": "GIRAFFE", "subagent_type": "general-purpose"},
    )
    agent = await bench.agent(
        lambda asked: "zebra" if "GIRAFFE" in str(asked.body["messages"]) else Say(calls=(sent,)),
        flat_rate=True,
    )

    result = await bench.turn(agent)

    assert result.text == "zebra"
    assert (result.usage.input, result.usage.output) == (300, 60)
    assert result.usage.model == bench.server.requests[0].body["model"]


async def test_f5_a_question_is_answered(bench):
    """F5, K10: the person sees the options, and the answer reaches the tool."""
    watch = RecordingWatch(allows=True, answers=("Right",))
    call = Say(calls=(Call(name="AskUserQuestion", arguments=QUESTION),))
    agent = await bench.agent(
        lambda asked: "zebra" if came_back(asked) else call, permissions=PermissionMode.ALL
    )

    await bench.turn(agent, watch)

    (ask,) = watch.asks
    offered = (
        Option(label="Left", text="the left one"),
        Option(label="Right", text="the right one"),
    )
    question = Question(text="Which zebra?", options=offered)
    assert ask == Ask(id=ask.id, kind="question", text=question.text, questions=(question,))
    assert r"\"Which zebra?\"=\"Right\"" in came_back(bench.server.requests[-1])[-1]
    assert [item.kind for item in watch.items] == ["question", "message"]


async def test_f5_a_question_that_nobody_answers_is_told_so(bench):
    """K18: if nobody is there, the request is denied, and the agent is told."""
    call = Say(calls=(Call(name="AskUserQuestion", arguments=QUESTION),))
    agent = await bench.agent(lambda asked: "zebra" if came_back(asked) else call)

    result = await bench.turn(agent, RecordingWatch(message="Nobody is there."))

    assert result.text == "zebra"
    assert f"Denied. Nobody is there. {NO_ANSWER}" in came_back(bench.server.requests[-1])[-1]


async def test_f5_what_is_denied_is_denied_with_the_persons_words(bench):
    """F5: the agent reads why, and goes on."""
    watch = RecordingWatch(message="Use the target `check` instead.")
    agent = await bench.agent(lambda asked: "zebra" if came_back(asked) else bash("make install"))

    result = await bench.turn(agent, watch)

    assert result.text == "zebra"
    told = came_back(bench.server.requests[-1])[-1]
    assert f"Denied. Use the target `check` instead. {DENIED_ADVICE}" in told


async def test_f5_two_things_are_asked_at_once(bench):
    """K10, K18: a second ask doesn't wait for the first; shell syntax has no argv."""
    both = Say(calls=(bash("make one").calls[0], bash("make two; rm -rf ~").calls[0]))
    watch = RecordingWatch(allows=False)
    agent = await bench.agent(lambda asked: "zebra" if came_back(asked) else both)

    result = await bench.turn(agent, watch)

    one, two = sorted(watch.asks, key=lambda ask: ask.text)
    assert result.text == "zebra"
    assert one == Ask(id=one.id, argv=("make", "one"), text="make one")
    assert two == Ask(id=two.id, argv=(), text="make two; rm -rf ~")
    assert one.id != two.id


async def test_k10_what_it_did_is_kept_in_order(bench):
    """K10: finished items: messages, commands with the end of their output, files."""
    watch = RecordingWatch(allows=True)
    agent = await bench.agent([bash("echo giraffe"), write(), "zebra"])

    await bench.turn(agent, watch)

    assert watch.items == [
        Item(kind="message", text="begun"),
        Item(kind="command", text="echo giraffe\ngiraffe"),
        Item(kind="file", text="/project/made.txt"),
        Item(kind="message", text="zebra"),
    ]
    assert [ask.kind for ask in watch.asks] == ["edit"]


async def test_k10_a_reply_has_the_shape_it_was_asked_for(bench):
    """K10: the text is the JSON; its message is shown live, also in a room."""
    watch = RecordingWatch()
    reply = Call(name="StructuredOutput", arguments={"message": "a zebra"})
    talk = StructuredPrompt(system="be brief", parts=(part("hello"),), reply_schema=SCHEMA)
    agent = await bench.agent([Say(calls=(reply,))])

    result = await bench.turn(agent, watch, prompt=prompt_from(talk), place=None)

    assert isinstance(result, TurnDone), result
    assert json.loads(result.text) == {"message": "a zebra"}
    assert "".join(live.text for live in watch.lives) == "a zebra"
    assert watch.items == []


async def test_f4_a_compaction_is_counted_as_one(bench):
    """F4: Full Auto pauses an agent whose conversation is compacted again and again."""
    watch = RecordingWatch()
    full = Say(text="full", input=990_000, output=20)
    agent = await bench.agent(
        lambda asked: (
            "<summary>All is well.</summary>"
            if "summary" in asked.user[-20_000:]
            else full
            if replies(asked) == 0
            else "zebra"
        )
    )

    first = await bench.turn(agent)
    await bench.turn(agent, watch, thread=first.thread)

    assert [item.kind for item in watch.items].count("compaction") == 1


async def test_p10_claude_code_compacts_its_conversation_and_tells_both_sizes(bench):
    """P10: the conversation goes on, with its own summary in place of what was said."""
    watch = RecordingWatch()
    zebra = Say(text="zebra", input=50_000, output=20)
    agent = await bench.agent(
        lambda asked: (
            "<summary>There was a horse.</summary>" if "summary" in asked.user[-20_000:] else zebra
        )
    )

    first = await bench.turn(agent)
    compacted = await bench.turn(agent, watch, thread=first.thread, compacts=True)
    again = await bench.turn(agent, thread=first.thread)

    assert first.context == 50_020
    assert 0 < compacted.context < first.context
    assert first.thread == compacted.thread == again.thread
    assert [item.kind for item in watch.items] == ["compaction"]
    assert "There was a horse." in str(bench.server.requests[-1].body["messages"])


async def test_p10_a_slash_command_in_a_prompt_stays_a_prompt(bench):
    """P10: only Allstop itself compacts; a person's words never do."""
    watch = RecordingWatch()
    agent = await bench.agent(["zebra", "zebra"])
    first = await bench.turn(agent)

    second = await bench.turn(agent, watch, "/compact", thread=first.thread)

    assert second.text == "zebra"
    assert [item.kind for item in watch.items] == ["message"]
