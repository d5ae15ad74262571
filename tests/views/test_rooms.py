"""The events of a room as clients see them."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.commands import Allstop, Interrupt, Pause, Resume, Say
from allstop.core.events import Stopped
from allstop.core.moves import Failed, FailureKind, TakeTurn, TurnDone, Usage
from allstop.core.room_specs import ALL, ROUTER, YOU, NoticeKind, TalkMode
from allstop.kinds.room import RoomKind
from allstop.rooms.session import max_rounds
from allstop.views.rooms import NOTHING_TO_STOP, EventType, RoomEvent, RoomView, call_id
from allstop.views.runs import view
from support.room_runs import NOON, RoomSteps, envelope, session_spec

SINGLE, COLLABORATE, AUTOPILOT = TalkMode.SINGLE, TalkMode.COLLABORATE, TalkMode.AUTOPILOT
AGENTS = ("gpt", "claude", "third")


def shown(table):
    """All that was ever shown, and the view that showed it."""
    opened, *events = table.events
    view = RoomView(table.pilot, opened)
    return view, [told for event in events for told in view.take(event)]


def in_short(events):
    return [(e.type.value, e.sender, e.target, e.text) for e in events]


def test_r15_a_collaboration_as_it_is_shown():
    """R15: every event in order, with its session and round."""
    table = RoomSteps(COLLABORATE)
    table.turn(message="One.", to="claude", task="Two, please.")
    table.say(Say(text="Quickly, @Claude!"))
    table.turn(message="Two.", final=True)

    _, events = shown(table)

    assert in_short(events) == [
        ("human_message", YOU, ROUTER, "Write a fairy tale."),
        ("system", ROUTER, ALL, "Collaborate: gpt, claude, at most 6 rounds; gpt begins."),
        ("agent_call", ROUTER, "gpt", "Write a fairy tale."),
        ("agent_response", "gpt", ALL, "One."),
        ("human_message", YOU, "claude", "Quickly, @Claude!"),
        ("agent_call", ROUTER, "claude", "Two, please."),
        ("agent_response", "claude", ALL, "Two."),
        ("system", ROUTER, ALL, "Collaboration ended: final (claude says it is done)."),
        (
            "system",
            ROUTER,
            ALL,
            "Session summary: final · 2 turns · 240 tokens · 2 s · spoke: gpt 1, claude 1",
        ),
    ]
    assert [event.round for event in events] == [1, 1, 1, 1, 2, 2, 2, 2, 2]
    assert {event.session_id for event in events} == {"s1"}
    assert {event.max_rounds for event in events} == {6}
    assert [event.kind for event in events if event.kind] == ["notice", "ended", "summary"]
    assert events[3].usage == Usage(input=100, output=20)


@pytest.mark.parametrize(("mode", "most"), [(SINGLE, 2), (COLLABORATE, 6), (AUTOPILOT, None)])
def test_r15_max_rounds_is_null_in_autopilot(mode, most):
    """R15."""
    table = RoomSteps(mode)
    table.turn()

    _, events = shown(table)

    assert {event.max_rounds for event in events} == {most}


def test_r15_a_reply_has_the_call_id_of_its_call():
    """R15: also when the first try failed."""
    table = RoomSteps(AUTOPILOT)
    table.fail(FailureKind.NETWORK, message="no")
    table.now += timedelta(minutes=1)
    table.turn()
    table.turn()

    _, events = shown(table)

    calls = [event.call_id for event in events if event.type is EventType.AGENT_CALL]
    answers = [event.call_id for event in events if event.type is EventType.AGENT_RESPONSE]
    assert calls == [call_id("default", number) for number in (1, 2, 3)]
    assert answers == calls[1:]


def handed_over(table):
    table.begin()
    table.say(Say(text="@third, what do you say?"))
    table.end(TurnDone(text=envelope("One.", to="claude", task="For claude alone.")))


def waited_for(table):
    table.turn(to="claude", task="For claude alone.")
    table.fail(FailureKind.RATE_LIMITED)
    table.say(Say(text="@third, what do you say?"))


def failed(table):
    table.turn(to="claude", task="For claude alone.")
    table.begin()
    table.say(Say(text="@third, what do you say?"))
    table.end(Failed(kind=FailureKind.NETWORK))
    table.now += timedelta(minutes=1)


@pytest.mark.parametrize("before", [handed_over, waited_for, failed])
def test_r6_who_is_called_by_a_person_is_not_given_anothers_task(before):
    """R6, R15: the text of a call is what that agent was handed, else the goal."""
    table = RoomSteps(AUTOPILOT, AGENTS)
    before(table)
    assert table.begin().agent == "third"

    _, events = shown(table)

    assert in_short(events)[-1] == ("agent_call", ROUTER, "third", "Write a fairy tale.")


def test_r15_outside_of_a_session_there_is_none():
    """R15, R9: said where nobody listens, and stopped where nothing runs."""
    table = RoomSteps(SINGLE)
    table.turn()
    table.say(Say(text="anybody?"))
    table.say(Allstop())

    _, events = shown(table)

    said, nothing = events[-2:]
    assert in_short([said, nothing]) == [
        ("human_message", YOU, ALL, "anybody?"),
        ("system", ROUTER, ALL, NOTHING_TO_STOP),
    ]
    for event in (said, nothing):
        assert (event.session_id, event.round, event.max_rounds) == (None, None, None)


def test_r13_r11_what_the_room_says_by_itself_has_a_kind():
    """R13, R11, R2: suggestions, reminders and warnings."""
    table = RoomSteps(AUTOPILOT, soft_turns=1)
    table.turn(final=True)
    table.turn("no JSON")

    _, events = shown(table)

    kinds = [event.kind.value for event in events if event.kind]
    assert kinds == ["notice", "suggestion", "reminder", "warning", "reminder"]


def test_r21_the_end_of_one_and_the_beginning_of_the_next_are_told_apart():
    """R21, R14: each by its own session_id."""
    table = RoomSteps(AUTOPILOT)
    table.turn()
    table.start(session_spec(AUTOPILOT, id="s2", goal="Another."), instead=True)

    _, events = shown(table)

    last = [(e.text.split(":")[0], e.session_id, e.round) for e in events[-4:]]
    assert sorted(last) == sorted(
        [
            ("Another.", "s2", 1),
            ("Collaboration ended", "s1", 2),
            ("Session summary", "s1", 2),
            ("Autopilot", "s2", 1),
        ]
    )


# --- whatever happens ---

LATE = "late"
REPLIES = st.sampled_from(
    [
        envelope("fine"),
        envelope("fine", to="gpt"),
        envelope("fine", to="claude"),
        envelope("fine", to="nobody"),
        envelope("fine", final=True),
        "no JSON at all",
        "```json\n" + envelope("fenced", to="third") + "\n```",
        envelope("long " + "word " * 3000),
        "  ",
    ]
)
KINDS = st.sampled_from(sorted(set(FailureKind)))
TEXTS = st.sampled_from(["go on", "@claude you", "@third!", "x" * 20_000])
OPERATIONS = st.one_of(
    st.tuples(st.just("turn"), REPLIES),
    st.tuples(st.just("fail"), KINDS),
    st.tuples(st.just("say"), TEXTS),
    st.tuples(
        st.just("stop"), st.sampled_from([Allstop(), Interrupt(), Stopped(at=NOON, stops=1)])
    ),
    st.tuples(st.just("begin"), st.none()),
    st.tuples(st.just("late"), st.sampled_from([envelope(LATE), Failed(kind=FailureKind.NETWORK)])),
    st.tuples(st.just("start"), st.tuples(st.sampled_from(TalkMode), st.booleans())),
    st.tuples(st.just("pause"), st.none()),
    st.tuples(st.just("wait"), st.none()),
)


class AutoLog:
    """Plays operations on a table and knows which calls were stopped while they were open."""

    def __init__(self):
        self.table = RoomSteps(AUTOPILOT, AGENTS, max_turns=30)
        self.sessions = 1

    def play(self, operation, value):
        table = self.table
        match operation:
            case "turn" | "begin" | "fail" if table.run.open_move is None:
                self.take_turn(operation, value)
            case "late" if table.run.open_move is not None:
                table.end(TurnDone(text=value) if isinstance(value, str) else value)
            case "say":
                table.say(Say(text=value))
            case "stop":
                self.stop(value)
            case "start":
                mode, instead = value
                self.sessions += 1
                spec = session_spec(mode, AGENTS, id=f"s{self.sessions}", goal=f"g{self.sessions}")
                table.start(spec, instead=instead)
            case "pause":
                table.say(Pause())
                table.say(Resume())
            case "wait":
                table.now += timedelta(hours=1)

    def take_turn(self, operation, value):
        if not isinstance(self.table.move(), TakeTurn):
            return
        self.table.begin()
        if operation == "turn":
            self.table.end(TurnDone(text=value, usage=Usage(input=50, output=5)))
        elif operation == "fail":
            self.table.end(Failed(kind=value, message="why"))

    def stop(self, stop):
        if isinstance(stop, Stopped):
            self.table.fold(msgspec.structs.replace(stop, stops=self.table.run.helm_stops + 1))
        else:
            self.table.say(stop)


@given(operations=st.lists(OPERATIONS, max_size=40))
def test_r8_r14_r15_whatever_happens_the_contract_holds(operations):
    """R8, R14, R15, R10: after a stop nothing is posted until a new session; every field is there;
    each session has one end and one summary; rounds count from 1; replies have their call.
    """
    story = AutoLog()
    for operation in operations:
        story.play(*operation)

    view, events = shown(story.table)

    active, turns, over = None, 0, set()
    call = None
    for event in events:
        check_fields(event)
        match event.type:
            case EventType.HUMAN_MESSAGE if event.target == ROUTER:
                assert event.session_id not in over
                active, turns = event.session_id, 0
            case EventType.AGENT_CALL:
                assert event.session_id == active is not None
                call = event
            case EventType.AGENT_RESPONSE:
                turns += 1
                assert event.session_id == active is not None
                assert event.round == turns
                assert call is not None
                assert (event.call_id, event.sender) == (call.call_id, call.target)
                assert event.session_id == call.session_id
                call = None
            case EventType.SYSTEM if event.kind is NoticeKind.ENDED:
                assert event.session_id not in over
                over.add(event.session_id)
                active = None if event.session_id == active else active
            case EventType.SYSTEM if event.kind is NoticeKind.SUMMARY:
                assert event.session_id in over
    summaries = [event.session_id for event in events if event.kind is NoticeKind.SUMMARY]
    assert sorted(summaries) == sorted(over)
    session = view.room.session
    assert (session.spec.id if session else None) == active
    assert view.run == story.table.run


def check_fields(event: RoomEvent):
    assert event.sender in {YOU, ROUTER, *AGENTS}
    assert event.target in {ROUTER, ALL, *AGENTS}
    assert event.thread == "default"
    assert event.text
    assert event.call_id
    assert event.ts >= int(NOON.timestamp())
    assert (event.session_id is None) == (event.round is None)
    assert event.round is None or event.round >= 1
    assert (event.kind is None) == (event.type is not EventType.SYSTEM)
    again = msgspec.json.decode(msgspec.json.encode(event), type=RoomEvent)
    assert again == event


@given(operations=st.lists(OPERATIONS, max_size=40))
def test_r4_r5_whatever_happens_the_goal_is_told_and_the_window_is_kept(operations):
    """R4, R5: first the goal, verbatim; last the round and the instruction; not too much between."""
    story = AutoLog()
    talks = []
    for operation in operations:
        before = len(story.table.prompts)
        session = story.table.session
        story.play(*operation)
        if len(story.table.prompts) > before:
            talks.append((session.spec.goal, story.table.prompts[-1].talk))

    for goal, talk in talks:
        first, *items, last = [part.text for part in talk.parts]
        assert first == f"Goal: {goal}"
        assert last.startswith("Round")
        assert last.endswith("\nReturn JSON only per schema—no extra text.")
        assert len(items) <= 24
        assert sum(map(len, items)) <= 9_000 * 8


@pytest.mark.parametrize("mode", TalkMode)
def test_rounds_are_what_the_chip_counts_to(mode):
    assert max_rounds(session_spec(mode)) == {SINGLE: 2, COLLABORATE: 6, AUTOPILOT: None}[mode]


STOPS = [Allstop(), Interrupt(), Stopped(at=NOON, stops=1)]


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: type(stop).__name__)
@pytest.mark.parametrize("result", [TurnDone(text=envelope(LATE)), Failed(kind="crashed")])
def test_r8_a_late_reply_is_not_the_next_sessions(stop, result):
    """R8, R14: it came back after the stop, and after the next session began."""
    table = RoomSteps(AUTOPILOT)
    table.begin()
    table.say(stop) if not isinstance(stop, Stopped) else table.fold(stop)
    table.start(session_spec(AUTOPILOT, id="s2", goal="Another."))
    table.end(result)
    table.turn(message="of the next")

    _, events = shown(table)

    answers = [e for e in events if e.type is EventType.AGENT_RESPONSE]
    assert [(e.text, e.session_id, e.round) for e in answers] == [("of the next", "s2", 1)]
    assert table.session.turns == 1
    assert table.session.tokens == 120
    assert LATE not in "".join(part.text for part in table.state.talk.parts)


def test_r20_a_thread_has_the_title_of_its_first_goal_and_the_time_of_its_last_change():
    table = RoomSteps(SINGLE)
    started = _summary(table)
    table.turn()
    ended = _summary(table)
    table.now += timedelta(hours=1)
    table.start(session_spec(SINGLE, id="s2", goal="Another\nquestion."))

    assert (started.title, started.changed_at) == ("Write a fairy tale.", NOON)
    assert ended.changed_at == NOON + timedelta(seconds=1)
    assert (_summary(table).title, _summary(table).changed_at) == (ended.title, table.now)


def _summary(table):
    kind = RoomKind()
    seen = view("room:default", kind, table.run, helm=table.helm, now=table.now, driven=True)
    return kind.detail("room:default", table.run, seen, table.helm, table.now)
