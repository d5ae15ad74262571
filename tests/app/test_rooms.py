"""Rooms as the application has them: one session a thread, what is typed, and what goes wrong."""

import re
import signal
from contextlib import asynccontextmanager

import anyio
import pytest

from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.rooms import threads
from allstop.app.rooms.driver import room_driver
from allstop.app.rooms.session_spec import SessionRequest, session_spec
from allstop.app.stop.stop import stop as stop_runs
from allstop.core.errors import AllstopError
from allstop.ports import HeldError
from allstop.testing.model_server import Fault, envelope, model_server
from allstop.views.rooms import NOTHING_TO_STOP
from support.person import wait_for
from support.room_models import (
    AUTOPILOT,
    BEGUN,
    COLLABORATE,
    LATE,
    SINGLE,
    STOPPED,
    PersonWithModels,
    endless,
    models,
    room_thread,
    says,
    taking_turns,
    to,
    until,
)

NO_RETRIES = "[retry]\nmax_retries = 0\n"
HANGS = f"{says(LATE)}, {{ hang = true }}"


@asynccontextmanager
async def at(person, thread="default"):
    """A thread of this person's, driven in this process."""
    project = person.project()
    try:
        async with room_thread(project, thread) as sits:
            yield sits
    finally:
        project.close()


@asynccontextmanager
async def with_models(person, answer, settings="", thread="default"):
    async with model_server(models(answer)) as server:
        person.sets_up(server, settings)
        async with at(person, thread) as sits:
            sits.server = server
            yield sits


def two_who_talk(person, more=""):
    person.scripts(more, gpt=[says("from gpt")], claude=[says("from claude")])


def two_who_hang(person):
    first = says("first", **to("claude"))
    person.scripts(gpt=[first], claude=[HANGS])


# --- one session a thread ---


async def test_r14_a_second_start_is_refused(person):
    """R14: with a clear error; the first goes on as if nothing had been."""
    two_who_hang(person)
    async with at(person) as sits:
        await sits.begin("First.", AUTOPILOT)
        await sits.until_turns(1)
        with pytest.raises(AllstopError) as refused:
            await sits.begin("Second.")
        with pytest.raises(AllstopError, match="a session is active"):
            await sits.type("@router autopilot gpt claude: Third.")
        record = await sits.record()

    assert refused.value.message == "a session is active in the thread 'default'"
    assert refused.value.hint == "say Allstop in it, or name another with --thread"
    assert record.room.session.spec.goal == "First."
    assert "Second." not in record.told_all


def test_r14_a_second_start_is_refused_while_another_process_drives(person):
    """R14: wherever it is tried from."""
    two_who_hang(person)
    talk = person.talks("--mode", "autopilot", "First.")
    talk.shows("gpt: first")

    said = person.refuses("room", "Second.")
    said_to_instead = person.refuses("room", "--instead", "Second.")

    async def begin_here():
        project = person.project()
        try:
            await threads.start(
                project, "default", session_spec(project, SessionRequest("Third.")), instead=True
            )
        finally:
            project.close()

    with pytest.raises(AllstopError, match="a session is active in the thread 'default'"):
        anyio.run(begin_here)

    async def drive_here():
        project = person.project()
        try:
            async with room_driver(project, "default"):
                pass
        finally:
            project.close()

    with pytest.raises(HeldError):
        anyio.run(drive_here)
    for told in (said, said_to_instead):
        assert f"process {talk.process.pid}" in told
        assert "hint: " in told
    assert talk.process.poll() is None
    assert "Second." not in person.log() + person.log()


