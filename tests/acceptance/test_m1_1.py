"""M1.1 §8 and §11: two agents collaborate in bounded rounds. R1, R2, R4, R14, R16, R21."""

import anyio
import pytest

from allstop.app.rooms import threads
from allstop.testing.model_server import envelope, model_server
from allstop.views.rooms import EventType
from support.room_models import (
    BEGUN,
    CANCELED,
    COLLABORATE,
    LATE,
    endless,
    models,
    room_thread,
    taking_turns,
    to,
)

FAIRY_TALE = (
    "Write a 2‑paragraph fairy tale—Claude drafts, GPT edits, alternate until done (≤4 rounds)."  # noqa: RUF001
)
HIKING = (
    "Collaborate to outline and refine a 5‑step plan for a weekend hiking trip. Keep it concise."  # noqa: RUF001
)
SUMMARIZE = "Summarize this in 1 sentence, then stop."

FIRST = "Once upon a time there was a fox."
SECOND = "And the fox lived happily ever after."
WHICH = "Which story?"


def fairy_tale(it):
    """Claude can draft from the goal alone; everything else needs what the other has said."""
    assert it.goal == FAIRY_TALE
    drafts, edits = it.said("claude"), it.said("gpt")
    tasks = it.said(f"router → {it.me}")
    if it.me == "claude" and not it.items:
        return envelope(FIRST, **to("gpt", "Edit paragraph 1, then request the next."))
    if it.me == "gpt" and drafts == [FIRST] and "Edit paragraph 1" in tasks[-1]:
        return envelope(f"[edited] {drafts[0]}", **to("claude", "Finalize with paragraph 2."))
    if it.me == "claude" and edits == [f"[edited] {FIRST}"] and "paragraph 2" in tasks[-1]:
        return envelope(f"{edits[0]}\n\n{SECOND}", **to("gpt", "Check it and finish."))
    if it.me == "gpt" and len(drafts) == 2 and SECOND in drafts[1] and edits[0] in drafts[1]:
        return envelope("Both paragraphs are fine.", final=True)
    return envelope(WHICH, final=True)


def assert_fairy_tale(record):
    assert record.speakers == ["claude", "gpt", "claude", "gpt"]
    assert record.messages == [
        FIRST,
        f"[edited] {FIRST}",
        f"[edited] {FIRST}\n\n{SECOND}",
        "Both paragraphs are fine.",
    ]
    assert record.ending == "final"


async def test_m1_1_a_context_sharing_works(room):
    """M1.1 §8 A; R4, R5: everybody sees what was said before. No "Which story?"."""
    async with room(fairy_tale) as sits:
        record = await sits.hold(FAIRY_TALE, first="claude", max_rounds=4)

    assert_fairy_tale(record)
    assert [event.round for event in record.responses] == [1, 2, 3, 4]
    assert {event.max_rounds for event in record.responses} == {4}


def test_m1_1_a_context_sharing_works_in_the_program(person, serve):
    """M1.1 §8 A, R16: the same, typed to the router of the real program."""
    serve(fairy_tale, "[room]\nmax_rounds = 4\n")
    talk = person.talks()

    shown = talk.ends(0, f"@router collaborate claude gpt: {FAIRY_TALE}")

    assert f"you: {FAIRY_TALE}" in shown
    assert shown.index(f"claude: {FIRST}") < shown.index("gpt: [edited]") < shown.index(SECOND)
    assert "Collaboration ended: final (gpt says it is done)." in shown
    assert WHICH not in shown


async def test_m1_1_b_bounded_rounds(room):
    """M1.1 §8 B; R21: exactly 2 turns, then cap_reached."""
    async with room(taking_turns) as sits:
        record = await sits.hold("Do it in many steps.", max_rounds=2)

    assert record.speakers == ["gpt", "claude"]
    assert record.ending == "cap_reached"
    assert record.told("ended") == ["Collaboration ended: cap reached (2 of 2 rounds)."]


def test_m1_1_b_bounded_rounds_in_the_program(person, serve):
    """M1.1 §8 B, with --max-rounds."""
    server = serve(taking_turns)
    talk = person.talks("--max-rounds", "2", "Do it in many steps.")

    shown = talk.ends(0)

    assert "gpt: gpt says number 1" in shown
    assert "claude: claude says number 2" in shown
    assert "cap reached (2 of 2 rounds)" in shown
    assert len(server.requests) == 2


