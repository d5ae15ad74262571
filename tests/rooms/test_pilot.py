"""The room pilot: speakers, endings, prompts and notices."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allstop.core.commands import Allstop, Interrupt, Pause, Resume, Retry, Say
from allstop.core.context_window import NO_CACHING, CachePricing, WindowSpec
from allstop.core.events import Stopped
from allstop.core.helm import Helm
from allstop.core.moves import Failed, FailureKind, TakeTurn, TurnDone, Usage, Wait
from allstop.core.prompt import prompt_from
from allstop.core.retries import LimitPatience
from allstop.core.room_specs import RETRY_HINT, Ending, Seat, TalkMode
from allstop.kinds import KINDS
from allstop.views.room_summary import room_summary
from allstop.views.runs import view
from support.room_runs import NOON, RoomSteps, envelope, session_spec

SINGLE, COLLABORATE, AUTOPILOT = TalkMode.SINGLE, TalkMode.COLLABORATE, TalkMode.AUTOPILOT


# --- speakers ---


def test_r4_what_an_agent_is_told():
    """R4: rules and name; goal, transcript oldest first, round, and last "Return JSON only"."""
    table = RoomSteps(COLLABORATE)
    table.turn(message="Once upon a time.", to="claude", task="Edit it.")
    move = table.begin()

    talk = move.prompt.talk
    assert talk.system.startswith("1. You are collaborating with another assistant")
    assert "5. Be concise and move the task forward each turn." in talk.system
    assert "Your name is `claude`." in talk.system
    assert [part.text for part in talk.parts] == [
        "Goal: Write a fairy tale.",
        "gpt: Once upon a time.",
        "router → claude: Edit it.",
        "Round 2 of 6\nReturn JSON only per schema—no extra text.",
    ]
    assert talk.reply_schema["properties"]["handoff"]["properties"]["to"]["enum"] == ["gpt"]
    assert move.prompt.whole.endswith("Return JSON only per schema—no extra text.")


@pytest.mark.parametrize("memory", [CachePricing(), NO_CACHING])
def test_q20_a_prompt_is_digested_as_if_it_were_looked_through(memory):
    """Q20: cached digests of window parts equal computed ones, also for a shorter window."""
    seats = tuple(Seat(agent=agent, memory=memory) for agent in ("gpt", "claude"))
    table = RoomSteps(AUTOPILOT, seats=seats)
    for number in range(40):
        table.turn(message=f"{number} " + "words " * number)

    assert table.prompts == [prompt_from(prompt.talk) for prompt in table.prompts]


def test_r4_the_round_in_autopilot():
    table = RoomSteps(AUTOPILOT)
    for _ in range(16):
        table.turn()

    assert table.begin().prompt.talk.parts[-1].text.startswith("Round: 17 (Autopilot)\n")


def test_collaborate_follows_the_handoff_and_ends_without_one():
    table = RoomSteps(COLLABORATE)
    table.turn(to="claude")
    table.turn(to="gpt")
    table.turn()

    assert table.speakers == ["gpt", "claude", "gpt"]
    assert table.ending is Ending.NO_HANDOFF


def test_r3_final_makes_the_handoff_void_where_it_ends():
    table = RoomSteps(COLLABORATE)
    table.turn(to="claude", final=True)

    assert table.ending is Ending.FINAL
    assert table.state.last.suggested_finish


@pytest.mark.parametrize(("rounds", "spoke"), [(1, 1), (2, 2), (6, 6)])
def test_collaborate_ends_at_max_rounds(rounds, spoke):
    table = RoomSteps(COLLABORATE, max_rounds=rounds)
    while table.session is not None:
        table.turn(to="claude" if table.session.speaker == "gpt" else "gpt")

    assert len(table.speakers) == spoke
    assert table.ending is Ending.CAP_REACHED


@pytest.mark.parametrize("to", ["gpt", "nobody"])
def test_r3_a_handoff_to_itself_or_to_a_stranger_is_dropped(to):
    """R3: the message stays, with a warning; Collaborate ends malformed, Autopilot alternates."""
    bounded, endless, single = RoomSteps(COLLABORATE), RoomSteps(AUTOPILOT), RoomSteps(SINGLE)
    for table in (bounded, endless, single):
        table.turn(message="hello", to=to)
        assert any("dropped" in text for text in table.told("warning"))

    assert bounded.ending is Ending.MALFORMED
    assert single.ending is Ending.NO_HANDOFF, "it was answered"
    assert endless.session.speaker == "claude"
    assert [part.text for part in endless.session.window.parts] == ["gpt: hello"]


def test_r2_malformed_ends_collaborate_and_not_autopilot():
    bounded, endless, single = RoomSteps(COLLABORATE), RoomSteps(AUTOPILOT), RoomSteps(SINGLE)
    for table in (bounded, endless, single):
        table.turn("Sorry, no JSON today.")
        assert any("expected format" in text for text in table.told("warning"))
        assert table.state.talk.parts[-1].text == "gpt: Sorry, no JSON today."

    assert bounded.ending is Ending.MALFORMED
    assert single.ending is Ending.NO_HANDOFF
    assert endless.session.speaker == "claude"


def test_r2_what_was_repaired_is_told():
    table = RoomSteps(COLLABORATE)
    table.turn("```json\n" + envelope(to="claude") + "\n```")

    assert table.session.speaker == "claude"
    assert any("repaired" in text for text in table.told("warning"))


def test_autopilot_alternates_round_robin_in_seat_order():
    table = RoomSteps(AUTOPILOT, agents=("a", "b", "c"))
    for _ in range(4):
        table.turn()
    table.turn(to="a")
    table.turn()

    assert table.speakers == ["a", "b", "c", "a", "b", "a"]


def test_single_shows_the_answer_and_follows_one_handoff():
    alone, handed = RoomSteps(SINGLE), RoomSteps(SINGLE)
    alone.turn()
    handed.turn(to="claude")
    handed.turn(to="gpt")

    assert alone.ending is Ending.NO_HANDOFF
    assert handed.speakers == ["gpt", "claude"]
    assert handed.ending is Ending.CAP_REACHED


def test_single_answers_know_what_was_said_in_the_thread_before():
    table = RoomSteps(SINGLE)
    table.turn(message="The word is zebra.")
    table.start(session_spec(SINGLE, id="s2", goal="Which word?", first="claude"))

    texts = [part.text for part in table.begin().prompt.talk.parts]
    assert "gpt: The word is zebra." in texts
    assert texts[0] == "Goal: Which word?"


def test_r14_a_session_does_not_see_the_one_before():
    table = RoomSteps(COLLABORATE)
    table.turn(message="secret")
    table.start(session_spec(COLLABORATE, id="s2", goal="Another."))

    assert "secret" not in table.begin().prompt.whole


def test_r14_a_second_start_is_refused():
    table = RoomSteps(AUTOPILOT)
    table.start(session_spec(id="s2", goal="Another."))

    assert table.session.spec.id == "s1"
    assert table.told("warning") == ["A session is active: s2 was not started."]


def test_r21_another_session_in_place_of_an_interrupted_one():
    table = RoomSteps(AUTOPILOT)
    table.start(session_spec(id="s2"), instead=True)

    assert table.session.spec.id == "s2"
    assert table.state.last.reason is Ending.INTERRUPTED


# --- people ---


def test_r6_a_message_in_mid_run_is_seen_at_the_next_turn():
    table = RoomSteps(AUTOPILOT)
    table.begin()
    table.say(Say(text="Make it rhyme."))
    table.end(TurnDone(text=envelope("Once.")))

    assert [p.text for p in table.begin().prompt.talk.parts][1:-1] == [
        "you: Make it rhyme.",
        "gpt: Once.",
    ]


@pytest.mark.parametrize(
    ("text", "speaker"),
    [("@gpt again, please", "gpt"), ("what do you think, @GPT?", "gpt"), ("gpt@home", "claude")],
)
def test_r6_a_name_makes_that_agent_next(text, speaker):
    table = RoomSteps(AUTOPILOT)
    table.begin()
    table.say(Say(text=text))
    table.end(TurnDone(text=envelope(to="claude")))

    assert table.session.speaker == speaker


def test_r6_a_name_keeps_collaborate_going():
    table = RoomSteps(COLLABORATE)
    table.begin()
    table.say(Say(text="@claude and you?"))
    table.end(TurnDone(text=envelope()))

    assert table.begin().agent == "claude"


# --- stop ---


def test_r8_allstop_ends_the_session_with_the_notice():
    table = RoomSteps(AUTOPILOT)
    table.turn()
    table.begin()
    table.say(Allstop())

    assert table.ending is Ending.STOPPED_BY_USER
    assert table.told("ended") == ["Collaboration stopped by user (Allstop)."]
    assert isinstance(table.move(), Wait)


@pytest.mark.parametrize("result", [TurnDone(text=envelope("late")), Failed(kind="cancelled")])
def test_r8_what_comes_after_the_stop_is_not_posted(result):
    table = RoomSteps(AUTOPILOT)
    table.begin()
    table.say(Allstop())
    before = table.state.talk
    table.end(result)

    assert table.state.talk == before
    assert not table.state.news


def test_r8_a_stop_of_everything_ends_sessions_too():
    """R8: and Resume does not bring them back."""
    table = RoomSteps(AUTOPILOT)
    table.fold(Stopped(at=NOON, stops=1))
    table.say(Resume())

    assert table.ending is Ending.STOPPED_BY_USER
    assert table.told("ended") == ["Collaboration stopped by user (Allstop)."]
    assert isinstance(table.move(), Wait)


def test_r8_the_stop_button_of_collaborate():
    table = RoomSteps(COLLABORATE)
    table.begin()
    table.say(Interrupt())

    assert table.ending is Ending.CANCELED_BY_USER
    assert table.told("ended") == ["Collaboration canceled by user."]


@pytest.mark.parametrize("command", [Allstop(), Interrupt()], ids=["allstop", "stop"])
def test_r10_the_time_of_a_turn_that_was_cut_counts(command):
    table = RoomSteps(COLLABORATE)
    table.turn(to="claude", takes_s=5)
    table.begin()
    table.now += timedelta(seconds=40)
    table.say(command)

    assert table.state.last.seconds == 45.0


def test_r10_a_turn_that_nobody_drove_any_more_counts_no_longer_than_it_might_have_gone_on():
    table = RoomSteps(COLLABORATE, max_minutes=30)
    table.begin()
    table.now += timedelta(hours=10)
    table.say(Allstop())

    assert table.state.last.seconds <= 30 * 60


def test_r9_a_room_without_a_session_is_idle():
    table = RoomSteps(SINGLE)
    table.turn()
    seen = view("room:default", KINDS["room"], table.run, helm=Helm(), now=table.now, driven=False)

    assert (seen.status, seen.reason, seen.needs_you) == ("idle", "no session is active", False)


def test_r9_without_a_session_nothing_is_said():
    table = RoomSteps(SINGLE)
    table.turn()
    table.notices.clear()
    table.say(Allstop())
    table.say(Interrupt())

    assert table.notices == []
    assert table.ending is Ending.NO_HANDOFF


def test_r10_every_end_has_a_summary():
    table = RoomSteps(AUTOPILOT, max_turns=3)
    table.turn(usage=Usage(input=1000, output=50, cost_microusd=1234))
    table.turn(final=True)
    table.turn(takes_s=70)

    summary = table.state.last
    assert summary.reason is Ending.EMERGENCY_CAP
    assert (summary.turns, summary.tokens, summary.seconds) == (3, 1290, 72.0)
    assert summary.spoke == {"gpt": 2, "claude": 1}
    assert summary.suggested_finish
    (text,) = table.told("summary")
    assert text == (
        "Session summary: emergency_cap · 3 turns · 1,290 tokens · $0.0012 · 1 min 12 s"
        " · spoke: gpt 2, claude 1 · an agent suggested finishing"
    )


# --- guards ---


def test_r11_reminders_never_stop_anything():
    table = RoomSteps(AUTOPILOT, soft_turns=2, soft_tokens=0)
    for _ in range(7):
        table.turn()

    reminders = table.told("reminder")
    assert reminders == ["Autopilot running. Say ‘Allstop’ to end."] * 3
    assert table.session is not None


def test_r11_tokens_remind_too():
    table = RoomSteps(AUTOPILOT, soft_turns=0, soft_tokens=1000)
    for _ in range(4):
        table.turn(usage=Usage(input=400, output=100))

    assert len(table.told("reminder")) == 2


@pytest.mark.parametrize(
    ("guards", "usage", "takes_s", "turns", "words"),
    [
        ({"max_turns": 3}, None, 1, 3, "room.max_turns = 3"),
        ({"max_tokens": 1000}, Usage(input=300, output=100), 1, 3, "room.max_tokens = 1,000"),
        (
            {"max_tokens": 1000},
            Usage(input=300, cached=300, output=100),
            1,
            3,
            "room.max_tokens = 1,000",
        ),
        ({"max_minutes": 1}, None, 25, 3, "room.max_minutes = 1"),
        (
            {"cost_microusd": 1_000_000},
            Usage(input=1, output=1, cost_microusd=400_000),
            1,
            3,
            "room.cost_usd = 1.00",
        ),
    ],
)
@pytest.mark.parametrize("mode", [AUTOPILOT, COLLABORATE])
def test_r12_hard_guards(mode, guards, usage, takes_s, turns, words):
    """R12: the notice names the guard and its value; tokens from a cache are tokens."""
    table = RoomSteps(mode, **guards)
    while table.session is not None:
        to = "claude" if table.session.speaker == "gpt" else "gpt"
        table.turn(to=to, usage=usage, takes_s=takes_s)

    assert len(table.speakers) == turns
    assert table.ending is Ending.EMERGENCY_CAP
    assert table.told("ended") == [f"Collaboration stopped: emergency cap ({words})."]


def test_r12_time_is_enforced_during_a_call():
    table = RoomSteps(AUTOPILOT, max_minutes=1)
    table.turn(takes_s=40)
    move = table.begin()
    assert move.timeout_s == pytest.approx(20)
    table.end(Failed(kind=FailureKind.TIMED_OUT), takes_s=20)

    assert table.ending is Ending.EMERGENCY_CAP
    assert "room.max_minutes = 1" in table.told("ended")[0]


def test_k5_what_a_turn_was_frozen_for_is_not_the_talks_time():
    table = RoomSteps(AUTOPILOT, max_minutes=1)
    table.turn(takes_s=50, held_s=45)
    table.begin()
    table.end(Failed(kind=FailureKind.CANCELLED), takes_s=90, held_s=80)

    assert table.session.ran_s == 15


def test_k5_a_capped_call_that_does_not_fit_is_not_made():
    """K5, R12: what a call may use is reserved before it starts."""
    seats = (Seat(agent="gpt", max_tokens=400), Seat(agent="claude", max_tokens=400))
    table = RoomSteps(AUTOPILOT, seats=seats, max_tokens=1000)
    table.turn(usage=Usage(input=300, output=100))
    table.turn(usage=Usage(input=300, output=100))

    assert table.ending is Ending.EMERGENCY_CAP


USAGES = st.builds(
    Usage,
    input=st.integers(-(10**12), 10**12),
    cached=st.integers(-(10**12), 10**12),
    output=st.integers(-(10**12), 10**12),
    cost_microusd=st.integers(-(10**12), 10**12),
) | st.just(Usage())


@settings(max_examples=60)
@given(usages=st.lists(USAGES, min_size=1, max_size=30))
def test_r12_guards_hold_whatever_is_reported(usages):
    """R12: missing, zero, absurd or negative: it never runs for longer than its caps."""
    table = RoomSteps(AUTOPILOT, max_turns=40, max_tokens=3000)
    before = 0
    for number in range(50):
        if table.session is None:
            break
        table.turn(usage=usages[number % len(usages)])
        tokens = table.session.tokens if table.session else table.state.last.tokens
        assert tokens > before, "every turn counts"
        before = tokens

    assert table.ending is Ending.EMERGENCY_CAP
    assert len(table.speakers) <= 40


def test_r13_final_is_a_suggestion_in_autopilot():
    table = RoomSteps(AUTOPILOT)
    table.turn(final=True, to="claude")

    assert table.session.speaker == "claude"
    assert table.told("suggestion") == [
        "Agent suggests finish — press ALLSTOP to end or let them continue."
    ]


def test_respect_final_ends_autopilot():
    table = RoomSteps(AUTOPILOT, respect_final=True)
    table.turn(final=True)

    assert table.ending is Ending.FINAL


# --- trouble ---


def test_r17_a_limited_agent_is_waited_for_visibly():
    table = RoomSteps(AUTOPILOT)
    reset = table.now + timedelta(minutes=30)
    table.fail(FailureKind.RATE_LIMITED, retry_at=reset)

    move = table.move()
    assert isinstance(move, Wait)
    assert move.until == reset
    assert "gpt: rate limited" in move.reason
    assert "gpt: rate limited" in table.told("warning")[0]
    table.now = reset
    assert table.begin().agent == "gpt"
    assert table.session.ran_s < 60, "waiting is free"


def limited_until_it_pauses(table, **more):
    """How long the agent was retried."""
    began_at = table.now
    while not table.session.paused:
        move = table.move()
        table.now = move.until if isinstance(move, Wait) else table.now
        table.fail(FailureKind.USAGE_LIMITED, message="no more", **more)
    return table.now - began_at


@pytest.mark.parametrize("told", [None, NOON])
@pytest.mark.parametrize("command", [Say(text="go on"), Resume(), Retry()])
def test_r17_a_limit_that_names_no_time_to_come_pauses_the_room_after_a_while(told, command):
    """R17, P5: retries end after the configured time; a person resumes without loss."""
    table = RoomSteps(AUTOPILOT, endurance=LimitPatience(most_s=7200.0))
    table.turn(message="Once upon a time.")

    took = limited_until_it_pauses(table, retry_at=told)

    assert timedelta(hours=2) <= took <= timedelta(hours=2, minutes=7)
    reason, limited = (
        "claude: usage limited: no more; still so after 2 h",
        FailureKind.USAGE_LIMITED,
    )
    assert table.move() == Wait(reason=reason, for_person=True, failure=limited)
    assert table.told("warning")[-1] == f"{reason}; {RETRY_HINT}"
    table.say(command)
    assert table.begin().agent == "claude"
    table.end(Failed(kind=FailureKind.USAGE_LIMITED))
    assert table.move().until is not None, "it is counted anew"
    assert table.session.window.parts[0].text == "gpt: Once upon a time."


def test_r17_another_agent_is_asked_where_the_room_waits_for_one_that_is_limited():
    table = RoomSteps(AUTOPILOT, endurance=LimitPatience(most_s=7200.0))
    limited_until_it_pauses(table)

    table.say(Say(text="@claude go on"))

    assert table.turn() == "claude"


def test_p5_what_only_seems_to_be_a_limit_pauses_the_room_after_some_tries():
    """P5: each attempt is a whole turn."""
    table = RoomSteps(AUTOPILOT, endurance=LimitPatience(guesses=2, most_s=7200.0))

    assert limited_until_it_pauses(table, guessed=True) < timedelta(minutes=2)
    assert table.move().reason == "gpt: usage limited: no more; still so, 3 times in a row"


def test_r17_the_sessions_of_old_records_wait_as_they_did():
    table = RoomSteps(AUTOPILOT)
    for _ in range(500):
        table.fail(FailureKind.USAGE_LIMITED, guessed=True)
        table.now = table.move().until

    assert table.begin().agent == "gpt"


def test_r17_errors_are_tried_again_and_then_end_the_session():
    table = RoomSteps(AUTOPILOT)
    for _ in range(3):
        table.fail(FailureKind.NETWORK, message="connection refused")
        table.now += timedelta(minutes=10)

    assert table.ending is Ending.AGENT_FAILED
    assert table.told("ended") == [
        "Collaboration stopped: gpt failed: network: connection refused."
    ]


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.BAD_REQUEST, FailureKind.CONTEXT])
def test_r17_what_cannot_get_better_ends_it_at_once(kind):
    table = RoomSteps(AUTOPILOT)
    table.fail(kind, message="no")

    assert table.ending is Ending.AGENT_FAILED


def test_r17_an_empty_reply_is_a_failure():
    table = RoomSteps(AUTOPILOT)
    table.turn("  \n")

    assert "an empty reply" in table.told("warning")[0]
    assert table.session.turns == 0


def test_r17_a_person_may_call_another_while_one_is_waited_for():
    table = RoomSteps(AUTOPILOT)
    table.fail(FailureKind.RATE_LIMITED, retry_at=table.now + timedelta(hours=5))
    table.say(Say(text="@claude you go on"))

    assert table.begin().agent == "claude"


@pytest.mark.parametrize("kind", ["interrupted", "cancelled"])
def test_r18_a_turn_that_was_lost_is_taken_again(kind):
    """R18: at the turn the session had reached, and the lost time does not count."""
    table = RoomSteps(AUTOPILOT)
    table.turn()
    table.begin()
    table.end(Failed(kind=FailureKind(kind)), takes_s=10)
    move = table.begin()

    assert move.agent == "claude"
    assert move.prompt.talk.parts[-1].text.startswith("Round: 2 ")
    assert table.session.ran_s == (1.0 if kind == "interrupted" else 11.0)


def test_a_pause_holds_and_a_resume_goes_on():
    table = RoomSteps(AUTOPILOT)
    table.turn()
    table.say(Pause())
    assert isinstance(table.move(), Wait)
    table.say(Resume())

    assert isinstance(table.move(), TakeTurn)


# --- repetition ---


def test_talk_that_goes_in_circles_is_noted_once():
    table = RoomSteps(AUTOPILOT)
    for number in range(6):
        table.turn(message=("Thank you!", "You're welcome, thanks to you.")[number % 2])

    circles = [text for text in table.told("warning") if "repeat themselves" in text]
    assert 1 <= len(circles) <= 2
    assert table.session is not None


@pytest.mark.parametrize("command", [Say(text="Talk about dragons."), Resume()])
def test_talk_that_goes_in_circles_waits_for_a_person_where_that_is_set(command):
    table = RoomSteps(AUTOPILOT, pause_in_circles=True)
    for _ in range(3):
        table.turn(message="Let us do it.", to="claude" if len(table.speakers) % 2 == 0 else "gpt")

    move = table.move()
    assert isinstance(move, Wait)
    assert move.for_person
    table.say(command)
    assert isinstance(table.move(), TakeTurn)


def test_q3_a_long_room_keeps_no_more_than_its_window():
    table = RoomSteps(AUTOPILOT, max_turns=10**9, max_tokens=10**9, max_minutes=10**9)
    for number in range(300):
        table.turn(message=f"Idea {number}: " + "word " * 100)

    assert len(table.session.window.parts) <= 24
    assert len(table.state.talk.parts) <= 24


def test_r17_a_provider_that_is_always_overloaded_is_given_up():
    """R17: status 500 without a retry time is an ordinary error."""
    table = RoomSteps(AUTOPILOT)
    for _ in range(3):
        table.fail(FailureKind.OVERLOADED, message="500")
        table.now += timedelta(minutes=10)

    assert table.ending is Ending.AGENT_FAILED


def test_r21_a_session_that_ends_by_itself_was_not_cut_off():
    """R21: a cap reached in the same turn isn't the reason of the end."""
    table = RoomSteps(COLLABORATE, max_turns=1)
    table.turn()

    assert table.ending is Ending.NO_HANDOFF


