"""M1.2 §10: Autopilot runs until somebody says Allstop. R7, R8, R9, R12, R13, R21."""

import anyio
import pytest

from allstop.app.rooms import threads
from allstop.testing.model_server import Fault, Say, envelope
from allstop.views.rooms import NOTHING_TO_STOP, EventType
from support.person import wait_for
from support.room_models import (
    AUTOPILOT,
    BEGUN,
    LATE,
    STOPPED,
    endless,
    in_files,
    taking_turns,
    to,
    until,
)

BAKERY = (
    "Brainstorm features for a cozy bakery website; keep alternating improvements indefinitely."
)


def improvements(it):
    """Each improves what the other said last, and says nothing new without having seen it."""
    assert it.goal == BAKERY
    before = [item for item in it.items if not item.startswith("router")]
    if it.round > 1 and not before[-1].startswith(f"{it.other}: Improvement {it.round - 1}"):
        return envelope("Improvement of what?")
    return envelope(f"Improvement {it.round}", **to(it.other, f"Improve number {it.round}."))


async def test_m1_2_a_autopilot_runs_past_former_bounds(room):
    """M1.2 §10 A: more than 10 turns without stopping; max_rounds is null in every event."""
    async with room(improvements) as sits:
        await sits.begin(BAKERY, AUTOPILOT)
        await sits.until_turns(14)
        running = await sits.record()
        await threads.stop(sits.project, "default")
        await sits.rest()

    assert running.room.session is not None
    assert running.messages[:14] == [f"Improvement {number}" for number in range(1, 15)]
    assert running.speakers[:14] == ["gpt", "claude"] * 7
    assert [event.round for event in running.responses[:14]] == list(range(1, 15))
    assert {event.max_rounds for event in running.events} == {None}


def test_m1_2_a_autopilot_runs_past_former_bounds_in_the_program(person, serve):
    """M1.2 §10 A and C, R16: started and stopped by typing."""
    serve(improvements)
    talk = person.talks()
    talk.type(f"@router autopilot gpt claude: {BAKERY}")
    talk.shows("Improvement 12")

    talk.type("Allstop")

    talk.shows(STOPPED)
    assert "Improvement of what?" not in talk.ends(130)


@pytest.mark.parametrize("silent", ["gpt", "claude"])
async def test_m1_2_b_handoff_and_alternation(room, silent):
    """M1.2 §10 B: without a handoff, the other agent is next."""

    def answer(it):
        assert f"Round: {it.round} (Autopilot)" in it.notes
        return envelope(f"number {it.round}", **({} if it.me == silent else to(it.other, "You.")))

    async with room(answer) as sits:
        await sits.begin("Talk.", AUTOPILOT)
        await sits.until_turns(6)
        record = await sits.record()
        last = sits.server.requests[5]
        await threads.stop(sits.project, "default")
        await sits.rest()

    assert record.speakers[:6] == ["gpt", "claude"] * 3
    tasks = [block for block in last.blocks if block.startswith("router → ")]
    assert set(tasks) == {f"router → {silent}: You."}


HANGS = {
    "before the headers": Say(text=envelope(LATE), delay_s=60),
    "after the headers": Fault.SILENCE,
    "in the middle of its words": endless(),
}


async def stopped_while_it_hangs(room, answer, stop, thread="default"):
    """Everything there is to know about a stop in the second turn, which never ends."""

    def answers(it):
        return answer if it.items else envelope("first", **to(it.other))

    async with room(answers, thread=thread) as sits:
        await sits.begin("Talk.", AUTOPILOT)
        await until(lambda: len(sits.server.requests) == 2, "the second call")
        if isinstance(answer, Say) and answer.pause_s:
            await sits.until_live(BEGUN)
        heard = await stop(sits)
        record = await sits.record()
        with anyio.fail_after(60):
            await sits.rest()
            await sits.server.left.wait()
        after = await sits.record()

    assert heard.stopped
    assert record.ending == "stopped_by_user"
    assert record.told("ended") == [STOPPED]
    assert after.messages == ["first"]
    assert LATE not in after.told_all
    assert in_files(sits.project.folder, LATE) == []
    assert not any(BEGUN in part.text for part in after.room.talk.parts)
    assert [event.type for event in after.events if BEGUN in event.text] == (
        [EventType.SYSTEM] if isinstance(answer, Say) and answer.pause_s else []
    )
    assert sits.server.disconnects == 1
    assert len(sits.server.requests) == 2
    return [(event.type, event.sender, event.target, event.kind) for event in after.events]


@pytest.mark.parametrize(
    "word", ["Allstop", "allstop", "ALLSTOP", "all stop", "All-Stop", " ALL  STOP! ", "aLL_sTOP."]
)
async def test_m1_2_c_allstop_command_typed(room, word):
    """M1.2 §10 C; R7, R8: within 1 s; the reply in flight is cut, and nothing of it is kept."""
    await stopped_while_it_hangs(room, endless(), lambda sits: sits.type(word))


@pytest.mark.parametrize("answer", HANGS.values(), ids=list(HANGS))
async def test_m1_2_c_allstop_wherever_the_call_is(room, answer):
    """M1.2 §10 C, R8."""
    await stopped_while_it_hangs(room, answer, lambda sits: sits.type("Allstop"))