async def test_r14_r20_threads_never_see_each_other(person):
    """R14, R20: nor does a stop in one reach the other; what a person says neither."""
    async with model_server(models(taking_turns)) as server:
        person.sets_up(server)
        project = person.project()
        async with room_thread(project, "left") as left, room_thread(project, "right") as right:
            await left.begin("Talk of LEFT things.", AUTOPILOT)
            await right.begin("Talk of RIGHT things.", AUTOPILOT)
            await left.type("a word for the left alone")
            await left.until_turns(3)
            await right.until_turns(3)
            await left.type("Allstop")
            await left.rest()
            turns = len((await right.record()).responses)
            await right.until_turns(turns + 2)
            going_on = await right.record()
            await right.type("Allstop")
            await right.rest()
            ended = await left.record()
        project.close()

    assert ended.ending == "stopped_by_user"
    assert going_on.room.session is not None
    of_left = [asked for asked in server.requests if "LEFT" in asked.blocks[0]]
    of_right = [asked for asked in server.requests if "RIGHT" in asked.blocks[0]]
    assert len(of_left) + len(of_right) == len(server.requests)
    assert any("a word for the left" in asked.user for asked in of_left)
    assert not any("left" in asked.user.lower() for asked in of_right)
    assert not any("right" in asked.user.lower() for asked in of_left)
    assert {event.session_id for event in ended.events}.isdisjoint(
        event.session_id for event in going_on.events
    )


@pytest.mark.parametrize("name", ["", "a b", "../up", "-x", "x" * 65, "a/b", "a\nb", "ä"])
async def test_r20_names_that_no_thread_can_have(person, name):
    """R20: told before anything is made."""
    two_who_talk(person)
    project = person.project()
    with pytest.raises(AllstopError, match="is no name for a thread"):
        await threads.read(project, name)
    project.close()

    assert not project.has_store


# --- what is typed ---


@pytest.mark.parametrize(
    ("text", "mode", "seats", "goal"),
    [
        ("@router collaborate gpt claude: Talk.", COLLABORATE, ["gpt", "claude"], "Talk."),
        ("@router autopilot claude gpt: Talk.", AUTOPILOT, ["claude", "gpt"], "Talk."),
        ("@ROUTER  Collaborate @claude, @gpt :  a: b ", COLLABORATE, ["claude", "gpt"], "a: b"),
        ("@router autopilot: Talk.", AUTOPILOT, ["gpt", "claude"], "Talk."),
        ("@router collaborate : Talk.", COLLABORATE, ["gpt", "claude"], "Talk."),
        ("@router collaborate gpt claude:\nline one\nline two", COLLABORATE, ["gpt", "claude"],
         "line one\nline two"),
    ],
)  # fmt: skip
async def test_r16_a_session_is_started_by_a_line_to_the_router(person, text, mode, seats, goal):
    """R16."""
    two_who_hang(person)
    async with at(person) as sits:
        heard = await sits.type(text)
        record = await sits.record()

    assert heard.began == record.room.session.spec
    spec = record.room.session.spec
    assert (spec.mode, list(spec.agents), spec.goal) == (mode, seats, goal)
    assert spec.first == seats[0]
    assert record.events[0].text == goal


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("@router", "unknown router command ''", "@router collaborate gpt claude: GOAL"),
        ("@router dance gpt claude: x", "unknown router command 'dance", "@router collaborate"),
        (
            "@router collaborate gpt claude",
            "unknown router command 'collaborate",
            "@router autopilot",
        ),
        ("@router collaborate gpt claude:  ", "the goal after the colon is missing", "GOAL"),
        ("@router collaborate gpt ghost: x", "there is no agent 'ghost'", "gpt, claude"),
        ("@router collaborate gpt gpt: x", "an agent is named twice", "gpt, gpt"),
        ("@router collaborate gpt: x", "a room needs 2 agents", "configured: gpt, claude"),
        ("hello?", "names no agent", "@gpt hello?"),
        ("   ", "the message is empty", ""),
        ("@ghost hello", "there is no 'ghost' in this room", "in it: "),
    ],
)
async def test_r16_what_the_router_does_not_understand_is_explained(person, text, problem, hint):
    """R16: and nothing begins."""
    two_who_talk(person)
    async with at(person) as sits:
        with pytest.raises(AllstopError) as refused:
            await sits.type(text)
        record = await sits.record()

    assert problem in refused.value.message
    assert hint in refused.value.hint
    assert record.events == []


