"""S1, S2, S6: sprints of a board, from their start to their record."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.board import graph
from allstop.board.attempt import NO_PROGRESS
from allstop.board.sprint import CANCELLED, NOTHING_READY, OUT_OF_BUDGET, REACHED
from allstop.board.sprint_states import TRANSITIONS, Action, Phase, Trigger, after
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec, Filters, Mode, SprintSpec, Target, TargetKind
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import (
    Approve,
    Assign,
    CancelSprint,
    Equip,
    PauseSprint,
    Raise,
    Redo,
    Reject,
    ResumeSprint,
    Retry,
    SetMode,
    StartSprint,
)
from allstop.core.events import Commanded
from allstop.core.moves import (
    EndSprint,
    Failed,
    FailureKind,
    MakeCheckpoint,
    Outcome,
    Spawn,
    Wait,
)
from allstop.core.replay import differences
from allstop.core.tasks import NewTask
from support.pilot_steps import BoardSteps
from support.strategies import NOW

NO_MERGE = {"merge": False}


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def count(number, **options):
    return SprintSpec(target=Target(type=TargetKind.COUNT, value=number), **options)


def until(at, **options):
    return SprintSpec(target=Target(type=TargetKind.UNTIL_TIME, value="x"), ends_at=at, **options)


def board_with(*tasks, **spec):
    """A board in semi mode, so that nothing starts before the sprint."""
    board = BoardSteps(**{"mode": "semi", "slots": 2, **NO_MERGE, **spec})
    board.add(*tasks)
    return board


def start(board, spec):
    return board.tell(StartSprint(sprint=spec))


def sprint_of(board):
    return board.state.pilot.sprint


def last(board):
    return board.state.pilot.sprints[-1]


# --- targets ---


def test_s1_a_count_of_finished_tasks_ends_a_sprint_and_failed_ones_count():
    board = board_with("a", "b", "c", "d", "e")

    assert start(board, count(3)) == ["a.1", "b.1"]
    assert board.ends("a.1") == ["c.1"]
    assert board.ends("b.1", Outcome.FAILED) == []
    assert sprint_of(board).phase is Phase.RUNNING
    assert board.ends("c.1", Outcome.BLOCKED) == []
    assert (last(board).completed, last(board).reason) == (3, REACHED)
    assert board.status("d", "e") == ["pending", "pending"]
    assert board.next() == Wait(reason="nothing to do", for_person=True)


def test_s6_a_crash_or_an_abort_does_not_finish_a_task():
    board = board_with("a", "b", slots=1)
    start(board, count(1))

    assert board.ends("a.1", Outcome.CRASHED) == ["b.1"]
    assert board.ends("b.1", Outcome.ABORTED) == ["a.2"]
    assert board.ends("a.2", Outcome.TIMED_OUT) == []
    assert list(last(board).finished) == ["a"]


def test_s6_z5_a_task_counts_although_the_clock_was_set_back():
    """Z5: clocks of machines differ, too; a board that can't be read would stand still forever."""
    board = board_with("a", "b", slots=1)
    board.wait(60)
    board._write(Commanded(at=board.now, command=StartSprint(sprint=count(1))))
    assert board.wait(-30).go() == ["a.1"]

    assert board.ends("a.1") == []
    assert (list(last(board).finished), last(board).reason) == (["a"], REACHED)


def test_s2_at_its_time_nothing_starts_and_what_runs_is_finished_and_counted():
    board = board_with("a", "b", "c", slots=1)
    start(board, until(later(60)))
    board.wait(59)
    assert board.ends("a.1") == ["b.1"]
    board.wait(1)

    assert sprint_of(board).phase_at(board.now) is Phase.COMPLETING
    assert board.ends("b.1") == []
    assert (last(board).ended_at, sorted(last(board).finished)) == (later(60), ["a", "b"])
    assert board.status("c") == ["pending"]


def test_s6_no_ready_task_ends_any_sprint():
    board = board_with("a", NewTask(id="b", title="b", needs=("a",)), review="batch")
    start(board, count(5))

    assert board.ends("a.1") == []
    assert (last(board).reason, board.status("a", "b")) == (NOTHING_READY, ["review", "pending"])


