"""B17, B18, B19, B21: review, approval and merging of verified work."""

from datetime import timedelta

import msgspec
import pytest

from allstop.board.task_commands import refusal
from allstop.board.task_pilot import TaskPilot
from allstop.core.board_specs import MERGE_EDITION, BoardSpec, MergeSpec, Mode, ReviewMode
from allstop.core.commands import (
    Answer,
    Approve,
    Assign,
    Equip,
    Give,
    Redo,
    Reject,
    Retry,
    RollBack,
    SetMode,
    Skip,
    Take,
)
from allstop.core.moves import (
    Change,
    ChecksDone,
    Failed,
    FailureKind,
    Finding,
    Finish,
    Outcome,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.tasks import NewTask, Status
from allstop.views.inbox import suggested_command
from support.pilot_steps import BoardSteps, PilotSteps
from support.strategies import NOW

NO_MERGE = {"merge": False}
NEUTRAL = [Outcome.BLOCKED, Outcome.TIMED_OUT, Outcome.BRAKED, Outcome.ABORTED]


def need(name, *needs, **more):
    return NewTask(id=name, title=name, needs=needs, **more)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


# --- review ---

CLEAN = {"clean": "yes"}


@pytest.mark.parametrize(
    ("mode", "facts", "status"),
    [
        ("skip", {}, "merging"),
        ("auto", CLEAN, "merging"),
        ("auto", {}, "review"),
        ("batch", CLEAN, "review"),
        ("per-task", CLEAN, "review"),
    ],
)
def test_b21_who_looks_at_verified_work(mode, facts, status):
    board = BoardSteps(review=mode)
    board.add("a")
    board.ends("a.1", tree="tree", **facts)

    assert board.status("a") == [status]
    assert board.task("a").verified == "tree"


@pytest.mark.parametrize(
    ("general", "rules", "tags", "status"),
    [
        ("skip", {"risky": "per-task"}, ("risky",), "review"),
        ("skip", {"risky": "per-task"}, ("other",), "merging"),
        ("batch", {"docs": "skip"}, ("docs",), "review"),
        ("auto", {"docs": "skip"}, ("docs",), "merging"),
        ("skip", {"docs": "auto", "risky": "batch"}, ("docs", "risky"), "review"),
    ],
)
def test_b21_of_all_rules_for_its_tags_the_strictest_wins(general, rules, tags, status):
    rules = [{"tag": tag, "mode": mode} for tag, mode in rules.items()]
    board = BoardSteps(review=general, review_rules=rules)
    board.add(need("a", tags=tags))
    board.ends("a.1", **CLEAN)

    assert board.status("a") == [status]


def test_b21_the_modes_stand_from_the_laxest_to_the_strictest():
    assert list(ReviewMode) == ["skip", "auto", "batch", "per-task"]


def test_b21_a_task_that_was_blocked_before_is_not_approved_by_itself():
    """B21: no BLOCKED, PENDING or finding, in no attempt."""
    board = BoardSteps(review="auto")
    board.add("a")
    board.ends("a.1", Outcome.BLOCKED)
    board.tell(Retry(task="a"))
    board.ends("a.2", **CLEAN)

    assert board.status("a") == ["review"]


LOUD = "<promise>PENDING: which one?</promise>"
COMPLETE = "<promise>COMPLETE</promise>"
GATE = {"checks": [{"name": "T", "run": "t"}], "protected": ["tests/**"]}
FOUND = ChecksDone(findings=(Finding(kind="protected", path="tests/x", fatal=True),))
EXITED = Failed(kind=FailureKind.EXITED, message="exit code 1")


def attempted(board, ref, *results):
    """The end of an attempt as the task pilot reports it."""
    flight = PilotSteps(TaskPilot(), {**board.spec_of(ref), "backoff": {"retries": 0}})
    flight.back(WorkspaceOpen(base="c0"))
    for result in results:
        move = flight.next()
        if isinstance(move, Wait):
            flight.told(Answer(text="the first"))
        flight.back(result)
    end = flight.next()
    assert isinstance(end, Finish)
    return board.ends(ref, end.outcome, turns=flight.state.tally.turns, **end.facts)


def said(*texts):
    return [TurnDone(text=text, change=Change(head="c1", commits=1, files=1)) for text in texts]


PASSED = ChecksDone(tree="t1")
DONE = [*said(COMPLETE), PASSED]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        ([EXITED], "merging"),
        ([*said("on"), EXITED], "merging"),
        ([*said(LOUD), *said("on"), EXITED], "review"),
        ([*said(COMPLETE), FOUND, EXITED], "review"),
        ([*said("1", "2"), EXITED], "merging"),
        ([*said("1", "2", "3"), EXITED], "review"),
        (said(*map(str, range(10))), "review"),
    ],
)
def test_b21_what_earlier_attempts_were_like_counts(first, status):
    """B21: at most 3 iterations, no PENDING and no finding, in all attempts together."""
    board = BoardSteps(review="auto", gate=GATE, errors=9, iterations=10)
    board.add("a")
    attempted(board, "a.1", *first)
    board.tell(Retry(task="a"))
    attempted(board, "a.2", *DONE)

    assert board.status("a") == [status]