WORDS = [
    "fix the asphalt texture",
    "do not stop all tests",
    "all stops must be recorded",
    "please Allstop now",
    "stop all",
    "allstop allstop",
    "Say Allstop to end.",
]


async def test_r7_a_sentence_that_merely_contains_the_word_stops_nothing(person):
    """R7, R6: it is said in the room, and that is all."""
    two_who_hang(person)
    async with at(person) as sits:
        await sits.begin("Talk.", AUTOPILOT)
        await sits.until_turns(1)
        for words in WORDS:
            heard = await sits.type(words)
            assert not heard.stopped, words
        record = await sits.record()
        stopped = await sits.type("ALL-STOP!")
        after = await sits.record()

    assert record.room.session is not None
    assert [event.text for event in record.events if event.sender == "you"][1:] == WORDS
    assert stopped.stopped
    assert after.ending == "stopped_by_user"
    assert after.told("ended") == [STOPPED]


async def test_r9_a_stop_of_nothing_is_in_the_log(person):
    """R9: in a thread that nobody has ever used, too; no notice, and no session is harmed."""
    two_who_talk(person)
    async with at(person) as sits:
        heard = await sits.type("Allstop")
        canceled = await threads.cancel(sits.project, "default")
        record = await sits.record()

    assert (heard.stopped, canceled.stopped) == (False, False)
    assert heard.note == "no session is active: nothing to stop"
    assert [event.text for event in record.events] == [NOTHING_TO_STOP]
    assert record.last is None
    assert "no-op" in person.log()


async def test_single_asks_whoever_is_named_and_follows_one_handoff(person):
    """R1: the reply is shown, one handoff is followed, then it stops."""

    def answer(it):
        return envelope(f"{it.me} here", **to(it.other))

    async with with_models(person, answer) as sits:
        await sits.type("@claude what do you think?")
        await sits.rest()
        record = await sits.record()

    assert record.speakers == ["claude", "gpt"]
    assert record.last.mode is SINGLE
    assert {event.max_rounds for event in record.responses} == {2}


# --- what a person says meanwhile ---


async def test_r6_what_is_typed_is_seen_at_the_next_turn(person):
    """R6: nothing is restarted; @name makes that agent next."""

    def answer(it):
        if it.said("you"):
            return envelope(f"heard: {it.said('you')[-1]}", final=True)
        return envelope("going on", **to(it.other))

    async with with_models(person, answer, "[room]\nrespect_final = true\n") as sits:
        await sits.begin("Talk.", AUTOPILOT)
        await sits.until_turns(2)
        await sits.type("@claude make it rhyme")
        await sits.rest()
        record = await sits.record()

    assert record.messages[-1] == "heard: @claude make it rhyme"
    assert record.speakers[-1] == "claude"
    (said,) = [event for event in record.events[1:] if event.sender == "you"]
    assert (said.target, said.session_id) == ("claude", record.last.session)


# --- after a kill ---


def killed_in_the_second_turn(person):
    two_who_hang(person)
    talk = person.talks("--mode", "autopilot", "Talk.")
    talk.shows("gpt: first")
    wait_for(lambda: "claude takes a turn" in person.allstop("status"), "the second turn")
    talk.process.send_signal(signal.SIGKILL)
    talk.process.wait(60)


def test_r18_a_killed_session_is_interrupted_and_goes_on_at_its_turn(person):
    """R18: status says so, a plain start is refused with the hint, --resume goes on."""
    killed_in_the_second_turn(person)

    assert person.runs() == {"room:default": "interrupted"}
    assert "allstop room --resume" in person.allstop("status")
    said = person.refuses("room", "Another.")
    assert "a session in the thread 'default' was interrupted at turn 2" in said
    assert "--resume continues it" in said

    person.scripts(gpt=[says("no!")], claude=[says("second", final=True)])
    talk = person.talks("--resume", "--json")
    talk.ends(130, "Allstop")

    answers = [event for event in talk.events if event["type"] == "agent_response"]
    assert [(e["sender"], e["text"], e["round"]) for e in answers][:1] == [("claude", "second", 2)]
    assert LATE not in person.log()