def test_s2_a_merge_that_makes_tasks_ready_belongs_to_the_sprint():
    board = board_with("a", NewTask(id="b", title="b", needs=("a",)), merge=True)
    start(board, SprintSpec())

    assert board.ends("a.1") == ["a.merge1"]
    assert sprint_of(board) is not None
    assert board.ends("a.merge1", commit="c") == ["b.1"]


def test_s2_a_merge_that_waits_for_a_person_holds_no_sprint():
    board = board_with("a", merge=True)
    start(board, SprintSpec())
    board.ends("a.1")

    assert board.waits("a.merge1", "main is checked out, with changes") == []
    assert last(board).reason == NOTHING_READY


def test_s2_a_conflict_is_solved_within_the_sprint_and_counted_once():
    board = board_with("a", "b", merge=True, slots=1)
    start(board, count(1))
    board.ends("a.1")

    assert board.ends("a.merge1", Outcome.CONFLICT) == ["a.2"]
    assert board.ends("a.2", turns=2) == ["a.merge2"]
    board.ends("a.merge2", commit="c")
    task = last(board).finished["a"]
    assert (task.iterations, task.attempt, board.status("b")) == (3, "board/a.2", ["pending"])


def test_s1_a_task_that_asks_belongs_to_the_sprint_until_it_has_ended():
    board = board_with("a", "b", "c", slots=1)
    start(board, count(2))

    assert board.waits("a.1") == ["b.1"]
    assert board.ends("b.1") == []
    assert sprint_of(board).open == {"a"}
    board.goes_on("a.1")
    board.ends("a.1")
    assert sorted(last(board).finished) == ["a", "b"]


def test_s2_nothing_else_starts_after_a_sprint_until_a_person_wants_it():
    board = board_with("a", "b", slots=1)
    start(board, count(1))
    board.ends("a.1")
    assert board.next() == Wait(reason="nothing to do", for_person=True)

    spec = BoardSpec(target="main", agents=("cli",), merge=False)
    assert board.tell(Equip(spec=spec, anew=False)) == []
    assert board.tell(Equip(spec=spec)) == ["b.1"]


def test_b25_named_tasks_are_started_during_and_after_a_sprint_and_do_not_count():
    board = board_with("a", NewTask(id="b", title="b", operation="other"), "c", slots=3)
    start(board, count(1, filters=Filters(include_operations=("",))))
    assert board.tell(Assign(task="b")) == ["b.1"]
    board.ends("b.1", Outcome.FAILED)
    board.ends("a.1")

    assert list(last(board).finished) == ["a"]
    assert board.tell(Assign(task="c")) == ["c.1"]
    assert board.tell(Retry(task="b"), Assign(task="b")) == ["b.2"]


def test_s2_a_time_ends_a_sprint_although_nothing_may_start_before():
    board = board_with("a")
    board.told(StartSprint(sprint=until(later(60))))
    board.told(SetMode(mode=Mode.SEMI))
    assert board.next() == Wait(reason="nothing to do", until=later(60), for_person=True)

    board.wait(60)
    board.go()

    assert (last(board).reason, last(board).taken) == (REACHED, ())


# --- filters ---


def test_s1_the_ready_tasks_of_a_sprint_are_counted():
    board = board_with(
        NewTask(id="a", title="a", tags=("x",), operation="north"),
        NewTask(id="b", title="b", tags=("x",)),
        NewTask(id="c", title="c", tags=("x",), needs=("a",)),
        "other",
        slots=1,
    )
    assert graph.count_favored(board.board, 9) == 3
    board.told(StartSprint(sprint=SprintSpec(filters=Filters(include_tags=("x",)))))

    assert [graph.count_favored(board.board, most) for most in (9, 1)] == [2, 1]
    board.tell(Assign(task="other"))
    assert graph.count_favored(board.board, 9) == 2


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), ["api", "bill", "docs", "none"]),
        (Filters(include_operations=("pay",)), ["api", "bill"]),
        (Filters(exclude_operations=("pay",)), ["docs", "none"]),
        (Filters(include_tags=("api", "text")), ["api", "docs"]),
        (Filters(exclude_tags=("text",)), ["api", "bill", "none"]),
        (Filters(include_operations=("pay",), exclude_tags=("api",)), ["bill"]),
    ],
)
def test_s1_filters_take_tasks_by_operation_and_tag(filters, expected):
    tasks = [
        NewTask(id="api", title="a", operation="pay", tags=("api",)),
        NewTask(id="bill", title="b", operation="pay"),
        NewTask(id="docs", title="d", tags=("text",)),
        NewTask(id="none", title="n"),
    ]
    board = board_with(*tasks, slots=9)

    started = start(board, SprintSpec(filters=filters))

    assert sorted(ref.removesuffix(".1") for ref in started) == expected