def test_b21_what_an_attempt_was_like_is_known_two_attempts_later():
    board = BoardSteps(review="auto", gate=GATE, errors=9)
    board.add("a")
    attempted(board, "a.1", *said(LOUD), EXITED)
    board.tell(Retry(task="a"))
    attempted(board, "a.2", EXITED)
    board.tell(Retry(task="a"))
    attempted(board, "a.3", *DONE)

    assert board.status("a") == ["review"]


@pytest.mark.parametrize(("turns", "status"), [(0, "merging"), (1, "review")])
def test_b21_an_attempt_that_could_not_say_how_it_went_counts_against_it(turns, status):
    """B21: ended by a person or by a limit, it may have asked or found something."""
    board = BoardSteps(review="auto", gate=GATE)
    board.add("a")
    board.ends("a.1", Outcome.ABORTED, turns=turns)
    board.tell(Assign(task="a"))
    attempted(board, "a.2", *DONE)

    assert board.status("a") == [status]


def test_b21_work_that_was_sent_back_still_has_its_past():
    board = BoardSteps(review="auto", gate=GATE)
    board.add("a")
    attempted(board, "a.1", *said(LOUD), *DONE)
    board.tell(Redo(task="a", text="shorter"))
    attempted(board, "a.2", *DONE)

    assert board.status("a") == ["review"]


def test_b21_a_board_from_before_attempts_were_remembered_folds_as_it_did():
    """B21: work that an older version accepted stays accepted."""
    board = BoardSteps(review="auto")
    board.add("a")
    board.ends("a.1", Outcome.TIMED_OUT, turns=10)
    board.tell(Retry(task="a"))

    assert board.ends("a.2", **CLEAN) == ["a.merge1"]


def test_b21_review_frees_the_slot_and_the_person_decides():
    board = BoardSteps(slots=1, review="batch")
    board.add("a", "b", "c", "d")
    assert board.ends("a.1") == ["b.1"]
    assert board.ends("b.1") == ["c.1"]
    assert board.ends("c.1") == ["d.1"]

    assert board.tell(Approve(task="a")) == ["a.merge1"]
    assert board.tell(Redo(task="b", text="shorter")) == []
    assert board.tell(Reject(task="c")) == []
    assert board.ends("d.1", Outcome.BLOCKED) == ["b.2"]
    assert board.spec_of("b.2")["news"] == "A person looked at your work and says: shorter"
    assert board.status("a", "b", "c") == ["merging", "active", "cancelled"]


# --- merging ---


def merge_spec(board, ref):
    return msgspec.convert(board.spec_of(ref), MergeSpec)


def test_b17_merges_go_one_at_a_time_the_oldest_first():
    board = BoardSteps(slots=3)
    board.add("a", "b", "c")
    assert board.ends("b.1", tree="tree b") == ["b.merge1"]
    assert board.ends("c.1") == []
    assert board.ends("a.1") == []

    assert board.ends("b.merge1", commit="m1") == ["c.merge2"]
    assert board.ends("c.merge2", commit="m2") == ["a.merge3"]
    assert (board.status("b", "c", "a"), board.task("b").merged) == (
        ["done", "done", "merging"],
        "m1",
    )
    assert board.state.pilot.merged == 2


def test_b17_a_merge_has_the_gate_and_knows_what_has_passed_it():
    gate = {"checks": [{"name": "T", "run": "t"}]}
    board = BoardSteps(gate=gate)
    board.add(need("a", body="b"))
    board.ends("a.1", tree="tree a")

    made = merge_spec(board, "a.merge1")
    assert made == MergeSpec(
        task="a",
        target="main",
        message="Merge a: a",
        gate=made.gate,
        verified="tree a",
        edition=MERGE_EDITION,
    )
    assert [check.run for check in made.gate.checks] == ["t"]


def test_b17_a_conflict_goes_back_to_the_agent_at_once():
    board = BoardSteps(slots=1)
    board.add("a", "b", "c")
    board.ends("a.1", tree="tree a")
    assert board.status("b") == ["active"]

    board.ends("a.merge1", Outcome.CONFLICT, "conflicts: x", news="what failed")
    assert board.status("a") == ["pending"]
    assert board.ends("b.1", Outcome.BLOCKED) == ["a.2"], "before what was never begun"
    spec = board.spec_of("a.2")
    assert (spec["onto"], spec["news"]) == ("refs/heads/main", "what failed")
    assert (board.task("a").verified, board.task("a").conflicts) == ("", 1)