@pytest.mark.parametrize("memory", [CachePricing(), NO_CACHING])
def test_r5_a_long_message_reaches_the_next_agent_with_its_handoff(memory):
    seats = tuple(Seat(agent=agent, memory=memory) for agent in ("gpt", "claude"))
    table = RoomSteps(COLLABORATE, window=WindowSpec(edition=2), seats=seats)
    table.turn(message="x" * 30_000, to="claude", task="Edit it.")

    talk = table.begin().prompt.talk
    message = next(part.text for part in talk.parts if part.text.startswith("gpt: "))
    assert "30,005 characters, the middle is left out" in message
    assert any(part.text == "router → claude: Edit it." for part in talk.parts)
    assert any("gpt's message has 30,000 characters" in text for text in table.told("notice"))


# --- edition 2: each agent has its own wait ---


def table_of_edition_2(**more):
    return RoomSteps(edition=2, **more)


def test_r17_an_agent_that_keeps_failing_is_out_while_the_other_goes_on():
    """R17: the document's waits come first; then the waits grow, and Autopilot continues."""
    table = table_of_edition_2()
    waits = []
    for _ in range(3):
        table.fail(FailureKind.OVERLOADED, message="503")
        if table.session.speaker == "gpt":
            waits.append(round((table.session.wait_until - table.now).total_seconds()))
            table.now = table.session.wait_until

    assert waits == [2, 4]
    assert table.told("warning")[-1].endswith("UTC; meanwhile claude continues")
    assert [table.turn(), table.turn()] == ["claude", "claude"]
    table.now += timedelta(seconds=60)
    table.turn(to="gpt")
    assert table.turn() == "gpt"
    assert table.turn() == "claude"
    assert table.session.outages == {}


