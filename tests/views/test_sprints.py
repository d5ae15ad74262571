"""S2, S3, S6: the record of a sprint, its alerts, and its usage."""

import json
from datetime import timedelta

import msgspec

from allstop.board.task_pilot import TaskPilot
from allstop.core.board_specs import SprintSpec, Target, TargetKind
from allstop.core.brakes import Limits, Tally
from allstop.core.commands import (
    Approve,
    CancelSprint,
    PauseSprint,
    ResumeSprint,
    StartSprint,
)
from allstop.core.events import MoveStarted
from allstop.core.ids import BOARD
from allstop.core.moves import EndSprint, Outcome, TurnDone
from allstop.kinds import KINDS
from allstop.views.alerts import EventContext, SentAlerts, alerts_for
from allstop.views.sprints import all_sprints, sprint_of_attempts, stats_of, usage_of, view
from support.pilot_steps import BoardSteps, PilotSteps
from support.strategies import NOW

TWO = SprintSpec(target=Target(type=TargetKind.COUNT, value=2), pause_on_error=True)


def board_with(*tasks, **spec):
    board = BoardSteps(**{"mode": "semi", "slots": 1, "merge": False, "attempt_s": 90.0, **spec})
    board.add(*tasks)
    return board


def ms(seconds):
    return round((NOW + timedelta(seconds=seconds)).timestamp() * 1000)


def test_s3_the_record_has_the_documented_fields_and_units():
    board = board_with("a", "b", review="batch")
    board.tell(StartSprint(sprint=TWO))
    board.wait(10).ends("a.1", turns=3)
    board.wait(5).ends("b.1", Outcome.TIMED_OUT, turns=2)
    board.wait(1).tell(Approve(task="a"))

    record = json.loads(msgspec.json.encode(stats_of(board.state.pilot.sprints[0])))

    assert record == {
        "id": "sprint1",
        "startedAt": ms(0),
        "endedAt": ms(15),
        "target": {"type": "count", "value": 2},
        "totalTasks": 2,
        "completedTasks": 1,
        "failedTasks": 1,
        "reviewingTasks": 0,
        "taskStats": [
            {
                "taskId": "a",
                "startedAt": ms(0),
                "completedAt": ms(10),
                "iterations": 3,
                "verificationPassed": True,
                "reviewDecision": "approved",
            },
            {
                "taskId": "b",
                "startedAt": ms(10),
                "completedAt": ms(15),
                "iterations": 2,
                "verificationPassed": False,
            },
        ],
        "settings": {
            "maxIterations": 50,
            "taskTimeout": 2,
            "pauseOnStuck": False,
            "pauseOnErrors": True,
        },
    }


def test_k7_usage_counts_every_attempt_that_a_sprint_has_started():
    board = board_with("a", "b")
    board.tell(StartSprint(sprint=TWO))
    board.wait(1).ends("a.1", turns=3)
    state = board.state.pilot
    (sprint,) = all_sprints(state)

    assert usage_of(sprint, state, {"board/b.1": Tally(turns=4)}).turns == 7
    assert sprint_of_attempts(state) == {"board/a.1": "sprint1", "board/b.1": "sprint1"}
    shown = view(sprint, state, board.now, {}, Limits(cost_microusd=5_000_000))
    assert (shown.at_work, shown.turns, shown.cost_limit_usd) == (("b",), 3, 5.0)
    assert (shown.ended_at, shown.total_tasks, shown.completed_tasks) == (None, 2, 1)


# --- alerts ---


def alerts_of(board, event, sent=None):
    context = EventContext(BOARD, board.state, KINDS["board"], board=board.state.pilot.board)
    sent, alerts = alerts_for(sent or SentAlerts(), event, context)
    return sent, [(alert.level.value, alert.title, alert.text) for alert in alerts]


def test_s6_a_start_a_resume_and_the_end_of_a_sprint_notify():
    board = board_with("a", "b")
    board.tell(StartSprint(sprint=TWO))
    started = board.events[-3]  # then the task starts
    assert alerts_of(board, started)[1] == [("info", "sprint1 has started", "2 tasks")]

    board.tell(PauseSprint())
    board.tell(ResumeSprint())
    assert alerts_of(board, board.events[-1])[1] == [("info", "sprint1 continues", "")]
    board.wait(1).ends("a.1")
    board.wait(1).ends("b.1")
    (ended,) = [
        event
        for event in board.events
        if isinstance(event, MoveStarted) and isinstance(event.move, EndSprint)
    ]
    title = "sprint1 has ended: its target is reached"
    assert alerts_of(board, ended)[1] == [("done", title, "2 tasks finished")]


def test_s6_a_cancel_notifies_too():
    board = board_with("a", "b")
    board.tell(StartSprint(sprint=TWO))
    board.wait(1).told(CancelSprint())

    title = "sprint1 has ended: a person cancelled it"
    assert alerts_of(board, board.events[-1])[1] == [("done", title, "0 tasks finished")]


def test_s1_a_sprint_that_pauses_by_itself_needs_a_person_once():
    board = board_with("a", "b")
    board.tell(StartSprint(sprint=TWO))
    board.ends("a.1", Outcome.FAILED)

    sent, found = alerts_of(board, board.events[-1])
    assert ("needs_you", "sprint1 is paused", "a failed") in found
    assert not any("paused" in title for _, title, _ in alerts_of(board, board.events[-1], sent)[1])


def test_s1_a_stuck_task_that_waits_is_not_said_to_continue():
    for waits, expected in ((False, ["t: no commit for 2 iterations"]), (True, [])):
        steps = PilotSteps(
            TaskPilot(),
            {"task": "t", "goal": "x", "agents": ["a"], "stuck_after": 2, "stuck_waits": waits},
        )
        steps.back(TurnDone(text="one"))
        steps.back(TurnDone(text="two"))
        context = EventContext("board/t.1", steps.state, KINDS["task"])

        _, alerts = alerts_for(SentAlerts(), steps.events[-1], context)

        assert [alert.title for alert in alerts] == expected
