"""B5, B11, B12, B17, B18, B19, B21: the board pilot and its child runs."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.board.attempt import NO_PROGRESS_WAIT
from allstop.core.board_specs import EDITION, AgentTerms, BoardSpec, Mode, TaskSpec
from allstop.core.brakes import AtLimit, Limits, Tally
from allstop.core.commands import (
    AddTasks,
    Approve,
    Assign,
    Equip,
    Pin,
    Raise,
    Resume,
    Retry,
    SetMode,
    Skip,
)
from allstop.core.events import ChildClosed
from allstop.core.moves import Outcome, Spawn, Wait
from allstop.core.tasks import Attempt, NewTask, Status
from support.pilot_steps import BoardSteps
from support.strategies import NOW

NO_MERGE = {"merge": False}
NEUTRAL = [Outcome.BLOCKED, Outcome.TIMED_OUT, Outcome.BRAKED, Outcome.ABORTED]


def need(name, *needs, **more):
    return NewTask(id=name, title=name, needs=needs, **more)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


# --- slots ---


def test_b5_free_slots_take_ready_tasks_at_once_and_no_more():
    board = BoardSteps(slots=2)

    assert board.add("a", "b", "c") == ["a.1", "b.1"]
    assert board.status("a", "b", "c") == ["active", "active", "pending"]
    assert board.next() == Wait(reason="2 at work")


def test_b5_there_is_no_batch_whoever_ends_makes_room_at_once():
    board = BoardSteps(slots=2, **NO_MERGE)
    board.add("slow", "b", "c", "d")

    assert board.ends("b.1") == ["c.1"]
    assert board.ends("c.1", Outcome.FAILED) == ["d.1"]
    assert board.status("slow") == ["active"]


def test_b5_b20_a_held_task_frees_its_slot_and_takes_one_again_when_it_goes_on():
    board = BoardSteps(slots=1, **NO_MERGE)
    board.add("a", "b", "c")

    assert board.rests("a.1") == ["b.1"]
    assert board.status("a") == ["active"]
    assert board.next() == Wait(reason="1 at work, 1 held")
    board.goes_on("a.1")
    assert board.next() == Wait(reason="2 at work")
    assert board.ends("b.1") == []
    assert board.ends("a.1") == ["c.1"]


def test_b5_when_the_whole_board_goes_on_nothing_takes_the_slots_of_those_that_were_held():
    board = BoardSteps(slots=1)
    board.add("a")
    board.rests("a.1")

    assert board.tell(Resume(), AddTasks(tasks=(need("b"),))) == []


def test_b5_one_that_waits_for_a_person_frees_its_slot_once_only():
    board = BoardSteps(slots=1)
    board.add("a", "b", "c")

    assert board.waits("a.1") == ["b.1"]
    assert board.rests("a.1") == []


def test_k13_while_one_agent_is_limited_tasks_of_others_start_and_no_more_of_its_own():
    board = BoardSteps(slots=1, agents=["a"])
    board.add("t1", "t2", need("t3", agent="b"))

    assert board.rests("t1.1", "every agent is at its limit", later(60)) == ["t3.1"]
    board.ends("t3.1", Outcome.FAILED)
    assert board.next() == Wait(reason="1 held", until=later(60))
    assert board.goes_on("t1.1") == []
    assert board.ends("t1.1", Outcome.FAILED) == ["t2.1"]


def test_k13_after_the_limit_its_task_takes_a_slot_though_nobody_said_that_it_goes_on():
    board = BoardSteps(slots=1, agents=["a"])
    board.add("t1", "t2")
    board.rests("t1.1", "every agent is at its limit", later(60))

    board.wait(60)
    assert board.next() == Wait(reason="1 at work")


def test_k13_after_the_limit_others_start_by_themselves_where_there_are_slots():
    """K13: the limited task may be held by then and report nothing."""
    board = BoardSteps(slots=2, agents=["a"])
    board.add("t1")
    board.rests("t1.1", "every agent is at its limit", later(60))
    assert board.next() == Wait(reason="1 held")
    board.add("t2")
    assert board.next() == Wait(reason="1 held", until=later(60))

    board.wait(60)
    assert board.next().ref == "t2.1"


def test_b5_what_an_end_makes_ready_starts_with_it():
    board = BoardSteps(slots=3, **NO_MERGE)
    board.add("a", need("b", "a"), need("c", "a"), need("d", "b", "c"))

    assert board.ends("a.1") == ["b.1", "c.1"]
    assert board.ends("b.1") == []
    assert board.ends("c.1") == ["d.1"]


def test_b2_where_work_is_merged_a_need_is_met_by_the_merge_and_not_before():
    board = BoardSteps()
    board.add("a", need("b", "a"))

    assert board.ends("a.1") == ["a.merge1"]
    assert board.status("a", "b") == ["merging", "pending"]
    assert board.ends("a.merge1", commit="m1") == ["b.1"]


def test_b2_the_slot_is_free_once_verification_has_ended():
    board = BoardSteps(slots=1)
    board.add("a", "b")

    assert board.ends("a.1") == ["a.merge1", "b.1"]


@given(st.integers(1, 4), st.lists(st.sampled_from(list(Outcome)), max_size=30))
def test_b5_no_slot_is_idle_while_something_is_ready(slots, outcomes):
    board = BoardSteps(slots=slots, errors=0, **NO_MERGE)
    board.add(*(f"t{n}" for n in range(12)))
    for outcome in outcomes:
        open_refs = sorted(board.state.pilot.refs)
        if open_refs:
            board.ends(open_refs[0], outcome)

        active = board.board.count(Status.ACTIVE)
        ready = [t for t in board.board.tasks() if t.status is Status.PENDING and not t.held]
        assert active == slots or not ready
        assert active <= slots


def test_b5_a_task_starts_with_all_that_the_board_was_equipped_with():
    board = BoardSteps(
        agents=["anna", "ben"],
        terms={"ben": {"done": "exit", "turn_s": 9.0, "idle_s": 8.0, "max_tokens": 70}},
        gate={"checks": [{"name": "T", "run": "t"}], "keep_going": True, "protected": ["x/**"]},
        iterations=7,
        attempt_s=100.0,
        stuck_after=2,
        limits={"tokens": 1000},
    )
    board.add("plain")
    board.add(need("own", agent="ben", iterations=3, minutes=2.0, body="more"))

    plain, own = (msgspec.convert(move.spec, TaskSpec) for move in board.spawned)
    assert plain == TaskSpec(
        task="plain",
        goal="plain",
        agents=("anna", "ben"),
        target="main",
        checks=plain.checks,
        keep_going=True,
        protected=("x/**",),
        iterations=7,
        attempt_s=100.0,
        stuck_after=2,
        terms={"ben": AgentTerms(done="exit", turn_s=9.0, idle_s=8.0, max_tokens=70)},
        stop_stashes=False,
        crash_ends=True,
        edition=EDITION,
    )
    assert (own.agents, own.goal) == (("ben", "anna"), "own\n\nmore")
    assert (own.iterations, own.attempt_s) == (3, 120.0)
    assert (own.done, own.turn_s, own.idle_s, own.max_tokens) == ("exit", 9.0, 8.0, 70)
    assert [move.limits.tokens for move in board.spawned] == [1000, 1000]


def test_b9_the_time_of_a_task_goes_before_that_of_its_agent_and_that_before_the_loops():
    board = BoardSteps(
        agents=["anna", "ben"], terms={"ben": {"attempt_s": 900.0}}, attempt_s=100.0, slots=9
    )
    board.add("plain")
    board.add(need("his", agent="ben"), need("own", agent="ben", minutes=2.0))

    plain, his, own = (msgspec.convert(move.spec, TaskSpec) for move in board.spawned)
    assert [plain.attempt_s_of(name) for name in ("anna", "ben")] == [100.0, 900.0]
    assert [his.attempt_s_of(name) for name in ("anna", "ben")] == [100.0, 900.0]
    assert [own.attempt_s_of(name) for name in ("anna", "ben")] == [120.0, 120.0]


def test_b2_where_merging_is_off_the_work_is_brought_home_to_a_branch_and_done():
    board = BoardSteps(**NO_MERGE)
    board.add("a")

    assert board.spec_of("a.1")["branch"] == "allstop/a"
    assert board.ends("a.1") == []
    assert board.status("a") == ["done"]


def test_p5_a_tasks_own_agent_falls_back_on_what_the_settings_say_and_on_nobody_else():
    alone = BoardSteps(agents=["a"], fallbacks=[])
    alone.add(need("t", agent="b"), "u")
    backed = BoardSteps(agents=["a", "c"], fallbacks=["c"])
    backed.add(need("t", agent="b"))

    assert [move.spec["agents"] for move in alone.spawned] == [["b"], ["a"]]
    assert backed.spec_of("t.1")["agents"] == ["b", "c"]


def test_k13_no_task_starts_whose_agents_share_the_account_that_is_limited():
    terms = {"a": {"account": "x"}, "b": {"account": "x"}, "c": {"account": "y"}}
    board = BoardSteps(slots=1, agents=["a"], fallbacks=[], terms=terms)
    board.add("t1", need("t2", agent="b"), need("t3", agent="c"))

    assert board.rests("t1.1", "every agent is at its limit", later(60)) == ["t3.1"]


def test_p5_each_agent_of_an_attempt_works_on_its_own_terms():
    terms = {"a": {"idle_s": 60.0}, "b": {"done": "exit", "turn_s": 9.0}, "c": {"idle_s": 60.0}}
    board = BoardSteps(agents=["a", "b", "c"], terms=terms)
    board.add("t")

    spec = msgspec.convert(board.spec_of("t.1"), TaskSpec)
    assert set(spec.terms) == {"b"}
    assert spec.terms_of("a") == spec.terms_of("c") == AgentTerms(idle_s=60.0)
    assert spec.terms_of("b") == AgentTerms(done="exit", turn_s=9.0)


def test_without_an_agent_the_board_says_so():
    board = BoardSteps(agents=[])
    board.add("a")

    assert board.next() == Wait(reason="no agent is configured", for_person=True)


# --- modes ---


def test_b5_in_semi_auto_only_what_a_person_assigns_starts():
    board = BoardSteps(mode="semi")

    assert board.add("a", "b", "c") == []
    assert board.tell(Pin(task="c")) == []
    assert board.tell(Assign(task="b")) == ["b.1"]
    assert board.tell(Assign(task="a", agent="ben")) == ["a.1"]
    assert board.spec_of("a.1")["agents"] == ["ben", "cli"]


def test_b5_the_mode_is_switched_while_running():
    board = BoardSteps(slots=3, mode="semi")
    board.add("a", "b", "c")
    board.tell(Assign(task="b"))

    assert board.tell(SetMode(mode=Mode.AUTOPILOT)) == ["a.1", "c.1"]
    board.tell(SetMode(mode=Mode.SEMI))
    board.add("d")
    assert board.ends("a.1", Outcome.BLOCKED) == []
    assert board.status("b", "c", "d") == ["active", "active", "pending"]


def test_b5_in_autopilot_what_a_person_assigns_comes_first():
    board = BoardSteps(slots=1)
    board.add("a", "b", need("hot", tags=("critical",)))
    board.tell(Assign(task="b"))

    assert board.ends("hot.1" if board.task("hot").open else "a.1", Outcome.BLOCKED) == ["b.1"]


def test_b3_the_loop_picks_the_best_and_a_pin_before_it():
    board = BoardSteps(slots=1)
    board.add("first")
    board.add("a", "b", need("hot", tags=("critical",)))
    board.tell(Pin(task="b"))

    assert board.ends("first.1", Outcome.BLOCKED) == ["b.1"]
    assert board.task("b").pin == 0, "a pin is used up"
    assert board.ends("b.1", Outcome.BLOCKED) == ["hot.1"]


# --- count and until ---


def test_s1_no_more_than_so_many_start_until_it_is_equipped_again():
    board = BoardSteps(slots=2, count=3, **NO_MERGE)
    board.add("a", "b", "c", "d", "e")

    assert board.ends("a.1") == ["c.1"]
    assert board.ends("b.1", Outcome.FAILED) == []
    assert board.ends("c.1") == []
    assert board.next() == Wait(reason="nothing to do", for_person=True)
    spec = BoardSpec(target="main", agents=("cli",), merge=False, count=1)
    assert board.tell(Equip(spec=spec)) == ["d.1"]


def test_s1_none_starts_after_the_time_but_what_runs_goes_on():
    board = BoardSteps(slots=1, until=later(60).isoformat(), **NO_MERGE)
    board.add("a", "b", "c")
    board.wait(59)

    assert board.ends("a.1") == ["b.1"]
    board.wait(1)
    assert board.ends("b.1") == []
    assert board.status("b", "c") == ["done", "pending"]


def test_b17_what_is_verified_is_merged_even_when_nothing_more_may_start():
    board = BoardSteps(count=1)
    board.add("a", "b")

    assert board.ends("a.1") == ["a.merge1"]


def test_s1_b17_what_did_not_fit_is_finished_and_is_not_counted_twice():
    board = BoardSteps(slots=1, count=2)
    board.add("a", "b", "c")
    board.ends("a.1")
    board.ends("b.1", Outcome.BLOCKED)

    assert board.ends("a.merge1", Outcome.CONFLICT) == ["a.2"]
    assert board.ends("a.2") == ["a.merge2"]
    assert board.ends("a.merge2") == []
    assert board.status("a", "b", "c") == ["done", "blocked", "pending"]


def test_s1_b5_what_a_person_assigns_is_started_though_there_is_enough():
    board = BoardSteps(slots=1, count=1, **NO_MERGE)
    board.add("a", "b", "c")
    board.ends("a.1")

    assert board.tell(Assign(task="c")) == ["c.1"]


# --- ends of attempts ---


def test_b11_a_question_frees_the_slot_and_the_others_go_on():
    board = BoardSteps(slots=1)
    board.add("a", "b")

    assert board.waits("a.1", "asks: which?") == ["b.1"]
    assert board.status("a", "b") == ["waiting", "active"]
    assert (board.task("a").note, board.task("a").asks) == ("asks: which?", True)
    assert board.next() == Wait(reason="1 at work, 1 waiting for you")


def test_b11_the_answer_goes_on_in_the_same_attempt():
    board = BoardSteps(slots=1, **NO_MERGE)
    board.add("a", "b", "c")
    board.waits("a.1")
    board.goes_on("a.1")

    assert board.status("a") == ["active"]
    assert (board.task("a").note, board.task("a").asks) == ("", False)
    assert board.ends("b.1") == [], "the one that came back has the slot"
    assert board.ends("a.1") == ["c.1"]
    assert len(board.task("a").attempts) == 1


def test_b11_a_blocked_task_frees_its_slot_and_says_why():
    board = BoardSteps(slots=1)
    board.add("a", "b")

    assert board.ends("a.1", Outcome.BLOCKED, "no key") == ["b.1"]
    assert (board.task("a").status, board.task("a").note) == (Status.BLOCKED, "no key")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.BLOCKED, Status.BLOCKED),
        (Outcome.FAILED, Status.FAILED),
        (Outcome.TIMED_OUT, Status.TIMEOUT),
        (Outcome.BRAKED, Status.TIMEOUT),
    ],
)
def test_b8_how_an_attempt_ended_is_where_its_task_is(outcome, status):
    board = BoardSteps()
    board.add("a")
    board.wait(30).ends("a.1", outcome, "because", turns=4)

    task = board.task("a")
    assert (task.status, task.note, task.open, task.changed_at) == (
        status,
        "because",
        "",
        later(30),
    )
    assert task.attempts == (
        Attempt(
            run="board/a.1",
            began_at=NOW,
            ended_at=later(30),
            outcome=outcome,
            note="because",
            tally=Tally(turns=4),
            flawed=outcome in {Outcome.BLOCKED, Outcome.BRAKED},
            agent="cli",
        ),
    )
    assert board.next() == Wait(reason="nothing to do", for_person=True)


def test_b8_the_attempt_after_one_that_a_person_ended_puts_aside_what_was_left():
    board = BoardSteps(slots=1)
    board.add("a")
    assert "stash" not in board.spec_of("a.1")
    board.ends("a.1", Outcome.ABORTED)

    assert board.tell(Assign(task="a")) == ["a.2"]
    assert board.spec_of("a.2")["stash"] is True
    board.ends("a.2", Outcome.TIMED_OUT)
    board.tell(Retry(task="a"))
    assert "stash" not in board.spec_of("a.3")


def test_b8_a_crash_of_the_agent_puts_its_task_back_with_a_further_retry():
    board = BoardSteps(slots=1)
    board.add("a", "b")

    assert board.ends("a.1", Outcome.CRASHED, "boom") == ["b.1"], "others come first now"
    assert (board.task("a").retries, board.task("a").status) == (1, Status.PENDING)
    assert board.ends("b.1", Outcome.BLOCKED) == ["a.2"]


def test_b8_a_task_that_a_person_ended_is_pending_and_only_a_person_starts_it_again():
    board = BoardSteps(slots=1)
    board.add("a", "b")

    assert board.ends("a.1", Outcome.ABORTED) == ["b.1"]
    assert board.ends("b.1", Outcome.BLOCKED) == []
    assert (board.task("a").status, board.task("a").held) == (Status.PENDING, True)
    assert board.tell(Assign(task="a")) == ["a.2"]


# --- errors in a row ---


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome.FAILED, Outcome.FAILED, Outcome.FAILED],
        [Outcome.FAILED, Outcome.CRASHED, Outcome.FAILED],
        [Outcome.FAILED, *NEUTRAL, Outcome.FAILED, Outcome.FAILED],
        [Outcome.DONE, Outcome.FAILED, Outcome.FAILED, Outcome.FAILED],
    ],
)
def test_b12_three_failed_tasks_in_a_row_pause_the_loop(outcomes):
    board = BoardSteps(slots=1, **NO_MERGE)
    board.add(*(f"t{n}" for n in range(20)))
    started = list(board.state.pilot.refs)
    for outcome in outcomes:
        assert len(started) == 1
        started = board.ends(started[0], outcome)

    assert started == []
    assert board.next() == Wait(reason="3 tasks failed in a row", for_person=True)


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome.FAILED, Outcome.FAILED, Outcome.DONE, Outcome.FAILED, Outcome.FAILED],
        [Outcome.TIMED_OUT] * 10,
        [Outcome.BLOCKED] * 10,
        [Outcome.FAILED, Outcome.FAILED, *NEUTRAL],
    ],
)
def test_b12_what_is_done_starts_again_at_zero_and_the_rest_is_neutral(outcomes):
    board = BoardSteps(slots=1, **NO_MERGE)
    board.add(*(f"t{n}" for n in range(20)))
    started = list(board.state.pilot.refs)
    for outcome in outcomes:
        started = board.ends(started[0], outcome)

    assert len(started) == 1


def test_b12_they_are_counted_in_the_order_in_which_they_finish():
    board = BoardSteps(slots=4, errors=2, **NO_MERGE)
    board.add("a", "b", "c", "d", "e")
    board.ends("d.1", Outcome.FAILED)
    board.ends("b.1")
    board.ends("a.1", Outcome.FAILED)
    assert isinstance(board.next(), Wait)
    assert board.next().reason != "2 tasks failed in a row"

    board.ends("c.1", Outcome.FAILED)
    assert board.next().reason == "2 tasks failed in a row"


def test_b12_only_a_person_makes_it_go_on():
    """B12: a task that completes later does not release the brake."""
    board = BoardSteps(slots=4, **NO_MERGE)
    board.add("a", "b", "c", "good", "next")
    for name in "abc":
        board.ends(f"{name}.1", Outcome.FAILED)
    assert board.status("next") == ["active"], "the third had not failed when it started"
    board.add("late")

    assert board.ends("good.1") == []
    assert board.next() == Wait(reason="3 tasks failed in a row", for_person=True)
    assert board.tell(Resume()) == ["late.1"]


def test_b12_the_number_is_a_setting_and_zero_is_never():
    board = BoardSteps(slots=1, errors=0, **NO_MERGE)
    board.add(*(f"t{n}" for n in range(9)))
    for number in range(8):
        assert board.ends(f"t{number}.1", Outcome.FAILED) == [f"t{number + 1}.1"]


def test_what_a_board_refuses_changes_nothing():
    board = BoardSteps()
    board.add("a")
    before = board.state.pilot.board

    assert board.tell(Retry(task="a"), Skip(task="x"), Approve(task="a")) == []
    assert board.state.pilot.board is before


def test_what_children_say_that_are_over_changes_nothing():
    board = BoardSteps()
    board.add("a")
    board.ends("a.1", Outcome.BLOCKED)
    before = board.state.pilot

    board.waits("a.1")
    board.goes_on("a.1")
    board.ends("a.1")
    assert board.state.pilot == before


def test_an_empty_board_waits_for_somebody():
    assert BoardSteps().next() == Wait(reason="nothing to do", for_person=True)


def test_a_spec_that_makes_no_sense_is_refused():
    with pytest.raises(msgspec.ValidationError):
        BoardSteps(slots="many")


def test_b3_the_next_is_chosen_when_a_slot_is_free_and_not_before():
    board = BoardSteps(slots=1)
    board.add("a", "b")
    board.add(need("hot", tags=("critical",)))

    move = board.next()
    assert not isinstance(move, Spawn)
    assert board.ends("a.1", Outcome.BLOCKED) == ["hot.1"]


def test_k5_all_attempts_at_a_task_share_its_budget():
    """K5: a task's budget spans its attempts: a retry gets the rest of it."""
    limits = {"tokens": 100, "at_limit": "pause"}
    flight = BoardSteps(limits={**limits, "turns": 9}, task_limits={**limits, "tokens": 150})
    flight.add("a")
    first = flight.spawned[-1].limits
    tally = Tally(turns=3, input=80)
    flight._write(
        ChildClosed(at=flight.now, ref="a.1", run="board/a.1", outcome=Outcome.CRASHED, tally=tally)
    )
    flight.wait(3600).tell(Retry(task="a"))

    assert first == Limits(turns=9, tokens=100, at_limit=AtLimit.PAUSE)
    assert flight.spawned[-1].ref == "a.2"
    assert flight.spawned[-1].limits == Limits(turns=9, tokens=70, at_limit=AtLimit.PAUSE)


