"""F1, K9, K10: the items and cost of a turn of the real codex."""

import json
import uuid
from pathlib import Path

from msgspec.structs import replace

from adapters.agents.codex.launch_codex import KEY, outputs, patch, run
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.core.moves import Item, TurnDone, Usage
from allstop.core.prompt import Part, StructuredPrompt, prompt, prompt_from
from allstop.ports import Isolation, Turn
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Call, Say

PLAN = [{"step": "look", "status": "completed"}, {"step": "write", "status": "in_progress"}]


async def test_f1_all_it_does_is_told_once_it_is_done(stage, place):
    """F1: plan, commands, files, messages and the diff are items of the record."""
    agent = await stage.agent_that(
        Say(calls=(Call(name="update_plan", arguments={"plan": PLAN}),)),
        run("echo hello"),
        patch("a.txt"),
        "finished",
    )
    watch = RecordingWatch()

    result = await agent.take_turn(turn(place), watch)

    assert isinstance(result, TurnDone), result
    assert watch.items[:-1] == [
        Item(kind="plan", text="[x] look\n[>] write"),
        Item(kind="command", text="$ echo hello\nhello\n[exit 0]"),
        Item(kind="file", text="/project/a.txt\nnew\n[completed]"),
        Item(kind="message", text="finished"),
    ]
    assert watch.items[-1].kind == "diff"
    assert "+new" in watch.items[-1].text


async def test_k10_the_conversation_has_its_name_before_anything_is_said(stage, place):
    """K10, F1: a crash right after that can be resumed."""
    server = await stage.model(["zebra"])
    asked_before = []

    class Early(RecordingWatch):
        async def opened(self, thread):
            asked_before.append(len(server.requests))
            await super().opened(thread)

    watch = Early()
    result = await stage.agent(server).take_turn(turn(place), watch)

    assert asked_before == [0]
    assert watch.threads == [result.thread]


async def test_k10_usage_is_of_this_turn_over_all_calls_of_the_model(stage, place):
    """K10, K7: several calls are summed, without the conversation's earlier usage."""
    agent = await stage.agent_that(
        Say(calls=run("true").calls, input=100, cached=10, output=5),
        Say(calls=run("true").calls, input=200, cached=100, output=7),
        Say(text="x", input=300, cached=200, output=11),
        Say(text="y", input=400, cached=300, output=13),
    )

    first = await agent.take_turn(turn(place), RecordingWatch())
    second = await agent.take_turn(turn(place, thread=first.thread), RecordingWatch())

    assert first.usage == Usage(input=600, cached=310, output=23, model="gpt-5.5")
    assert second.usage == Usage(input=400, cached=300, output=13, model="gpt-5.5")


async def test_f1_a_compaction_is_told_and_nothing_is_counted_twice(stage, place):
    """F1, K10: codex repeats its numbers around a compaction."""
    agent = await stage.agent_that(
        Say(text="full", input=250_000, output=1),
        Say(text="a summary", input=100, output=2),
        Say(text="done", input=50, output=3),
    )
    watch = RecordingWatch()

    first = await agent.take_turn(turn(place), RecordingWatch())
    second = await agent.take_turn(turn(place, thread=first.thread), watch)

    assert first.usage == Usage(input=250_000, output=1, model="gpt-5.5")
    assert second.usage == Usage(input=150, output=5, model="gpt-5.5")
    assert [item.kind for item in watch.items] == ["compaction", "note", "message"]


async def test_p10_codex_compacts_its_conversation_and_tells_both_sizes(stage, place):
    """P10: the conversation goes on, with codex's own summary in place of what was said."""
    server = await stage.model(
        [
            Say(text="a zebra", input=50_000, output=20),
            Say(text="There was a horse.", input=50_100, output=5),
            Say(text="done", input=50, output=3),
        ]
    )
    agent, watch = stage.agent(server), RecordingWatch()
    first = await agent.take_turn(turn(place), RecordingWatch())
    asked = turn(place, thread=first.thread)

    compacted = await agent.take_turn(replace(asked, compacts=True), watch)
    again = await agent.take_turn(asked, RecordingWatch())

    assert isinstance(compacted, TurnDone), compacted
    assert first.context == 50_020
    assert 0 < compacted.context < first.context
    assert compacted.usage == Usage(input=50_100, output=5, model="gpt-5.5")
    assert first.thread == compacted.thread == again.thread
    assert [item.kind for item in watch.items] == ["compaction", "note"]
    assert "There was a horse." in str(server.requests[-1].body["input"])