def test_r17_a_room_in_which_every_agent_fails_waits_for_minutes_and_then_for_a_person():
    table = table_of_edition_2()
    began = table.now
    while table.session.paused == "":
        table.fail(FailureKind.UNAVAILABLE, message="503")
        table.now = table.session.wait_until or table.now
    waited_s = (table.now - began).total_seconds()

    assert waited_s > 600
    assert table.ending is None
    assert table.move().for_person
    assert "failures in a row" in table.session.paused
    table.say(Resume())
    assert table.turn() in ("gpt", "claude")


def test_r17_collaborate_waits_for_the_agent_whose_turn_it_is():
    table = table_of_edition_2(mode=TalkMode.COLLABORATE)
    for _ in range(5):
        table.fail(FailureKind.NETWORK)
        assert table.session.speaker == "gpt"
        table.now = table.session.wait_until
    assert table.turn(to="claude") == "gpt"
    assert table.turn() == "claude"


def test_k13_no_call_goes_to_a_limited_provider_before_its_time():
    """K13, R17: also after a person has called another agent, and by whatever name."""
    seats = tuple(
        Seat(agent=name, account=of)
        for name, of in zip(("gpt", "claude", "mini"), "aba", strict=True)
    )
    table = table_of_edition_2(agents=("gpt", "claude", "mini"), seats=seats)
    reset = table.now + timedelta(seconds=41)
    table.fail(FailureKind.RATE_LIMITED, retry_at=reset)

    assert table.move().until == reset
    table.say(Say(text="@claude go on"))
    assert table.turn(to="gpt") == "claude"
    assert (table.move().reason, table.move().until) == ("gpt: rate limited", reset)
    table.say(Say(text="@mini go on"))
    assert table.move().until == reset
    table.say(Say(text="@gpt now"))
    assert table.move().until == reset
    table.now = reset
    assert table.turn() == "gpt"
    assert table.move().agent == "claude"