def test_r18_history_is_there_after_a_kill_and_another_session_can_begin_instead(person):
    """R18, R21: the interrupted one ends as such."""
    killed_in_the_second_turn(person)
    person.scripts(gpt=[says("anew", final=True)], claude=[says("no!")])

    talk = person.talks("--instead", "Another.")
    talk.ends(0)

    log = person.log()
    assert "gpt: first" in log
    assert "Session summary: interrupted · 1 turn" in log
    assert "Collaboration ended: it was interrupted, and another session began." in log
    assert log.index("interrupted") < log.index("gpt: anew")
    assert LATE not in log


def test_r18_allstop_resume_goes_on_with_a_room_too(person):
    """R18: `allstop resume room:default`, as status says of any run."""
    killed_in_the_second_turn(person)
    person.scripts(gpt=[says("no!")], claude=[says("second")])

    said = person.refuses("resume", "room:default")

    assert "allstop room --resume" in said


def test_r18_there_is_nothing_to_resume(person):
    """R18."""
    two_who_talk(person)

    said = person.refuses("room", "--resume")

    assert "the thread 'default' has no open session" in said
    assert "`allstop room GOAL` starts one" in said


# --- everything stops ---


def test_r8_a_stop_of_everything_ends_the_session(person):
    """R8: with its notice; a new one can begin after Resume, and the old one does not come back."""
    two_who_hang(person)
    talk = person.talks("--mode", "autopilot", "Talk.")
    talk.shows("gpt: first")
    wait_for(lambda: "claude takes a turn" in person.allstop("status"), "the second turn")

    stopped = person.json("stop")

    shown = talk.ends(130)
    assert stopped["silent"] == []
    assert stopped["receipt"]["discarded"] == ["room:default: claude takes a turn"]
    assert shown.count(STOPPED) == 1
    assert "Session summary: stopped_by_user · 1 turn" in shown
    assert f"claude: {LATE}" not in person.log()
    assert "Allstop is in force" in person.refuses("room", "Another.")
    assert "no open session" in person.refuses("room", "--resume")
    person.allstop("resume")
    person.scripts(gpt=[says("anew", final=True)], claude=[says("no!")])
    assert "gpt: anew" in person.talks("Another.").ends(0)
    assert person.log().count(STOPPED) == 1


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_r8_a_stop_of_everything_ends_a_session_whose_process_hangs_or_is_dead(person, number):
    """R8, K3: as if it had heard it; it is not interrupted, and does not come back."""
    two_who_hang(person)
    talk = person.talks("--mode", "autopilot", "Talk.")
    talk.shows("gpt: first")
    wait_for(lambda: "claude takes a turn" in person.allstop("status"), "the second turn")
    talk.process.send_signal(number)

    person.allstop("stop")

    assert person.log().count(STOPPED) == 1
    assert "Session summary: stopped_by_user" in person.log()
    person.allstop("resume")
    assert person.runs() == {"room:default": "idle"}
    assert "has no open session" in person.refuses("room", "--resume")
    person.scripts(gpt=[says("anew", final=True)], claude=[says("no!")])
    assert "gpt: anew" in person.talks("Another.").ends(0)


def test_r8_resume_does_not_speak_of_rooms_at_rest(person):
    """R8: `allstop resume` names what can go on; a room without a session can't."""
    two_who_talk(person)
    person.talks("Talk.").ends(0)
    person.allstop("stop")

    said = person.allstop("resume")

    assert "room:default" not in said