def test_b17_a_conflict_that_was_resolved_is_merged_and_counted():
    board = BoardSteps()
    board.add("a")
    board.ends("a.1")
    board.ends("a.merge1", Outcome.CONFLICT, news="n")
    assert board.ends("a.2", tree="new tree") == ["a.merge2"]
    board.ends("a.merge2", commit="m1")

    state, task = board.state.pilot, board.task("a")
    assert (state.merged, state.resolved, task.conflicts) == (1, 1, 0)
    assert (task.status, task.onto, task.news) == (Status.DONE, "", "")


def test_b17_after_so_many_conflicts_it_goes_to_the_person():
    board = BoardSteps(conflicts=2)
    board.add("a")
    for attempt in (1, 2):
        board.ends(f"a.{attempt}")
        assert board.ends(f"a.merge{attempt}", Outcome.CONFLICT) == [f"a.{attempt + 1}"]
    board.ends("a.3")

    assert board.ends("a.merge3", Outcome.CONFLICT, "conflicts: x", news="why") == []
    task = board.task("a")
    assert (task.status, task.note, task.asks) == (Status.WAITING, "conflicts: x", False)
    assert board.tell(Retry(task="a")) == ["a.4"]
    spec = board.spec_of("a.4")
    assert (spec["onto"], spec["news"]) == ("refs/heads/main", "why"), "it gets the conflict too"
    assert board.ends("a.4") == ["a.merge4"]
    assert board.ends("a.merge4", Outcome.CONFLICT) == ["a.5"], "and as many goes as at first"


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ABORTED])
def test_b17_a_merge_that_did_not_work_is_for_the_person_and_the_next_one_goes_on(outcome):
    board = BoardSteps()
    board.add("a", "b")
    board.ends("a.1")
    board.ends("b.1")

    assert board.ends("a.merge1", outcome, "git: no") == ["b.merge2"]
    assert (board.task("a").status, board.task("a").note) == (Status.WAITING, "git: no")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ABORTED])
def test_b17_a_merge_that_did_not_work_is_tried_again_without_the_agent(outcome):
    board = BoardSteps()
    board.add("a")
    board.ends("a.1", tree="tree a")
    board.ends("a.merge1", outcome, "git: no")
    assert suggested_command(board.task("a")) == "allstop approve a"

    assert board.tell(Approve(task="a")) == ["a.merge2"]

    assert merge_spec(board, "a.merge2").verified == "tree a"
    board.ends("a.merge2", commit="m1")
    assert (board.task("a").status, board.task("a").merged) == (Status.DONE, "m1")


def test_b17_a_merge_that_waits_for_a_clean_tree_says_so_and_stays_a_merge():
    board = BoardSteps()
    board.add("a", "b")
    board.ends("a.1")
    board.waits("a.merge1", "changes in /repo")

    assert (board.task("a").status, board.task("a").note) == (Status.MERGING, "changes in /repo")
    board.goes_on("a.merge1")
    assert (board.task("a").status, board.task("a").note) == (Status.MERGING, "")
    board.ends("a.merge1", commit="m")
    assert board.status("a") == ["done"]


def test_b17_work_goes_back_to_the_branch_that_it_began_from():
    """On another branch the merge would bring in unrelated commits."""
    board = BoardSteps(slots=1)
    board.add("a", "b")
    other = Equip(spec=BoardSpec(target="other", agents=("cli",), review=ReviewMode.SKIP, slots=1))
    board.tell(other)

    assert board.ends("a.1") == ["a.merge1", "b.1"]
    assert merge_spec(board, "a.merge1").target == "main"
    assert board.spec_of("b.1")["target"] == "other"
    board.ends("a.merge1", Outcome.CONFLICT)
    board.ends("b.1", Outcome.BLOCKED)
    again = board.spec_of("a.2")
    assert (again["target"], again["onto"]) == ("main", "refs/heads/main")
    board.ends("a.2")
    board.ends("a.merge2", commit="m1")
    board.tell(RollBack(task="a"))
    assert merge_spec(board, "a.merge3").target == "main"
    board.ends("a.merge3")
    board.tell(Retry(task="a"))
    assert board.spec_of("a.3")["target"] == "other", "nothing is left of it: it begins anew"


# --- rolling back ---


def merged(**spec):
    board = BoardSteps(**spec)
    board.add("a", need("b", "a"))
    board.ends("a.1", tree="tree")
    board.ends("a.merge1", commit="m1")
    board.ends("b.1", Outcome.BLOCKED)
    return board