@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_m1_1_c_mixed_envelope_behavior(room, first):
    """M1.1 §8 C; R1, R3: a handoff goes on, final ends at once and makes its handoff void."""

    def answer(it):
        if not it.items:
            return envelope("first", **to(it.other, "You now."))
        assert it.items[-1] == f"router → {it.me}: You now."
        return envelope("second", final=True, **to(it.other))

    async with room(answer) as sits:
        record = await sits.hold("Talk.", first=first)
        asked = len(sits.server.requests)

    assert record.messages == ["first", "second"]
    assert record.speakers[0] == first
    assert record.ending == "final"
    assert asked == 2


MALFORMED = {
    "prose": "I would rather talk than write JSON.",
    "wrong shape": '{"msg": "hello"}',
    "half a handoff": '{"message": "hello", "handoff": {"to": "claude"}}',
    "cut off": '{"message": "hello", "handoff": {"to": "claude", "task": "go',
    "two of them": '{"message": "a"}\n{"message": "b"}',
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=list(MALFORMED))
@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_m1_1_d_malformed_json_handling(room, text, first):
    """M1.1 §8 D; R2: a warning, the whole text as message, no handoff, and the session ends."""
    async with room(lambda it: text) as sits:
        record = await sits.hold("Talk.", first=first)

    assert record.messages == [text]
    assert record.speakers == [first]
    (warning,) = record.told("warning")
    assert warning.startswith(f"{first} didn't answer in the expected format")
    assert record.ending == "malformed"


@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_m1_1_e_manual_stop(room, first):
    """M1.1 §8 E; R8: the Stop button of Collaborate, in the middle of a reply."""

    def answer(it):
        return endless() if it.items else envelope("first", **to(it.other))

    async with room(answer) as sits:
        await sits.begin("Talk.", COLLABORATE, first=first)
        await sits.until_live(BEGUN)
        heard = await threads.cancel(sits.project, "default")
        record = await sits.record()
        with anyio.fail_after(1):
            await sits.rest()
            await sits.server.left.wait()
        after = await sits.record()

    assert heard.stopped
    assert record.ending == "canceled_by_user"
    assert record.told("ended") == [CANCELED]
    assert after.messages == ["first"]
    assert LATE not in after.told_all
    assert [text.count(BEGUN) for text in after.told("cut")] == [1]  # shown as cut, not posted
    assert not any(BEGUN in part.text for part in after.room.talk.parts)
    assert sits.server.disconnects == 1


# --- §11: the prompts, exactly as they are written there ---


def hiking(it):
    """One more step a turn, on top of the steps that were said before."""
    assert it.goal == HIKING
    steps = [item for who in ("gpt", "claude") for item in it.said(who)]
    if len(steps) != it.round - 1:
        return envelope("Which plan?", final=True)
    text = f"Step {len(steps) + 1}"
    return envelope(text, final=True) if len(steps) == 4 else envelope(text, **to(it.other))


async def test_m1_1_prompt_1_alternation_and_final_within_6_rounds(room):
    """M1.1 §11, 1."""
    async with room(hiking) as sits:
        record = await sits.hold(HIKING)

    assert record.speakers == ["gpt", "claude", "gpt", "claude", "gpt"]
    assert record.messages[-1] == "Step 5"
    assert record.ending == "final"
    assert {event.max_rounds for event in record.responses} == {6}


def test_m1_1_prompt_1_in_the_program(person, serve):
    """M1.1 §11, 1: as the goal of `allstop room`."""
    serve(hiking)
    talk = person.talks(HIKING)

    shown = talk.ends(0)

    assert "Step 5" in shown
    assert "Which plan?" not in shown
    assert "spoke: gpt 3, claude 2" in shown


@pytest.mark.parametrize("policy", ["elastic", "strict"])
async def test_m1_1_prompt_2_a_fairy_tale_in_turns(room, policy):
    """M1.1 §11, 2; R5: whichever way the window is kept."""
    async with room(fairy_tale, f'[room]\nwindow = "{policy}"\n') as sits:
        record = await sits.hold(FAIRY_TALE, first="claude")

    assert_fairy_tale(record)