def test_s1_a_filter_finds_its_task_among_many_others():
    many = [NewTask(id=f"t{n}", title="t", priority=9) for n in range(1000)]
    board = board_with(*many, NewTask(id="rare", title="r", tags=("rare",)), slots=1)

    only = SprintSpec(filters=Filters(include_tags=("rare",)))
    assert start(board, only) == ["rare.1"]
    assert board.ends("rare.1") == []
    spec = BoardSpec(target="main", agents=("cli",), merge=False, slots=1)
    assert board.tell(Equip(spec=spec)) == ["t0.1"]  # the order is the usual one again


# --- options ---


def test_s1_a_checkpoint_comes_before_the_first_task():
    board = BoardSteps(mode="semi", slots=1, **NO_MERGE)
    board.add("a")

    move = board.told(StartSprint(sprint=SprintSpec(checkpoint_before=True)))

    assert move == MakeCheckpoint(checkpoint="sprint1", target="main")
    assert board.back(Failed(kind=FailureKind.INTERRUPTED)) == move
    assert board.go() == ["a.1"]
    made = sprint_of(board).checkpoint
    assert (made.name, made.commit, made.target) == ("sprint1", "tip", "main")


def test_s1_a_sprint_without_its_checkpoint_waits_for_a_person():
    board = BoardSteps(mode="semi", slots=1, **NO_MERGE)
    board.add("a")
    board.told(StartSprint(sprint=SprintSpec(checkpoint_before=True)))

    move = board.back(Failed(kind=FailureKind.CRASHED, message="no branch main"))

    reason = "sprint1 is paused: the checkpoint can't be made: no branch main"
    assert move == Wait(reason=reason, for_person=True)
    assert board.tell(ResumeSprint()) == ["a.1"]


def test_s1_pause_on_error_pauses_after_a_failed_task_only():
    board = board_with("a", "b", "c", "d", slots=1)
    start(board, SprintSpec(pause_on_error=True))

    assert board.ends("a.1", Outcome.TIMED_OUT) == ["b.1"]
    assert board.ends("b.1", Outcome.FAILED) == []
    assert board.next() == Wait(reason="sprint1 is paused: b failed", for_person=True)
    assert board.tell(ResumeSprint()) == ["c.1"]


def test_s1_pause_on_stuck_lets_a_stuck_task_wait_and_pauses_the_sprint():
    board = board_with("a", "b", "c", slots=2)
    start(board, SprintSpec(pause_on_stuck=True))
    assert board.spec_of("a.1")["stuck_waits"] is True

    assert board.waits("a.1", f"{NO_PROGRESS}: no commit for 5 iterations") == []
    assert sprint_of(board).note == f"a is stuck: {NO_PROGRESS}: no commit for 5 iterations"
    assert board.ends("b.1") == []
    assert board.tell(ResumeSprint()) == ["c.1"]


def test_s1_a_question_is_not_stuck():
    board = board_with("a", "b", slots=1)
    start(board, SprintSpec(pause_on_stuck=True))

    assert board.waits("a.1") == ["b.1"]


@pytest.mark.parametrize(
    ("mode", "batch", "status"),
    [
        ("skip", True, "review"),
        ("auto", True, "review"),
        ("per-task", True, "review"),
        ("batch", False, "done"),  # as [review] mode = "auto": nothing was found
        ("skip", False, "done"),
        ("skip", None, "done"),
        ("batch", None, "review"),
        ("per-task", False, "review"),
    ],
)
def test_s1_batch_review_collects_finished_work(mode, batch, status):
    board = board_with("a", review=mode)
    start(board, SprintSpec(batch_review=batch))

    board.ends("a.1", clean="yes")

    assert board.status("a") == [status]


def test_s6_a_start_switches_to_autopilot_and_a_second_one_changes_nothing():
    board = board_with("a", "b", slots=1)
    start(board, count(1))
    first = sprint_of(board)

    assert board.state.pilot.spec.mode is Mode.AUTOPILOT
    assert start(board, count(9)) == []
    assert sprint_of(board) == first


# --- pause, resume, cancel ---