async def test_r8_a_stop_file_ends_the_session_too(person):
    """R8, K3."""
    async with with_models(person, lambda it: endless()) as sits:
        await sits.begin("Talk.", AUTOPILOT)
        await sits.until_live(BEGUN)
        (sits.project.folder / "STOP").touch()
        await sits.rest()
        record = await sits.record()
        with anyio.fail_after(60):
            await sits.server.left.wait()

    assert record.ending == "stopped_by_user"
    assert record.told("ended") == [STOPPED]
    assert [text.count(BEGUN) for text in record.told("cut")] == [1]
    assert record.messages == []
    assert record.last.tokens > 0, "the call that was cut is charged"
    assert not any(BEGUN in part.text for part in record.room.talk.parts)


# --- where, and with whom ---


async def test_a_room_needs_no_repository(tmp_path):
    """R18, R20: it is kept in the person's state directory; nothing is left where one was."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    person = PersonWithModels(home, elsewhere)
    async with model_server(models(lambda it: envelope("hello", final=True))) as server:
        person.sets_up(server)
        (elsewhere / "allstop.toml").unlink()
        project = person.project()
        async with room_thread(project) as sits:
            record = await sits.hold("Talk.")
        project.close()

    assert record.messages == ["hello"]
    assert list(elsewhere.iterdir()) == []
    assert project.folder.is_relative_to(home / ".local" / "state" / "allstop")
    assert person.log().count("gpt: hello") == 1
    person.close()


def test_r20_a_folder_without_git_has_settings_of_its_own(tmp_path):
    """R20: its allstop.toml applies, and its sensitive settings need trust there too."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    person = PersonWithModels(home, elsewhere)
    person.scripts(
        "[room]\nmax_rounds = 1\n", gpt=[says("hello", **to("claude"))], claude=[says("no!")]
    )
    person.write(
        "allstop.toml", (elsewhere / "allstop.toml").read_text() + "[limits]\ndisk_mb = 9\n"
    )

    said = person.allstop("room", "Talk.", "--agents", "gpt,claude")

    assert "gpt: hello" in said
    assert "(1 of 1 rounds)" in said
    person.allstop("trust", "--yes")
    project = person.project()
    assert project.is_trusted
    assert project.settings.limits.disk_mb == 9
    project.close()
    person.close()


PROGRAM = """#!/bin/sh
prompt=$(cat)
case $prompt in
*"gpt: I begin"*) echo '{"message": "the program saw it", "handoff": {"to": "old", "task": "Add."}}' ;;
*) echo '{"message": "Which story?", "final": true}' ;;
esac
"""


async def test_agents_of_any_kind_sit_in_one_room(person):
    """R1, R4: a model, a program and a script; each sees what was said before."""

    def answer(it):
        return (
            envelope("I begin", **to("mine", "You."))
            if not it.items
            else envelope("all of it: " + " | ".join(it.items), final=True)
        )

    person.program("my-agent", PROGRAM)
    said = says("the script adds", **to("gpt", "Finish."))
    person.write("old.toml", f"[[turn]]\nsteps = [{said}]\nwhen = 'the program saw it'\n")
    more = (
        '[agents.mine]\ndriver = "command"\ncommand = ["my-agent"]\n'
        '[agents.old]\ndriver = "scripted"\nscript = "old.toml"\n'
    )
    async with with_models(person, answer, more) as sits:
        record = await sits.hold("Talk.", agents=("gpt", "mine", "old"))

    assert record.speakers == ["gpt", "mine", "old", "gpt"]
    assert record.messages[-1] == (
        "all of it: gpt: I begin | router → mine: You. | mine: the program saw it"
        " | router → old: Add. | old: the script adds | router → gpt: Finish."
    )
    assert record.ending == "final"


