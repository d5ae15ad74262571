"""F1, F9: codex's own review."""

import json
from pathlib import Path

import anyio
import pytest

from adapters.agents.codex.launch_codex import run, until
from allstop.adapters.agents.codex.review_usage import FRONT_CHARS, ReviewUsage
from allstop.core.context_window import CHARS_PER_TOKEN, estimate
from allstop.core.moves import Item, TurnDone
from allstop.core.prompt import prompt
from allstop.core.signals import Signal, read_signal
from allstop.ports import Turn
from allstop.testing.agent_contract import RecordingWatch, turn

ASKED = "Look at all since abc."
FOUND = {
    "findings": [
        {
            "title": "[P1] It never ends",
            "body": "The loop has no exit.",
            "confidence_score": 0.9,
            "priority": 1,
            "code_location": {
                "absolute_file_path": "/project/a.py",
                "line_range": {"start": 1, "end": 2},
            },
        }
    ],
    "overall_correctness": "patch is incorrect",
    "overall_explanation": "It hangs.",
    "overall_confidence_score": 0.9,
}


def review(place, thread):
    words = prompt("Look at your work.", review=ASKED)
    return Turn(run="r", prompt=words, place=place, thread=thread)


def told(asked):
    return json.dumps(asked.body["input"])


async def test_f1_f9_what_a_review_finds_is_said_in_the_conversation(stage, place):
    """F1, F9: review/start; the reviewer has a fresh context, and the agent gets the findings."""
    server = await stage.model(["made it", run("echo hello"), json.dumps(FOUND), "mended"])
    agent = stage.agent(server)
    made = await agent.take_turn(turn(place, "make it"), RecordingWatch())
    watch = RecordingWatch()

    found = await agent.take_turn(review(place, made.thread), watch)
    after = await agent.take_turn(turn(place, "go on", thread=made.thread), RecordingWatch())

    assert agent.abilities.review
    assert isinstance(found, TurnDone), found
    assert "It never ends — /project/a.py:1-2" in found.text
    assert [item.kind for item in watch.items] == ["command", "review", "message"]
    assert ASKED in told(server.requests[1])
    assert "made it" not in told(server.requests[1])
    assert after.text == "mended"
    assert "The loop has no exit." in told(server.requests[3])


async def test_na11_f9_a_review_that_found_nothing_ends_with_its_signal(stage, place):
    """F9: codex shows the explanation, and findings only below it."""
    end = "\n<promise>COMPLETE</promise>"
    nothing = {**FOUND, "findings": [], "overall_explanation": f"All is well.{end}"}
    something = {**FOUND, "overall_explanation": f"It hangs.{end}"}
    server = await stage.model(["made it", json.dumps(nothing), json.dumps(something)])
    agent = stage.agent(server)
    made = await agent.take_turn(turn(place), RecordingWatch())

    clean = await agent.take_turn(review(place, made.thread), RecordingWatch())
    flawed = await agent.take_turn(review(place, made.thread), RecordingWatch())

    assert read_signal(clean.text).signal is Signal.COMPLETE
    assert read_signal(flawed.text).signal is Signal.NONE


async def test_k5_a_review_is_charged_by_estimate(stage, place):
    """K5, F9: codex doesn't report a review's usage; it must not be free."""
    server = await stage.model(["made it", run("seq 2000"), "Nothing to say."])
    agent = stage.agent(server)
    made = await agent.take_turn(turn(place), RecordingWatch())

    found = await agent.take_turn(review(place, made.thread), RecordingWatch())

    sent = sum(len(json.dumps(asked.body)) for asked in server.requests[1:])
    assert estimate(sent, CHARS_PER_TOKEN) * 0.5 < found.usage.input
    assert found.usage.input < estimate(sent, CHARS_PER_TOKEN) * 2
    assert found.usage.output > 0


async def test_k2_a_review_can_be_stopped(stage, place):
    server = await stage.model(
        ["made it", run("while :; do echo beat >>beat.txt; sleep 0.01; done")]
    )
    agent = stage.agent(server)
    made = await agent.take_turn(turn(place), RecordingWatch())
    watch = RecordingWatch()
    async with anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, review(place, made.thread), watch)
        await until(lambda: any(live.kind == "status" for live in watch.lives))
        group.cancel_scope.cancel()

    size = beats(place)
    await anyio.sleep(0.3)
    assert beats(place) == size


def beats(place):
    beat = Path(place.workspace) / "beat.txt"
    return beat.stat().st_size if beat.exists() else 0


async def test_f9_without_a_workspace_the_words_are_taken(stage):
    server = await stage.model(["made it", "looked at it"])
    agent = stage.agent(server)
    made = await agent.take_turn(turn(None), RecordingWatch())

    found = await agent.take_turn(review(None, made.thread), RecordingWatch())

    assert found.text == "looked at it"
    assert "Look at your work." in told(server.requests[1])


@pytest.mark.parametrize(("kind", "grows"), [("command", True), ("message", False)])
def test_k5_every_call_sends_all_that_came_before(kind, grows):
    usage = ReviewUsage("x" * 1000)
    before = usage.counts
    usage.add(Item(kind=kind, text="y" * 4000))

    assert before.input == estimate(FRONT_CHARS + 1000, CHARS_PER_TOKEN)
    assert (usage.counts.input > 2 * before.input) is grows
    assert (usage.counts.output > 0) is not grows