def test_s2_a_paused_sprint_starts_nothing_and_counts_what_finishes():
    board = board_with("a", "b", "c", slots=1)
    start(board, count(2))
    board.tell(PauseSprint())

    assert board.ends("a.1") == []
    assert (sprint_of(board).phase, sprint_of(board).completed) == (Phase.PAUSED, 1)
    assert board.tell(ResumeSprint()) == ["b.1"]


def test_s2_a_target_reached_during_a_pause_ends_the_sprint_when_it_is_resumed():
    board = board_with("a", "b", slots=1)
    start(board, count(1))
    board.tell(PauseSprint())
    board.ends("a.1")

    assert sprint_of(board).phase is Phase.PAUSED
    assert board.tell(ResumeSprint()) == []
    assert last(board).reason == REACHED


def test_s6_a_cancel_ends_it_at_once_and_tasks_at_work_do_not_count():
    board = board_with("a", "b", "c", "d")
    start(board, count(4))
    board.ends("a.1")
    board.wait(5)

    assert board.tell(CancelSprint()) == []
    over = last(board)
    assert (over.phase, over.ended_at, over.reason) == (Phase.IDLE, later(5), CANCELLED)
    assert (list(over.finished), over.taken) == (["a"], ("a", "b", "c"))
    assert board.ends("b.1") == []
    assert (board.status("b", "d"), list(last(board).finished)) == (["done", "pending"], ["a"])


def test_s2_a_sprint_that_has_reached_its_target_starts_no_more_though_a_task_is_redone():
    board = board_with("a", "b", "c", slots=2, review="batch")
    start(board, until(later(10)))
    board.wait(11)
    board.ends("a.1")

    assert board.tell(Redo(task="a", text="again")) == ["a.2"]
    assert sprint_of(board).phase is Phase.COMPLETING
    board.ends("b.1")
    board.ends("a.2")
    assert (sorted(last(board).finished), board.status("c")) == (["a", "b"], ["pending"])


# --- decisions ---


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        (Approve(task="a"), "approved"),
        (Redo(task="a", text="again"), "redo"),
        (Reject(task="a"), "rejected"),
    ],
)
def test_s3_a_decision_is_noted_in_the_sprint_that_did_the_work(command, decision):
    board = board_with("a", "b", slots=1, review="batch")
    start(board, count(1))
    board.ends("a.1")
    start(board, count(1))
    board.tell(command)

    assert [s.finished["a"].decision for s in board.state.pilot.sprints] == [decision]


def test_s3_work_after_the_sprint_is_not_its_own():
    board = board_with("a", slots=1, review="batch")
    start(board, count(1))
    board.ends("a.1")
    board.tell(Redo(task="a", text="again"))
    board.ends("a.2")
    board.tell(Approve(task="a"))

    assert last(board).finished["a"].decision == "redo"


# --- budgets ---


def test_k5_a_sprint_that_stops_at_its_limit_ends_when_nothing_of_it_is_at_work():
    board = board_with("a", "b", "c", slots=1)
    start(board, SprintSpec(at_limit=AtLimit.STOP))
    board.tell(Raise(limits=Limits(turns=1, at_limit=AtLimit.PAUSE)))

    board.ends("a.1")

    assert last(board).reason == OUT_OF_BUDGET


def test_k5_a_sprint_that_pauses_at_its_limit_waits_for_a_person():
    board = board_with("a", "b", slots=1)
    start(board, SprintSpec())
    board.tell(Raise(limits=Limits(turns=1, at_limit=AtLimit.PAUSE)))

    board.ends("a.1")

    assert sprint_of(board) is not None
    assert board.next().at_limit


# --- the table ---