async def test_three_agents_alternate_in_the_order_of_their_seats(person):
    """The table of modes: round robin, unless somebody hands over."""
    person.scripts(
        "[room]\nmax_turns = 7\n",
        gpt=[says("1")],
        claude=[says("2")],
        third=[says("3"), says("3", **to("claude"))],
    )
    async with at(person) as sits:
        record = await sits.hold("Talk.", AUTOPILOT, agents=("gpt", "claude", "third"))

    assert record.speakers == ["gpt", "claude", "third", "gpt", "claude", "third", "claude"]


# --- trouble ---


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"])
async def test_r17_a_missing_key_is_named_before_anything_is_written(person, variable):
    """R17, K9."""
    async with model_server(models(taking_turns)) as server:
        person.sets_up(server)
        person.keys = {name: key for name, key in person.keys.items() if name != variable}
        async with at(person) as sits:
            with pytest.raises(AgentSetupError, match=variable):
                await sits.begin("Talk.")
            read = await threads.read(sits.project, "default")

    assert not read.exists
    assert server.requests == []


def test_r17_a_missing_key_in_the_program(person):
    """R17: exit code 2 and the variable."""
    person.write(
        "allstop.toml", '[agents.gpt]\ndriver = "openai"\n[agents.claude]\ndriver = "anthropic"\n'
    )
    person.keys = {}

    said = person.refuses("room", "Talk.")

    assert "OPENAI_API_KEY" in said
    assert "there is no run" in person.refuses("log", "room:default")


def test_r17_a_limited_agent_is_waited_for_and_goes_on(person):
    """R17: visibly; the wait is no turn, and nobody has to do anything."""
    person.scripts(gpt=[says("first", **to("claude"))], claude=["{ rate_limit = 1.0 }"])
    talk = person.talks("--json", "Talk.")
    talk.shows("next attempt at")

    # it is tried every second, and may just be when somebody looks
    wait_for(lambda: "claude: rate limited" in person.allstop("status"), "the reason")
    wait_for(lambda: person.runs() == {"room:default": "waiting"}, "its state")
    wait_for(lambda: talk.out.count("next attempt at") >= 2, "the next try")
    talk.ends(130, "Allstop")
    answers = [event for event in talk.events if event["type"] == "agent_response"]
    assert [event["text"] for event in answers] == ["first"]
    calls = [event for event in talk.events if event["type"] == "agent_call"]
    assert [(event["target"], event["round"]) for event in calls][:3] == [
        ("gpt", 1),
        ("claude", 2),
        ("claude", 2),
    ]


async def test_r17_a_limit_that_is_over_is_over(person):
    """R17: the turn that was waited for is taken."""
    limited = []

    def answer(it):
        if it.me == "claude" and not limited:
            limited.append(it)
            return Fault.SERVER_ERROR
        return (
            envelope(f"{it.me} speaks", **to(it.other))
            if it.me == "gpt"
            else envelope("done", final=True)
        )

    async with with_models(person, answer) as sits:
        await sits.begin("Talk.")

        async def waits():
            return bool((await sits.record()).told("warning"))

        await until(waits, "the warning")
        await sits.type("@claude try again")
        await sits.rest()
        record = await sits.record()

    assert record.messages == ["gpt speaks", "done"]
    assert record.ending == "final"