def test_r17_a_person_can_shorten_a_wait_that_no_provider_named():
    table = table_of_edition_2()
    table.fail(FailureKind.NETWORK)
    assert table.move().until is not None
    table.say(Say(text="@gpt again"))
    assert table.turn() == "gpt"


@pytest.mark.parametrize("command", [Allstop(), Interrupt(), None])
def test_r10_a_call_that_was_cut_is_charged_by_estimate(command):
    table = table_of_edition_2()
    table.turn(usage=Usage(input=100, output=20))
    table.begin()
    if command is None:  # an Allstop of everything
        table.end(Failed(kind=FailureKind.CANCELLED))
        table.fold(Stopped(at=table.now, stops=1))
    else:
        table.say(command)

    last = table.state.last
    assert last.estimated_tokens > 50
    assert last.tokens == 120 + last.estimated_tokens
    assert (
        f"({last.estimated_tokens:,} of them estimated for a call that was cut)"
        in (table.told("summary")[-1])
    )


def test_k13_what_waits_is_shown_with_its_time():
    table = table_of_edition_2()
    table.fail(FailureKind.RATE_LIMITED, retry_at=table.now + timedelta(seconds=41))
    run_view = view(
        "room:default", KINDS["room"], table.run, helm=table.helm, now=table.now, driven=True
    )
    assert room_summary(table.state, run_view).session.waits_for == (
        "gpt: rate limited; next attempt at 12:00:41 UTC"
    )
    table.say(Say(text="@claude go on"))
    assert room_summary(table.state, run_view).session.waits_for == ""
