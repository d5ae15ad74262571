"""M5: the merge queue as people see it: batch, members, what runs, why one was thrown out."""

from datetime import timedelta

from allstop.core.moves import CheckResult, ChecksDone, Failed, FailureKind, Integrated, Outcome
from allstop.merges.pilot import MergePilot
from allstop.testing.virtual_clock import EPOCH
from allstop.views.merge_queue import Place, merge_queue_view, merge_run
from support.pilot_steps import BoardSteps, PilotSteps

CHECKS = {"checks": [{"name": "Tests", "run": "t"}]}
MERGES = {
    name: Integrated(tip=f"m{number}", commit=f"m{number + 1}", tree=f"tree {number + 1}")
    for number, name in enumerate(["t1", "t2", "t3"])
}
RED = CheckResult(name="Tests", run="t", passed=False, code=1)


def waiting(count):
    """A board whose first merge has landed while others joined the queue."""
    board = BoardSteps(slots=20, gate=CHECKS, batch=8)
    names = [f"t{number}" for number in range(count + 1)]
    board.add(*names)
    for name in names:
        board.ends(f"{name}.1", tree=f"tree {name}")
    return board


def with_merge(board):
    """The board after its first merge, and the merge of the batch that it has begun."""
    [ref] = board.ends("t0.merge1", commit="m0")
    merge = PilotSteps(MergePilot(), board.spec_of(ref), ref=ref)
    return board, merge


def shown(board, merge=None):
    return merge_queue_view(board.state.pilot, merge and merge.state)


def places(changes):
    return {change.id: change.place for change in changes}


def test_m5_an_empty_queue_says_how_large_its_next_batch_may_be():
    found = shown(BoardSteps(batch=8))

    assert (found.merge, found.waiting, found.thrown_out) == (None, (), ())
    [batches] = found.batches
    assert (batches.target, batches.failed, batches.counted, batches.largest) == ("main", 0, 0, 8)


def test_m5_the_batch_shows_its_members_and_what_runs():
    board, merge = with_merge(waiting(3))
    assert merge_run(board.state.pilot) == "board/t1.merge2"

    merge.start()
    found = shown(board, merge)
    assert found.merge.doing == "merges t1 with main"
    assert places(found.merge.changes) == dict.fromkeys(["t1", "t2", "t3"], Place.NEXT)
    assert found.waiting == ()

    merge.end(MERGES["t1"])
    merge.back(MERGES["t2"])
    merge.back(MERGES["t3"])
    merge.wait(5).start()
    running = shown(board, merge).merge
    assert places(running.changes) == dict.fromkeys(["t1", "t2", "t3"], Place.MERGED)
    assert (running.doing, running.checks, running.again) == ("runs Tests", ("Tests",), False)
    assert running.since == EPOCH + timedelta(seconds=5)

    merge.end(ChecksDone(results=(RED,)))
    merge.start()
    assert shown(board, merge).merge.again, "what failed runs once more"


def test_m5_a_change_that_conflicts_with_its_batch_is_left_out_and_says_why():
    board, merge = with_merge(waiting(2))
    merge.back(MERGES["t1"])
    merge.back(Failed(kind=FailureKind.CONFLICT, message="same.txt"))

    first, second = shown(board, merge).merge.changes
    assert (first.id, first.place) == ("t1", Place.MERGED)
    assert (second.id, second.place) == ("t2", Place.LEFT_OUT)
    assert "the next batch begins with it" in second.note


def test_m5_a_split_batch_says_which_checks_failed_and_how_large_the_parts_are():
    board, _ = with_merge(waiting(6))
    note = "6 changes together fail: Tests"
    names = [f"t{number}" for number in range(1, 7)]
    facts = {"red": "tree 6", "gate": "g", "again": '["Tests"]', "batch": " ".join(names)}

    [ref] = board.ends("t1.merge2", Outcome.CONFLICT, note, **facts)

    found = shown(board, PilotSteps(MergePilot(), board.spec_of(ref), ref=ref))
    assert found.split == note
    assert [change.id for change in found.merge.changes] == ["t1", "t2", "t3", "t4"]
    assert places(found.waiting) == {"t5": Place.WAITING, "t6": Place.WAITING}
    assert found.waiting[0].note == f"in a batch of at most 4: {note}"


def test_m5_a_change_that_was_thrown_out_says_why_and_what_became_of_it():
    board = waiting(0)
    note = "merged with main, it fails: Tests"

    board.ends("t0.merge1", Outcome.CONFLICT, note, news="1 failed")

    found = shown(board)
    [out] = found.thrown_out
    assert (out.id, out.title, out.reason, out.status) == ("t0", "t0", note, "active")
    assert found.batches[0].failed == 1


def test_m5_landed_changes_of_a_batch_wait_only_for_their_record():
    board, _ = with_merge(waiting(2))

    [ref] = board.ends("t1.merge2", commit="m1", landed="t2=m2")

    merge = PilotSteps(MergePilot(), board.spec_of(ref), ref=ref)
    assert places(shown(board, merge).merge.changes) == {"t2": Place.LANDED}


def test_m5_a_braked_board_says_why_nothing_is_merged():
    board = BoardSteps(slots=1, gate=CHECKS, errors=1, review="batch")
    board.add("t0")
    board.ends("t0.1", Outcome.FAILED)

    assert shown(board).held == "1 task failed in a row"
