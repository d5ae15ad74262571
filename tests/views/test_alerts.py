"""P11, U4: which events cause an alert, and its text."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.board import graph
from allstop.core import run as runs
from allstop.core.asks import Ask
from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import AtLimit, Limits, Tally
from allstop.core.commands import Approve, Equip, Pause, Raise, Resume
from allstop.core.events import (
    Asked,
    ChildClosed,
    ChildWaited,
    ChildWentOn,
    Closed,
    Commanded,
    Halted,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
)
from allstop.core.helm import Helm, Hold
from allstop.core.ids import BOARD, HELM, MoveId, RunId, child_of
from allstop.core.moves import (
    Change,
    Failed,
    FailureKind,
    Item,
    Outcome,
    Spawn,
    Spawned,
    TakeTurn,
    TurnDone,
    Usage,
)
from allstop.core.prompt import prompt
from allstop.core.room_specs import TalkMode
from allstop.core.tasks import Attempt, NewTask, Status
from allstop.kinds import KINDS, PILOTS
from allstop.views.alerts import (
    MAX_TEXT_CHARS,
    Alert,
    EventContext,
    Level,
    SentAlerts,
    alerts_for,
    presentable,
)
from plans.test_pilot import BROKEN, PlanSteps
from plans.test_pilot import DONE as PLAN_DONE
from support.room_runs import RoomSteps, envelope

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
T1 = child_of(BOARD, "t1.1")
AUTO = RunId("auto1")


def shown(event, context, sent=None):
    """(level, title, text) of each alert."""
    _, alerts = alerts_for(sent or SentAlerts(), event, context)
    made = [presentable(alert, "", str) for alert in alerts]
    return [(alert.level, alert.title, alert.text) for alert in made]


def opened(kind, spec, limits=None, **more):
    return Opened(at=AT, kind=kind, spec=spec, limits=limits or Limits(), **more)


def at(seconds):
    return AT + timedelta(seconds=seconds)


def turn(agent="a"):
    return MoveStarted(at=AT, id=MoveId(1), move=TakeTurn(agent=agent, prompt=prompt("x")))


def ended(result, seconds=1):
    return MoveEnded(at=at(seconds), id=MoveId(1), result=result)


def done(text="fine", cost=0):
    return ended(TurnDone(text=text, usage=Usage(output=1, cost_microusd=cost)))


# --- a board ---


def board_scene(status=Status.ACTIVE, others=(), is_braked=False, limits=None, tally=None, **spec):
    new = [NewTask(id=f"t{n}", title=f"Task {n}") for n in range(1, 2 + len(others))]
    board = graph.add(graph.Board(), new, AT)
    for task, each in zip(board.tasks(), (status, *others), strict=True):
        attempt = Attempt(run=child_of(BOARD, f"{task.id}.1"), began_at=AT)
        board = graph.update(board, task, status=each, attempts=(attempt,))
    pilot = PILOTS["board"]
    spec = {"agents": ["a"], "target": "main", **spec}
    state = runs.begin(pilot, opened("board", spec, limits))
    state = runs.replace(
        state,
        tally=tally or Tally(),
        pilot=runs.replace(state.pilot, board=board, errors=9 if is_braked else 0),
    )
    return EventContext(BOARD, state, KINDS["board"], Helm(), board, is_braked)


def child_closed(outcome, note="", ref="t1.1"):
    run = child_of(BOARD, ref)
    return ChildClosed(at=AT, ref=ref, run=run, outcome=outcome, tally=Tally(), note=note)


def test_p11_b9_a_stuck_attempt_is_told_of_once_until_it_commits():
    pilot = PILOTS["task"]
    spec = {"task": "t1", "goal": "g", "agents": ["a"], "stuck_after": 2}
    state = runs.begin(pilot, opened("task", spec, title="Task 1", parent=BOARD))
    sent, said = SentAlerts(), []
    for head in ("", "", "", "work", "work", "work"):
        change = Change(head=head, commits=1, files=1) if head else None
        for event in (turn(), ended(TurnDone(text="hm", usage=Usage(output=1), change=change))):
            state = runs.evolve(pilot, state, event)
            sent, alerts = alerts_for(sent, event, EventContext(T1, state, KINDS["task"]))
            said += [(len(said), alert.level, alert.title, alert.text) for alert in alerts]

    words = ("t1: no commit for 2 iterations", "It continues. Task 1")
    assert said == [(0, Level.INFO, *words), (1, Level.INFO, *words)]


def test_p11_the_whole_alert_of_a_failed_task():
    event = child_closed(Outcome.FAILED, "auth: the key was refused")

    _, alerts = alerts_for(SentAlerts(), event, board_scene(Status.FAILED))

    assert alerts == [
        Alert(
            level=Level.ERROR,
            title="t1 failed",
            text="Task 1: auth: the key was refused",
            run=T1,
            at=AT,
        )
    ]


@pytest.mark.parametrize(
    ("outcome", "status", "sent"),
    [
        (Outcome.FAILED, Status.FAILED, (Level.ERROR, "t1 failed")),
        (Outcome.TIMED_OUT, Status.TIMEOUT, (Level.ERROR, "t1 ran out of time")),
        (Outcome.BRAKED, Status.TIMEOUT, (Level.ERROR, "t1 reached a limit")),
        (Outcome.CRASHED, Status.PENDING, (Level.ERROR, "t1 crashed")),
        (Outcome.BLOCKED, Status.BLOCKED, (Level.NEEDS_YOU, "t1 is blocked")),
        (Outcome.CONFLICT, Status.WAITING, (Level.NEEDS_YOU, "t1 waits for you")),
        (Outcome.FAILED, Status.WAITING, (Level.NEEDS_YOU, "t1 waits for you")),
        (Outcome.FAILED, Status.DONE, (Level.ERROR, "t1 failed")),
    ],
)
def test_p11_each_way_in_which_a_task_does_not_go_on_by_itself(outcome, status, sent):
    context = board_scene(status, others=[Status.PENDING])

    assert shown(child_closed(outcome), context) == [(*sent, "Task 1")]


@pytest.mark.parametrize("mode", ["per-task", "auto"])
def test_b21_work_that_is_reviewed_by_itself_is_told_at_once(mode):
    """B21: also where only doubtful work is."""
    context = board_scene(Status.REVIEW, others=[Status.PENDING], review=mode)

    assert shown(child_closed(Outcome.DONE), context) == [
        (Level.NEEDS_YOU, "t1 waits for your review", "Task 1")
    ]


def test_b21_a_batch_of_reviews_is_told_once_when_nothing_is_at_work_any_more():
    """B21: what is collected calls nobody meanwhile, and what a person approves calls nobody."""
    at_work = board_scene(Status.REVIEW, others=[Status.ACTIVE])
    over = board_scene(Status.REVIEW, others=[Status.REVIEW, Status.FAILED])
    waits = (Level.NEEDS_YOU, "2 tasks wait for your review", "No other task is running.")

    assert shown(child_closed(Outcome.DONE), at_work) == []
    assert shown(child_closed(Outcome.DONE, ref="t2.1"), over) == [waits]
    assert shown(child_closed(Outcome.FAILED, ref="t3.1"), over)[1:] == [waits]
    assert shown(child_closed(Outcome.DONE, ref="t4.merge1"), over) == []


def test_b21_the_strictest_rule_of_a_tag_says_when_its_review_is_told():
    rules = [{"tag": "security", "mode": "per-task"}]
    context = board_scene(Status.REVIEW, others=[Status.ACTIVE], review_rules=rules)
    (task, _) = context.board.tasks()
    board = graph.update(context.board, task, tags=("security",))

    assert shown(child_closed(Outcome.DONE), context._replace(board=board))[0][1] == (
        "t1 waits for your review"
    )


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.DONE, Status.MERGING),
        (Outcome.DONE, Status.DONE),
        (Outcome.ABORTED, Status.PENDING),
        (Outcome.CONFLICT, Status.PENDING),
    ],
)
def test_p11_what_goes_on_by_itself_or_was_a_persons_wish_is_not_told(outcome, status):
    assert shown(child_closed(outcome), board_scene(status, others=[Status.PENDING])) == []


def test_p11_a_question_of_a_task_is_told_with_its_words():
    event = ChildWaited(at=AT, ref="t1.1", run=T1, reason="asks: which \x1b[31mcolour\x1b[0m?")

    assert shown(event, board_scene(Status.WAITING)) == [
        (Level.NEEDS_YOU, "t1 waits for you", "asks: which colour?")
    ]


def test_p11_a_board_is_complete_once():
    context = board_scene(Status.DONE, others=[Status.DONE, Status.SKIPPED])

    sent, first = alerts_for(SentAlerts(), child_closed(Outcome.DONE), context)
    sent, again = alerts_for(sent, child_closed(Outcome.DONE), context)
    spawn = MoveStarted(at=AT, id=MoveId(2), move=Spawn(kind="task", ref="t4.1", spec={}))
    sent, _ = alerts_for(sent, spawn, context)
    _, later = alerts_for(sent, child_closed(Outcome.DONE), context)

    complete = Alert(
        level=Level.DONE,
        title="The board is complete",
        text="2 done, 1 skipped",
        run=BOARD,
        at=AT,
    )
    assert (first, again, later) == ([complete], [], [complete])


def test_p11_a_board_that_was_complete_before_is_not_told_of():
    context = board_scene(Status.DONE)
    spec = BoardSpec(agents=("a",), target="main")

    assert shown(Commanded(at=AT, command=Equip(spec=spec)), context) == []


def test_p11_too_many_failures_in_a_row_are_told_once_until_somebody_acts():
    context = board_scene(Status.DONE, others=[Status.PENDING], is_braked=True)

    sent, first = alerts_for(SentAlerts(), child_closed(Outcome.DONE), context)
    sent, again = alerts_for(sent, child_closed(Outcome.DONE), context)
    sent, _ = alerts_for(sent, Commanded(at=AT, command=Resume()), context)
    _, later = alerts_for(sent, child_closed(Outcome.DONE), context)

    words = "9 tasks failed in a row"
    assert [(alert.title, alert.text) for alert in first] == [("The board waits for you", words)]
    assert (again, later) == ([], first)


def test_p11_a_board_at_its_limit_waits():
    limits = Limits(cost_microusd=1_000_000, at_limit=AtLimit.PAUSE)
    spent = Tally(cost_microusd=1_200_000)
    context = board_scene(Status.DONE, others=[Status.PENDING], limits=limits, tally=spent)

    assert shown(child_closed(Outcome.DONE), context) == [
        (Level.NEEDS_YOU, "The board waits for you", "limit reached: cost: $1.20 of $1.00")
    ]


def test_p11_the_share_of_a_board_is_of_what_it_was_given_this_time():
    limits = Limits(cost_microusd=105_000_000)
    begun = MoveStarted(at=AT, id=MoveId(1), move=Spawn(kind="task", ref="t1.1", spec={}))

    def context(spent):
        tally = Tally(cost_microusd=spent)
        return board_scene(Status.DONE, others=[Status.PENDING], limits=limits, tally=tally)

    sent, _ = alerts_for(SentAlerts(), begun, context(100_000_000))
    sent, little = alerts_for(sent, child_closed(Outcome.DONE), context(101_000_000))
    sent, much = alerts_for(sent, child_closed(Outcome.DONE), context(104_000_000))
    sent, still = alerts_for(sent, child_closed(Outcome.DONE), context(104_500_000))

    assert [(alert.title, alert.text) for alert in much] == [
        ("board has used 80 % of its budget", "$4.00 of $5.00")
    ]
    assert (little, still) == ([], [])


# --- other runs ---


def task_scene(*events, limits=None, run=T1, helm=None, **spec):
    pilot = PILOTS["task"]
    spec = {"task": "t1", "goal": "Do it", "agents": ["a"], **spec}
    state = runs.fold(pilot, [opened("task", spec, limits, title="Do it"), *events])
    return EventContext(run, state, KINDS["task"], helm or Helm())


def test_p11_a_turn_is_not_told():
    events = [turn(), Noted(at=AT, id=MoveId(1), items=(Item(kind="message", text="hm"),)), done()]

    assert [shown(each, task_scene(*events)) for each in events] == [[], [], []]


@pytest.mark.parametrize(
    ("ask", "title", "text"),
    [
        (Ask(id="1", text="rm -rf x"), "t1 asks to run a command", "rm -rf x"),
        (Ask(id="1", argv=("git", "push")), "t1 asks to run a command", "git push"),
        (Ask(id="1", kind="edit", paths=("a.py",)), "t1 asks to change files", "a.py"),
        (Ask(id="1", kind="question", text="Why?"), "t1 asks a question", "Why?"),
    ],
)
def test_p11_an_approval_is_asked_for(ask, title, text):
    event = Asked(at=AT, id=MoveId(1), ask=ask)

    assert shown(event, task_scene(turn(), event)) == [(Level.NEEDS_YOU, title, text)]


def test_p11_four_fifths_of_a_budget_are_told_once_until_it_is_raised():
    limits = Limits(cost_microusd=1_000_000)
    events = [turn(), done(cost=850_000)]
    context = task_scene(*events, limits=limits)

    sent, first = alerts_for(SentAlerts(), events[-1], context)
    sent, again = alerts_for(sent, events[-1], context)
    sent, _ = alerts_for(sent, Commanded(at=AT, command=Raise(limits=limits)), context)
    _, raised = alerts_for(sent, events[-1], context)

    assert [(alert.level, alert.title, alert.text) for alert in first] == [
        (Level.INFO, "t1 has used 85 % of its budget", "$0.85 of $1.00")
    ]
    assert (again, raised) == ([], first)


def limited(retry_after_s, kind=FailureKind.USAGE_LIMITED):
    return ended(Failed(kind=kind, retry_at=at(retry_after_s)))


def test_p11_all_agents_at_their_limits_are_told_once_until_one_works_again():
    event = limited(7200)
    context = task_scene(turn(), event)

    sent, first = alerts_for(SentAlerts(), event, context)
    sent, again = alerts_for(sent, event, context)
    sent, _ = alerts_for(sent, done(), context)
    _, later = alerts_for(sent, event, context)

    title = "t1: a is at its limit"
    assert [(alert.level, alert.title) for alert in first] == [(Level.INFO, title)]
    assert first[0].text.startswith("It continues by itself at ")
    assert (again, later) == ([], first)


def test_p11_another_agent_that_takes_over_or_a_short_wait_is_nobodys_concern():
    long, short = limited(7200), limited(5, FailureKind.RATE_LIMITED)

    assert shown(long, task_scene(turn(), long, agents=["a", "b"])) == []
    assert shown(short, task_scene(turn(), short)) == []


def auto_scene(*events, limits=None, helm=None):
    pilot = PILOTS["auto"]
    spec = {"goal": "Reach it", "agent": "a"}
    state = runs.fold(pilot, [opened("auto", spec, limits, title="Reach it"), *events])
    return EventContext(AUTO, state, KINDS["auto"], helm or Helm())


def test_p11_full_auto_at_its_limit_waits_for_a_person_but_not_while_all_is_stopped():
    limits = Limits(turns=1, at_limit=AtLimit.PAUSE)
    events = [turn(), done()]

    assert shown(events[-1], auto_scene(*events, limits=limits)) == [
        (Level.NEEDS_YOU, "auto1 waits for you", "limit reached: turns: 1 of 1")
    ]
    stopped = Helm(hold=Hold.STOPPED, stops=1)
    assert shown(events[-1], auto_scene(*events, limits=limits, helm=stopped)) == []


def plan_scene(plan):
    """The last event of a plan, and the state that it led to."""
    run = RunId("plan1")
    return plan.events[-1], EventContext(run, plan.state, KINDS["plan"], Helm())


def test_p11_a_plan_calls_a_person_after_a_failed_step_and_tells_its_end():
    plan = PlanSteps("# A\n- one\n", backoff={"retries": 0}, merge=False)
    plan.to_turn()
    plan.back(BROKEN)
    failed = shown(*plan_scene(plan))
    plan.told(Resume())
    resumed = shown(*plan_scene(plan))
    plan.back(PLAN_DONE)
    done = Closed(at=plan.now, outcome=Outcome.DONE, note="merged")

    text = "step 1.1 failed: crashed: it died"
    assert failed == [(Level.NEEDS_YOU, "plan1 waits for you", text)]
    assert resumed == []
    assert shown(done, plan_scene(plan)[1]) == [(Level.DONE, "plan1 is done", "merged")]


def test_p11_a_plan_that_a_failed_step_ended_is_told():
    plan = PlanSteps("# A\n- one\n", on_error="abort", backoff={"retries": 0})
    plan.to_turn()
    end = plan.back(BROKEN)
    closed = Closed(at=plan.now, outcome=end.outcome, note=end.note)

    text = "step 1.1 failed: crashed: it died"
    assert shown(closed, plan_scene(plan)[1]) == [(Level.ERROR, "plan1 failed", text)]


def test_p11_all_agents_of_a_plan_at_their_limits_are_told_with_the_time():
    plan = PlanSteps("# A\n- one\n", agents=["a", "b"], patience={"recover": True})
    plan.to_turn()
    hour = Failed(kind=FailureKind.USAGE_LIMITED, retry_at=plan.now + timedelta(hours=1))
    plan.back(hour)
    one = shown(*plan_scene(plan))
    plan.back(hour)
    [(level, title, text)] = shown(*plan_scene(plan))

    assert one == []
    assert (level, title) == (Level.INFO, "plan1: every agent is at its limit")
    assert text.startswith("It continues by itself at ")


def test_p11_a_step_that_waits_for_approval_is_told_also_the_first_one():
    plan = PlanSteps("# A\n- one\n- two\n", mode="step")
    step = "waits for your approval (`allstop plan approve plan1`)"
    first = shown(*plan_scene(plan))
    plan.told(Approve(task=""))
    plan.to_turn()
    plan.back(PLAN_DONE)
    second = shown(*plan_scene(plan))

    title = "plan1 waits for you"
    assert first == [(Level.NEEDS_YOU, title, f"step 1.1 {step}: one")]
    assert second == [(Level.NEEDS_YOU, title, f"step 1.2 {step}: two")]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.DONE, [(Level.DONE, "auto1 is done", "Reach it: merged")]),
        (Outcome.FAILED, [(Level.ERROR, "auto1 failed", "Reach it: merged")]),
        (Outcome.TIMED_OUT, [(Level.ERROR, "auto1 ran out of time", "Reach it: merged")]),
        (Outcome.BRAKED, [(Level.ERROR, "auto1 reached a limit", "Reach it: merged")]),
        (Outcome.CRASHED, [(Level.ERROR, "auto1 crashed", "Reach it: merged")]),
        (Outcome.BLOCKED, [(Level.NEEDS_YOU, "auto1 ended: blocked", "Reach it: merged")]),
        (Outcome.CONFLICT, [(Level.NEEDS_YOU, "auto1 ended: conflict", "Reach it: merged")]),
        (Outcome.ABORTED, []),
    ],
)
def test_p11_every_end_of_a_run(outcome, expected):
    event = Closed(at=AT, outcome=outcome, note="merged")

    assert shown(event, auto_scene(event)) == expected


def test_p11_a_child_leaves_its_end_to_its_parent():
    event = Closed(at=AT, outcome=Outcome.FAILED)

    assert shown(event, task_scene(event)) == []


def test_p11_an_allstop_is_told_with_its_receipt():
    event = Halted(at=AT, asked_at=AT, by="process 7", took_ms=31.0, discarded=("t1",))

    assert shown(event, EventContext(HELM)) == [
        (
            Level.STOPPED,
            "Allstop",
            "stopped in 31 ms by process 7: 0 process trees killed, 1 turn discarded",
        )
    ]


def test_p11_what_people_do_is_not_told_to_them():
    events = [
        Commanded(at=AT, command=Pause()),
        Commanded(at=AT, command=Resume()),
        ChildWentOn(at=AT, ref="t1.1", run=T1),
        ended(Spawned(run=T1)),
    ]

    assert [shown(each, board_scene()) for each in events] == [[], [], [], []]


# --- rooms ---


def room_scene(table):
    return EventContext(RunId("room-default"), table.run, KINDS["room"], Helm())


def talk(*replies, **more):
    table = RoomSteps(**more)
    for reply in replies:
        table.turn(reply)
    return shown(table.events[-1], room_scene(table))


def test_p11_a_guard_that_ends_a_session_is_told():
    [(level, title, text)] = talk(envelope("a"), envelope("b"), max_turns=2)

    assert (level, title) == (Level.STOPPED, "A limit ended the session")
    assert text.startswith("Collaboration stopped: emergency cap (")
    assert text.endswith("Goal: Write a fairy tale.")


def test_p11_a_session_that_ends_by_itself_is_told_and_an_answer_is_not():
    [(level, title, _)] = talk(envelope("a", final=True), mode=TalkMode.COLLABORATE)

    assert (level, title) == (Level.DONE, "The session is over")
    assert talk(envelope("a", final=True), mode=TalkMode.SINGLE) == []
    assert talk(envelope("a"), mode=TalkMode.AUTOPILOT) == []


def test_p11_texts_are_short_and_plain():
    reason = "asks: " + "long " * 500 + "\n\u202e"

    [(_, _, text)] = shown(ChildWaited(at=AT, ref="t1.1", run=T1, reason=reason), board_scene())

    assert len(text) == MAX_TEXT_CHARS
    assert "\n" not in text


def test_k23_a_secret_is_found_where_it_is_cut_or_hidden():
    """Half of a secret at the end of a text, or one with colours in it, is a secret too."""
    secret = "hunter2-hunter2"
    cut = "x" * (MAX_TEXT_CHARS - 10) + secret
    coloured = "hunter2\x1b[31m-hunter2"

    for text in (cut, coloured):
        alert = Alert(level=Level.INFO, title=coloured, text=text, run=T1, at=AT)
        shown = presentable(alert, "project", lambda line: line.replace(secret, "***"))

        assert shown.title == "project: ***"
        assert "hunter2" not in shown.text