@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_r17_a_rate_limit_of_the_provider_is_told_and_another_may_be_called(person, first):
    """R17: with the time of the next try, from the provider's own words."""

    def answer(it):
        if it.me == first:
            return Fault.RATE_LIMITED
        return envelope("I go on", final=True)

    async with with_models(person, answer, "[room]\nrespect_final = true\n") as sits:
        await sits.begin("Talk.", AUTOPILOT, first=first)
        await until(lambda: len(sits.server.requests) == 1, "the first call")

        async def waits():
            return bool((await sits.record()).told("warning"))

        await until(waits, "the warning")
        waiting = await sits.record()
        other = "claude" if first == "gpt" else "gpt"
        await sits.type(f"@{other} go on, please")
        await sits.rest()
        record = await sits.record()

    (warning,) = waiting.told("warning")
    assert re.match(rf"{first}: rate limited: .*; next attempt at \d\d:\d\d:\d\d UTC$", warning)
    assert waiting.room.session.wait_until is not None
    assert record.messages == ["I go on"]
    assert record.speakers == [other]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.CLOSED, "network: "),
        (Fault.CUT, "network: "),
        (Fault.EMPTY, "network: "),
        (Fault.BAD_REQUEST, "bad request: "),
        (Fault.UNAUTHORIZED, "auth: "),
        (Fault.NO_MODEL, "bad request: "),
        (Fault.TOO_LONG, "context: "),
        (Fault.REFUSAL, "bad request: "),
    ],
)
@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_r17_an_agent_that_fails_ends_the_session_with_its_reason(
    person, first, fault, reason
):
    """R17: without retries, or where none may help; never silently."""
    async with with_models(person, lambda it: fault, NO_RETRIES) as sits:
        record = await sits.hold("Talk.", AUTOPILOT, first=first)
        asked = len(sits.server.requests)

    assert record.ending == "agent_failed"
    assert asked == 1
    (ended,) = record.told("ended")
    assert ended.startswith(f"Collaboration stopped: {first} failed: {reason}")
    assert record.responses == []


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("[loop]\nidle_seconds = 0.1\n", "stalled: no sign of life for 0.1 s"),
        ("[loop]\ntimeout_minutes = 0.002\n", "timed out: not done after 0.12 s"),
    ],
)
@pytest.mark.parametrize("first", ["gpt", "claude"])
async def test_r17_a_call_that_takes_too_long_is_given_up(person, first, settings, reason):
    """R17: it is tried again, and the provider sees each of them go."""
    async with with_models(person, lambda it: Fault.SILENCE, settings + NO_RETRIES) as sits:
        record = await sits.hold("Talk.", AUTOPILOT, first=first)
        calls = sits.server  # a busy machine may give up a call before it is sent
        await until(lambda: calls.disconnects == len(calls.requests), "all calls to be hung up")

    assert record.told("ended") == [f"Collaboration stopped: {first} failed: {reason}."]
    assert record.ending == "agent_failed"


async def test_r14_mistakes_of_a_person_are_refused_with_a_code(person):
    two_who_talk(person)
    async with at(person) as sits:
        with pytest.raises(AllstopError) as stranger:
            await sits.type("@bob go on")
        with pytest.raises(AllstopError) as no_rounds:
            await sits.begin("Talk.", max_rounds=0)
        with pytest.raises(AllstopError) as no_room:
            await stop_runs(sits.project, "web", "room:nosuch")
        heads = await sits.project.journal.heads()

    assert (stranger.value.code, no_rounds.value.code) == ("agent_not_in_room", "too_few_rounds")
    assert stranger.value.message == "there is no 'bob' in this room"
    assert no_room.value.message == "there is no run 'room:nosuch'"
    assert list(heads) == []


async def test_an_untrusted_address_of_the_repository_is_refused_before_a_call(person):
    """Also where the address is local; it is no reason to call the vendor instead."""
    async with model_server(models(lambda it: envelope("hello", final=True))) as server:
        agent = f'[agents.gpt]\ndriver = "openai"\nbase_url = "{server.openai_url}"\n'
        person.write("allstop.toml", agent)
        async with at(person) as sits:
            with pytest.raises(AgentSetupError) as refused:
                await sits.begin("Talk.", SINGLE, agents=("gpt",))
        sent = len(server.requests)

    assert refused.value.code == "agent_address_untrusted"
    assert "run `allstop trust`" in refused.value.hint
    assert sent == 0


async def test_r17_a_connection_that_fails_names_its_address(person):
    async with with_models(person, lambda it: Fault.CLOSED, NO_RETRIES) as sits:
        record = await sits.hold("Talk.", AUTOPILOT)
        address = sits.server.openai_url.removesuffix("/v1")

    (ended,) = record.told("ended")
    assert f" at {address}: " in ended