@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_m1_1_prompt_3_final_in_the_first_reply(room, first):
    """M1.1 §11, 3."""

    def answer(it):
        assert it.goal == SUMMARIZE
        return envelope("There is nothing to summarize.", final=True)

    async with room(answer) as sits:
        record = await sits.hold(SUMMARIZE, first=first)

    assert record.speakers == [first]
    assert record.ending == "final"


def test_m1_1_prompt_3_in_the_program(person, serve):
    """M1.1 §11, 3: typed to the router."""
    serve(lambda it: envelope("One sentence.", final=True))
    talk = person.talks()

    shown = talk.ends(0, f"@router collaborate gpt claude: {SUMMARIZE}")

    assert shown.count("One sentence.") == 1
    assert "1 turn" in shown


ZEBRAS, LIONS = "Talk about zebras.", "Talk about lions."


def about_the_goal(it):
    """Each says what the goal is about, and complains if it hears of anything else."""
    subject, other = ("zebra", "lion") if it.goal == ZEBRAS else ("lion", "zebra")
    if any(other in item for item in it.items):
        return envelope(f"Why do you talk about a {other}?", final=True)
    return envelope(f"A {subject}, round {it.round}", **to(it.other, f"More of the {subject}."))


async def test_m1_1_prompt_4_two_requests_back_to_back(person):
    """M1.1 §11, 4; R14, R20: in different threads, at the same time."""
    async with model_server(models(about_the_goal)) as server:
        person.sets_up(server)
        project = person.project()
        async with room_thread(project, "one") as one, room_thread(project, "two") as two:
            await one.begin(ZEBRAS)
            await two.begin(LIONS, first="claude")
            await one.rest()
            await two.rest()
            first, second = await one.record(), await two.record()
        project.close()

    assert first.messages == [f"A zebra, round {number}" for number in range(1, 7)]
    assert second.messages == [f"A lion, round {number}" for number in range(1, 7)]
    assert (first.ending, second.ending) == ("cap_reached", "cap_reached")
    assert (first.speakers[0], second.speakers[0]) == ("gpt", "claude")
    assert first.last.session != second.last.session
    for record, thread in ((first, "one"), (second, "two")):
        assert {event.thread for event in record.events} == {thread}
        assert {event.session_id for event in record.events} == {record.last.session}


async def test_m1_1_prompt_4_one_after_the_other_in_one_thread(room):
    """M1.1 §11, 4; R14: the second does not see the first."""
    async with room(about_the_goal) as sits:
        await sits.hold(ZEBRAS, max_rounds=2)
        record = await sits.hold(LIONS, max_rounds=2)

    ids = [event.session_id for event in record.of(EventType.AGENT_RESPONSE)]
    assert len(set(ids)) == 2
    assert record.messages[2:] == ["A lion, round 1", "A lion, round 2"]
    assert [event.round for event in record.responses] == [1, 2, 1, 2]


@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_m1_1_prompt_5_malformed_json_falls_back_gracefully(room, first):
    """M1.1 §11, 5; R2: prose around one envelope is repaired, prose alone is the message."""

    def answer(it):
        inside = envelope("first", **to(it.other))
        if not it.items:
            return f"Sure! Here is my reply:\n```json\n{inside}\n```\nI hope it helps."
        return "Sorry, only prose from me."

    async with room(answer) as sits:
        record = await sits.hold("Include prose around your JSON.", first=first)

    assert record.messages == ["first", "Sorry, only prose from me."]
    repaired, malformed = record.told("warning")
    assert repaired == f"{first}'s reply was repaired: text around the JSON was left out."
    assert "expected format" in malformed
    assert record.ending == "malformed"


def test_m1_1_prompt_5_in_the_program(person, serve):
    """M1.1 §11, 5: exit code 1, and the words are shown."""
    serve(lambda it: "Only prose.")
    talk = person.talks("Force malformed JSON.")

    shown = talk.ends(1)

    assert "gpt: Only prose." in shown
    assert "gpt didn't answer in the expected format" in shown
    assert "Collaboration ended: gpt's reply has no usable handoff." in shown