def test_b18_a_merged_task_is_reverted_in_the_queue_and_then_pending_but_held():
    board = merged()

    assert board.tell(RollBack(task="a")) == ["a.merge2"]
    spec = merge_spec(board, "a.merge2")
    assert (spec.revert, spec.message) == ("m1", "Roll back a: a")
    assert board.ends("a.merge2", commit="r1") == []
    task = board.task("a")
    assert (task.status, task.held, task.merged) == (Status.PENDING, True, "")
    assert board.tell(Retry(task="a")) == ["a.2"]


def test_b18_a_rollback_that_conflicts_leaves_the_task_done_and_says_so():
    board = merged()
    board.tell(RollBack(task="a"))
    board.ends("a.merge2", Outcome.CONFLICT, "conflicts: x")

    task = board.task("a")
    assert (task.status, task.merged) == (Status.DONE, "m1")
    assert task.note == "not rolled back: conflicts: x"


def test_b18_those_who_need_what_was_rolled_back_wait_again():
    board = merged()
    board.tell(Retry(task="b"))
    board.ends("b.2", Outcome.CRASHED)
    board.tell(RollBack(task="a"))
    board.ends("a.merge2")

    assert board.ends("b.3", Outcome.CRASHED) == []
    assert board.status("a", "b") == ["pending", "pending"]


# --- retries and takeovers ---


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.BLOCKED])
def test_b19_retry_is_a_new_attempt_at_once_in_either_mode(outcome):
    board = BoardSteps(mode="semi")
    board.add("a")
    board.tell(Assign(task="a"))
    board.ends("a.1", outcome)

    assert board.tell(Retry(task="a", text="try tabs")) == ["a.2"]
    assert board.spec_of("a.2")["news"] == "try tabs"
    assert (board.task("a").retries, len(board.task("a").attempts)) == (1, 2)


def test_b3_a_retried_task_waits_its_turn_where_the_loop_picks():
    """B3: its score counts, 15 less for each retry; in semi mode a retry counts as chosen."""
    board = BoardSteps(slots=1, errors=9, retries_first=False)
    board.add("a", "b", "c")
    board.ends("a.1", Outcome.FAILED)

    assert board.tell(Retry(task="a")) == []
    board.ends("b.1", Outcome.FAILED)
    board.ends("c.1", Outcome.FAILED)

    assert [move.ref for move in board.spawned] == ["a.1", "b.1", "c.1", "a.2"]


def test_b3_a_retried_task_is_what_people_picked_where_they_do():
    board = BoardSteps(mode="semi", retries_first=False)
    board.add("a", "b")
    board.tell(Assign(task="a"))
    board.ends("a.1", Outcome.FAILED)

    assert board.tell(Retry(task="a")) == ["a.2"]


def test_b19_skip_lets_those_go_on_that_waited():
    board = BoardSteps()
    board.add("a", need("b", "a"))
    board.ends("a.1", Outcome.FAILED)

    assert board.tell(Skip(task="a")) == ["b.1"]


def test_b20_a_task_that_rests_is_taken_over_and_its_next_attempt_is_told_what_was_given():
    """B8, B20: a crash leaves it pending; the board doesn't start it while a person works on it."""
    board = BoardSteps(slots=1, errors=9)
    board.add("a", "b")
    board.tell(SetMode(mode=Mode.SEMI))
    board.ends("a.1", Outcome.CRASHED, "signal 9")
    board.tell(Take(task="a"))
    assert (board.task("a").held, board.task("a").has_crashed) == (True, False)

    assert board.tell(SetMode(mode=Mode.AUTOPILOT)) == ["b.1"], "not the one that was taken"
    assert board.ends("b.1", Outcome.BLOCKED) == []
    assert board.tell(Give(task="a", commit="c9")) == ["a.2"]
    assert (board.spec_of("a.2")["given"], board.task("a").retries) == ("c9", 1)
    board.ends("a.2", Outcome.CRASHED, "signal 9", turns=0)
    assert board.spec_of("a.3")["given"] == "c9", "no turn has come to see it"
    board.ends("a.3", Outcome.CRASHED, "signal 9", turns=1)
    assert "given" not in board.spec_of("a.4"), "it is part of the work now"


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.BLOCKED])
def test_b19_b20_what_ended_badly_can_be_taken_over_and_stays_what_it_is(outcome):
    board = BoardSteps()
    board.add("a")
    board.ends("a.1", outcome)
    before = board.task("a")

    board.tell(Take(task="a"))

    assert board.task("a") == before
    assert board.tell(Give(task="a", commit="c9")) == ["a.2"]


def test_b20_what_is_at_work_or_was_never_begun_is_not_taken_from_the_board():
    board = BoardSteps(slots=1)
    board.add("a", "b")

    for task in ("a", "b"):
        assert refusal(board.board, Take(task=task)) is not None
        assert refusal(board.board, Give(task=task, commit="c9")) is not None