@pytest.mark.parametrize("word", ["Allstop", "all-stop", "ALL STOP!"])
def test_m1_2_c_allstop_command_typed_in_the_program(person, serve, word):
    """M1.2 §10 C: the process itself says so and ends with exit code 130."""
    server = serve(lambda it: endless() if it.items else envelope("first", **to(it.other)))
    talk = person.talks("--mode", "autopilot", "Talk.")
    talk.shows("gpt: first")
    wait_for(lambda: len(server.requests) == 2, "the second call")

    talk.type(word)

    talk.shows(STOPPED)
    shown = talk.ends(130)
    assert server.disconnects == 1
    for told in (shown, person.log()):
        assert LATE not in told
        assert told.count(BEGUN) == told.count("claude was cut off. Its unfinished text")
        assert "Session summary: stopped_by_user · 1 turn" in told
    assert in_files(person.repository / ".allstop", LATE) == []


async def test_m1_2_d_allstop_button(room):
    """M1.2 §10 D: what the button does is the same as the typed word, event by event."""

    def button(sits):
        return threads.stop(sits.project, sits.thread)

    typed = await stopped_while_it_hangs(room, endless(), lambda sits: sits.type("Allstop"))
    clicked = await stopped_while_it_hangs(room, endless(), button, thread="other")

    assert clicked == typed


async def test_m1_2_e_final_ignored_by_default(room):
    """M1.2 §10 E; R13: it goes on, follows the handoff, and suggests that one may stop."""

    def answer(it):
        return envelope(f"number {it.round}", final=True, **to(it.other))

    async with room(answer) as sits:
        await sits.begin("Talk.", AUTOPILOT)
        await sits.until_turns(4)
        record = await sits.record()
        await threads.stop(sits.project, "default")
        await sits.rest()
        after = await sits.record()

    assert record.room.session is not None
    assert record.speakers[:4] == ["gpt", "claude"] * 2
    assert set(record.told("suggestion")) == {
        "Agent suggests finish — press ALLSTOP to end or let them continue."
    }
    assert len(record.told("suggestion")) == len(record.responses)
    assert "agent suggested finish" in after.told("summary")[0]


async def test_m1_2_e_respect_final_ends_it(room):
    """M1.2 §2.2: where the setting is on."""
    async with room(
        lambda it: envelope("done", final=True), "[room]\nrespect_final = true\n"
    ) as sits:
        record = await sits.hold("Talk.", AUTOPILOT)

    assert record.speakers == ["gpt"]
    assert record.ending == "final"
    assert record.told("suggestion") == []


async def test_m1_2_f_emergency_cutoff(room):
    """M1.2 §10 F; R12: max_turns_emergency = 3 by that name; the notice names the guard."""
    async with room(taking_turns, "[room]\nmax_turns_emergency = 3\n") as sits:
        record = await sits.hold("Talk.", AUTOPILOT)
        asked = len(sits.server.requests)

    assert len(record.responses) == asked == 3
    assert record.ending == "emergency_cap"
    assert record.told("ended") == ["Collaboration stopped: emergency cap (room.max_turns = 3)."]


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("max_tokens_emergency = 300", "room.max_tokens = 300"),
        ("max_elapsed_minutes = 0.005", "room.max_minutes = 0.005"),
    ],
)
async def test_m1_2_f_the_other_guards(room, guard, words):
    """M1.2 §6; R12: tokens as they were reported; time also in the middle of a call."""

    def answer(it):
        return endless() if "minutes" in guard else taking_turns(it)

    async with room(answer, f"[room]\n{guard}\n") as sits:
        record = await sits.hold("Talk.", AUTOPILOT)

    assert record.ending == "emergency_cap"
    assert record.told("ended") == [f"Collaboration stopped: emergency cap ({words})."]
    assert len(record.responses) == (0 if "minutes" in guard else 3)
    assert LATE not in record.told_all


def test_m1_2_f_emergency_cutoff_in_the_program(person, serve):
    """M1.2 §10 F: exit code 4."""
    serve(taking_turns, "[room]\nmax_turns_emergency = 3\n")
    talk = person.talks("--mode", "autopilot", "Talk.")

    shown = talk.ends(4)

    assert "gpt says number 3" in shown
    assert "emergency cap (room.max_turns = 3)" in shown


@pytest.mark.parametrize("word", ["Allstop", "ALL STOP"])
async def test_m1_2_g_no_active_session(room, word):
    """M1.2 §10 G; R9: no crash, no notice of a stop; the log says no-op. Before, and after one."""
    async with room(lambda it: envelope("done", final=True)) as sits:
        before = await sits.type(word)
        nothing = await sits.record()
        await sits.hold("Talk.")
        after = await sits.type(word)
        record = await sits.record()
        again = await sits.hold("Talk again.")

    assert not before.stopped
    assert not after.stopped
    assert [event.text for event in nothing.events] == [NOTHING_TO_STOP]
    assert "no-op" in NOTHING_TO_STOP
    assert record.events[-1].text == NOTHING_TO_STOP
    assert record.events[-1].type is EventType.SYSTEM
    assert record.ending == "final"
    assert STOPPED not in record.told_all
    assert len(again.responses) == 2


def test_m1_2_g_no_active_session_in_the_program(person, serve):
    """M1.2 §10 G: typed where nobody speaks; it goes on, and the log says no-op."""
    server = serve(taking_turns)
    talk = person.talks()
    talk.type("Allstop")
    talk.notes("nothing to stop")

    talk.ends(0)

    assert "no-op" in person.log()
    assert server.requests == []