def test_s2_every_transition_and_action_of_the_document_is_in_the_table():
    idle, configuring, running = Phase.IDLE, Phase.CONFIGURING, Phase.RUNNING
    expected = [
        (idle, "OPEN_SPRINT_PANEL", configuring, set()),
        (
            configuring,
            "START_SPRINT",
            running,
            {"createCheckpoint", "initializeSprintStats", "notifySprintStarted"},
        ),
        (configuring, "CANCEL", idle, set()),
        (running, "TASK_COMPLETED", running, {"updateSprintStats"}),
        (running, "TASK_FAILED", running, {"updateSprintStats"}),
        (running, "TARGET_REACHED", Phase.COMPLETING, set()),
        (running, "PAUSE_SPRINT", Phase.PAUSED, set()),
        (running, "CANCEL_SPRINT", idle, {"saveSprintStats"}),
        (Phase.PAUSED, "RESUME_SPRINT", running, {"notifySprintStarted"}),
        (Phase.PAUSED, "CANCEL_SPRINT", idle, {"saveSprintStats"}),
        (
            Phase.COMPLETING,
            "TASKS_FINISHED",
            idle,
            {"saveSprintStats", "notifySprintCompleted"},
        ),
    ]

    for phase, trigger, to, actions in expected:
        transition = after(phase, Trigger(trigger))
        assert transition is not None, (phase, trigger)
        assert (transition.to, set(transition.actions)) == (to, actions), (phase, trigger)
    reachable = {each.to for row in TRANSITIONS.values() for each in row.values()}
    assert reachable == set(Phase)
    used = {a for row in TRANSITIONS.values() for each in row.values() for a in each.actions}
    assert used == set(Action)


STEPS = st.lists(
    st.sampled_from(["start", "pause", "resume", "cancel", "done", "failed", "wait", "redo"]),
    max_size=25,
)


def _walk(board, phase, step):
    """Do one step on the board; gives the phase that the table names for it."""
    running = board.state.pilot.sprint
    at_work = sorted(board.state.pilot.refs)
    match step:
        case "start":
            start(board, count(3))
            if phase is Phase.IDLE:
                panel = after(phase, Trigger.OPEN_SPRINT_PANEL)
                phase = after(panel.to, Trigger.START_SPRINT).to
        case "pause" | "resume" | "cancel":
            command, trigger = {
                "pause": (PauseSprint(), Trigger.PAUSE_SPRINT),
                "resume": (ResumeSprint(), Trigger.RESUME_SPRINT),
                "cancel": (CancelSprint(), Trigger.CANCEL_SPRINT),
            }[step]
            board.tell(command)
            phase = transition.to if (transition := after(phase, trigger)) else phase
        case "done" | "failed" if at_work:
            passed = step == "done"
            counts = running is not None and board.state.pilot.refs[at_work[0]] in running.open
            board.ends(at_work[0], Outcome.DONE if passed else Outcome.FAILED)
            trigger = Trigger.TASK_COMPLETED if passed else Trigger.TASK_FAILED
            if counts:
                phase = after(phase, trigger).to
        case "wait":
            board.wait(30)
        case "redo":
            board.tell(Redo(task="t0", text="again"))
    return phase


def _settled(board, phase):
    """The document's `always`: a target leads to `completing`, and no task at work to `idle`."""
    current = board.state.pilot.sprint
    if current is not None and phase is Phase.RUNNING and current.is_reached(board.now):
        phase = after(phase, Trigger.TARGET_REACHED).to
    if current is None and phase is Phase.RUNNING:
        phase = after(phase, Trigger.TARGET_REACHED).to
    if current is None and phase is Phase.COMPLETING:
        phase = after(phase, Trigger.TASKS_FINISHED).to
    return phase


@given(STEPS)
def test_s2_a_board_walks_the_table_whatever_happens(steps):
    board = board_with(*(f"t{n}" for n in range(8)), review="batch", errors=0)
    phase = Phase.IDLE

    for step in steps:
        phase = _settled(board, _walk(board, phase, step))
        current = board.state.pilot.sprint
        assert (current.phase if current else Phase.IDLE) is phase, (step, steps)
        if current is not None:
            assert len(current.finished.keys() | current.open) <= 3
            assert set(current.open) <= set(board.state.pilot.refs.values())
    ids = [each.id for each in board.state.pilot.sprints]
    assert ids == [f"sprint{number}" for number in range(1, len(ids) + 1)]
    assert all(each.ended_at is not None for each in board.state.pilot.sprints)
    assert differences(board._pilot, board.events) == []
    assert runs.fold(board._pilot, board.events) == board.state


def test_s2_the_end_is_a_move_of_the_record():
    board = board_with("a", slots=1)
    board.told(StartSprint(sprint=count(1)))
    assert isinstance(board.next(), Spawn)
    board.go()
    board.ends("a.1")

    ends = [e.move for e in board.events if isinstance(getattr(e, "move", None), EndSprint)]
    assert ends == [EndSprint(sprint="sprint1", reason=REACHED)]