# --- commands that name tasks ---


def test_b25_only_named_tasks_start_and_only_named_work_is_merged():
    board = BoardSteps(review="batch", slots=1, mode="semi")
    board.add("assigned", "approved", "reviewed", "ready")
    board.tell(Assign(task="approved"))
    board.ends("approved.1")
    board.tell(Assign(task="reviewed"))
    board.ends("reviewed.1")
    board.tell(Assign(task="assigned"))  # it takes the one slot, and its process is killed
    assert board.status("assigned", "approved", "reviewed") == ["active", "review", "review"]
    spec = msgspec.convert(
        {"target": "main", "agents": ["cli"], "review": "batch", "slots": 1, "only": []}, BoardSpec
    )

    assert board.tell(Equip(spec=spec)) == []
    assert board.next() == Wait(reason="1 held, 2 waiting for you", for_person=True)
    assert board.tell(Approve(task="reviewed")) == ["reviewed.merge1"]
    assert board.ends("reviewed.merge1") == []
    assert board.tell(Assign(task="ready")) == ["ready.1"]
    assert board.state.pilot.others() == ["assigned.1"]
    assert board.tell(SetMode(mode=Mode.AUTOPILOT)) == []
    assert board.state.pilot.others() == []
    assert board.ends("ready.1") == []
    assert board.next() == Wait(reason="1 at work, 2 waiting for you")