async def test_k10_how_much_of_a_limit_is_used_is_shown_as_it_is_told(stage, place):
    """K10: as the provider reports it with a reply."""
    headers = {
        "x-codex-primary-used-percent": "40",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": "1900000000",
    }
    agent, watch = await stage.agent_that(Say(text="zebra", headers=headers)), RecordingWatch()

    await agent.take_turn(turn(place), watch)

    limits = {live.text for live in watch.lives if live.kind == "limit"}
    assert limits == {"40 % of 300 minutes used"}


async def test_k10_a_reply_can_be_given_a_shape(stage, place):
    """K10: the reply's schema reaches the model."""
    schema = {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
        "additionalProperties": False,
    }
    server = await stage.model(['{"message": "zebra"}'])
    talk = StructuredPrompt(system="Be brief.", parts=(Part(text="Hello?"),), reply_schema=schema)
    asked = Turn(run="room", prompt=prompt_from(talk))

    result = await stage.agent(server).take_turn(asked, RecordingWatch())

    assert json.loads(result.text) == {"message": "zebra"}
    assert server.requests[0].body["text"]["format"]["schema"] == schema
    assert server.requests[0].blocks[-1] == "Be brief.\n\nHello?"


async def test_k10_a_copy_of_a_conversation_leaves_it_as_it_was(stage, place):
    """K10: fork."""
    server = await stage.model(
        lambda asked: f"after {[b for b in asked.blocks if b.startswith('say')]}"
    )
    agent = stage.agent(server)
    first = await agent.take_turn(turn(place, "say one"), RecordingWatch())
    watch = RecordingWatch()

    copy = await agent.take_turn(
        Turn(run="x", prompt=prompt("say two"), place=place, thread=first.thread, fork=True), watch
    )
    original = await agent.take_turn(turn(place, "say three", first.thread), RecordingWatch())

    assert copy.text == "after ['say one', 'say two']"
    assert original.text == "after ['say one', 'say three']"
    assert watch.threads == [copy.thread] != [first.thread]


async def test_k11_the_environment_is_a_list_and_commands_never_see_the_key(
    stage, place, monkeypatch
):
    """K11: a clean environment, its own home; the key reaches codex and nothing below it."""
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "hush")
    monkeypatch.setenv("CODEX_HOME", "/root/.codex")
    server = await stage.model(lambda asked: (outputs(asked) or [run("env; ls -d ~/.codex")])[-1])

    result = await stage.agent(server).take_turn(turn(place), RecordingWatch())

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "hush" not in result.text
    assert KEY not in result.text
    assert "HOME=/home/agent" in result.text
    assert "/home/agent/.codex" in result.text
    assert "/root/.codex" not in result.text


async def test_k14_the_box_is_the_sandbox(stage, place):
    """K14: it can write its workspace and see nothing else, without codex's own sandbox."""
    command = "touch /project/here; touch /usr/there; echo $TMPDIR"
    server = await stage.model(lambda asked: (outputs(asked) or [run(command)])[-1])

    result = await stage.agent(server).take_turn(turn(place), RecordingWatch())

    assert "/usr/there" in result.text
    assert "Read-only" in result.text
    assert "/tmp" in result.text


async def test_k14_without_a_box_codex_has_its_own_sandbox(host, stage, place, tmp_path):
    """K14: its home is outside the temporary folder, because codex refuses one there."""
    how = Isolation(boxed=False, allowed=True, how="somebody said that it is fine")
    stage.launcher = ProcessLauncher(
        isolation=how, start=unboxed(host, how), live_dir=tmp_path / "live"
    )
    outside = Path("/var/tmp", f"allstop-{uuid.uuid4().hex}")
    command = f"echo new >made.txt; echo new >{outside}"
    server = await stage.model(lambda asked: (outputs(asked) or [run(command)])[-1])

    result = await stage.agent(server).take_turn(turn(place), RecordingWatch())

    assert isinstance(result, TurnDone), result
    assert "Read-only file system" in result.text
    assert (tmp_path / "work" / "made.txt").read_text() == "new\n"
    assert not outside.exists()
