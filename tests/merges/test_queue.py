"""M2: which changes are merged together, and what a board does with the results."""

import pytest

from allstop.core.commands import Resume, RollBack
from allstop.core.moves import Outcome
from allstop.core.tasks import NewTask
from allstop.merges.queue import MergeQueue, batch, failure_rate
from support.pilot_steps import BoardSteps

NAMES = [f"t{number}" for number in range(20)]
CHECKS = {"checks": [{"name": "T", "run": "t"}]}


def with_results(failed, passed):
    return MergeQueue(results={"main": (False,) * failed + (True,) * passed})


@pytest.mark.parametrize(
    ("failed", "passed", "size"),
    [(0, 0, 8), (1, 0, 8), (2, 48, 8), (3, 47, 4), (6, 44, 4), (7, 43, 1), (50, 0, 1)],
)
def test_m2_the_size_of_a_batch_follows_the_rate_of_failures(failed, passed, size):
    assert len(batch(with_results(failed, passed), NAMES, "main", 8)) == size


def test_m2_only_the_latest_fifty_count_and_each_target_by_itself():
    assert failure_rate((False,) * 50 + (True,) * 50) == 0
    assert len(batch(with_results(50, 0), NAMES, "other", 8)) == 8


def test_m2_a_setting_limits_the_batch():
    assert len(batch(MergeQueue(), NAMES, "main", 3)) == 3


def waiting(count, **spec):
    """A board on which the first task is merged while the others have joined the queue."""
    board = BoardSteps(slots=20, gate=CHECKS, batch=8, **spec)
    board.add(*NAMES[: count + 1])
    for name in NAMES[: count + 1]:
        board.ends(f"{name}.1", tree=f"tree {name}")
    return board


def others(board, ref):
    return [each["task"] for each in board.spec_of(ref).get("others", ())]


def red(tree, *names, news=""):
    batch = " ".join(names)
    return {"red": tree, "gate": "g", "again": '["T"]', "batch": batch, "news": news}


def test_m2_what_waits_is_merged_together_and_recorded_one_by_one_in_order():
    board = waiting(3)
    assert others(board, "t0.merge1") == [], "nothing waited"

    assert board.ends("t0.merge1", commit="m0") == ["t1.merge2"]
    assert others(board, "t1.merge2") == ["t2", "t3"]
    assert board.status("t1", "t2", "t3") == ["merging"] * 3

    assert board.ends("t1.merge2", commit="m1", landed="t2=m2 t3=m3") == ["t2.merge3"]
    assert board.spec_of("t2.merge3")["landed"] == "m2"
    assert board.ends("t2.merge3", commit="m2") == ["t3.merge4"]
    assert board.ends("t3.merge4", commit="m3") == []
    assert [board.task(name).merged for name in NAMES[:4]] == ["m0", "m1", "m2", "m3"]
    assert board.state.pilot.queue.results == {"main": (True,) * 4}


def test_m2_a_red_batch_of_eight_is_halved_and_then_merged_one_by_one():
    board = waiting(8)
    board.ends("t0.merge1", commit="m0")
    assert others(board, "t1.merge2") == NAMES[2:9]

    note = "8 changes together fail: T"
    facts = red("tree 8", *NAMES[1:9])
    assert board.ends("t1.merge2", Outcome.CONFLICT, note, **facts) == ["t1.merge2-4"]
    assert others(board, "t1.merge2-4") == NAMES[2:5]
    assert board.spec_of("t1.merge2-4")["red"] == [{"tree": "tree 8", "gate": "g", "checks": ["T"]}]
    assert board.status("t1") == ["merging"], "nobody is thrown out yet"

    board.ends("t1.merge2-4", commit="m1", landed="t2=m2 t3=m3 t4=m4")
    for number in (2, 3, 4):
        begun = board.ends(f"t{number}.merge{number + 1}", commit=f"m{number}")
    assert begun == ["t5.merge6-4"]
    assert others(board, "t5.merge6-4") == NAMES[6:9]

    facts = red("tree 8", *NAMES[5:9])
    assert board.ends("t5.merge6-4", Outcome.CONFLICT, **facts) == ["t5.merge6-1"]
    assert others(board, "t5.merge6-1") == []
    begun = board.ends("t5.merge6-1", Outcome.CONFLICT, "it fails: T", **red("x", "t5", news="no"))
    assert begun == ["t6.merge7-1", "t5.2"], "the next one by itself, this one to its agent"
    assert [each.task for each in board.state.pilot.queue.thrown_out] == ["t5"]
    assert board.state.pilot.queue.results["main"].count(False) == 1


def test_m2_a_textual_conflict_is_no_failure():
    board = waiting(1)

    board.ends("t0.merge1", Outcome.CONFLICT, "conflicts: x", news="")

    assert board.state.pilot.queue.results == {}
    assert [each.task for each in board.state.pilot.queue.thrown_out] == ["t0"]


def test_m2_a_person_who_ends_a_batch_ends_the_merge_of_its_first_change_only():
    board = waiting(3)
    board.ends("t0.merge1", commit="m0")

    assert board.ends("t1.merge2", Outcome.ABORTED) == ["t2.merge3"]
    assert board.status("t1", "t2", "t3") == ["waiting", "merging", "merging"]
    assert others(board, "t2.merge3") == ["t3"]


def test_m2_a_batch_has_one_target_and_no_roll_back():
    board = waiting(0)
    board.ends("t0.merge1", commit="m0")
    board.add(NewTask(id="x", title="x"), NewTask(id="y", title="y"), NewTask(id="z", title="z"))
    board.ends("x.1", tree="tree x")
    board.tell(RollBack(task="t0"))
    board.ends("y.1", tree="tree y")
    board.ends("z.1", tree="tree z")

    assert board.ends("x.merge2", commit="mx") == ["t0.merge3"]
    assert others(board, "t0.merge3") == []


def test_m2_a_board_of_an_older_version_merges_one_by_one():
    board = BoardSteps(slots=3, gate=CHECKS)
    board.add("a", "b", "c")
    for name in "abc":
        board.ends(f"{name}.1", tree=f"tree {name}")

    board.ends("a.merge1", commit="m")

    assert others(board, "b.merge2") == []


def test_v11_a_red_target_holds_the_board_and_its_changes_wait_in_the_queue():
    board = waiting(2, no_progress=3)
    board.ends("t0.merge1", commit="m0")

    started = board.ends("t1.merge2", outcome=Outcome.BLOCKED, note="why", target_fails="T")

    assert started == [], "no merge can pass"
    assert board.status("t1", "t2") == ["merging"] * 2
    assert board.state.pilot.brake_reason == "no work can pass: T fails on main, too"
    [again] = board.tell(Resume())
    assert (again, others(board, again)) == ("t2.merge3", ["t1"])