def test_b25_named_work_is_merged_before_earlier_work_in_the_queue():
    board = BoardSteps(review="batch")
    board.add("first", "second", "third")
    board.ends("first.1")
    board.ends("second.1")
    board.ends("third.1")
    board.tell(Approve(task="first"), Approve(task="second"), Approve(task="third"))
    spec = msgspec.convert({"target": "main", "agents": ["cli"], "only": ["third"]}, BoardSpec)
    board.tell(Equip(spec=spec))

    assert board.ends("first.merge1") == ["third.merge3"]
    assert board.ends("third.merge3") == []
    assert board.status("first", "second", "third") == ["done", "merging", "done"]


def test_b25_changed_settings_keep_the_named_tasks():
    board = BoardSteps()
    spec = msgspec.convert({"target": "main", "agents": ["cli"], "only": []}, BoardSpec)
    board.tell(Equip(spec=spec))
    board.add("a", "b")

    assert board.tell(Equip(spec=spec, anew=False), Assign(task="b")) == ["b.1"]
    assert board.tell(Equip(spec=spec, anew=False)) == []


def test_b24_a_check_that_fails_on_the_target_holds_the_board_until_a_person_acts():
    board = BoardSteps(slots=1, no_progress=3)
    assert board.add("a", "b") == ["a.1"]

    assert board.ends("a.1", Outcome.BLOCKED, "Tests fails", target_fails="Tests") == []
    reason = "no work can pass: Tests fails on main, too"
    assert board.next() == Wait(reason=reason, for_person=True)
    assert board.tell(Resume()) == ["b.1"]


def test_b24_a_task_without_progress_keeps_its_slot_and_limits_no_agent():
    board = BoardSteps(slots=1, no_progress=3)
    board.add("a", "b")

    assert board.rests("a.1", NO_PROGRESS_WAIT, until=later(5)) == []
    assert board.next() == Wait(reason="1 at work")


def test_k6_a_board_whose_budget_is_used_up_still_merges_and_starts_no_task():
    board = BoardSteps(slots=1)
    board.add("a", "b")
    board.tell(Raise(limits=Limits(turns=1, at_limit=AtLimit.PAUSE)))

    assert board.ends("a.1") == ["a.merge1"]
    assert board.next().at_limit
    assert board.ends("a.merge1", turns=0) == []
    assert board.status("a", "b") == ["done", "pending"]
