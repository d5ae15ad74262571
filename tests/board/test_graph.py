"""B1, B2, B3: which tasks are ready, and in which order they start."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from allstop.board import graph
from allstop.board.dependencies import path_between
from allstop.board.graph import Board, Score, best, ready, score
from allstop.board.scheduling import best_chosen
from allstop.core.tasks import Changes, NewTask, Status, Task
from board import random_boards
from support.strategies import NOW


def new(name, **more):
    return NewTask(id=name, title=f"title of {name}", **more)


def board_of(*tasks):
    return graph.add(Board(), tasks, NOW)


def having(board, name, **changes):
    return graph.update(board, board[name], **changes)


def names(tasks):
    return [task.id for task in tasks]


# --- invariants ---


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_b3_the_best_is_the_best_of_all_whatever_was_done_to_the_board(seed, steps):
    for board in random_boards.some_board(seed, steps):
        expected = random_boards.in_order(board)

        assert best(board) == (expected[0] if expected else None)
        assigned = [task for task in expected if task.assigned]
        assert best_chosen(board, (), None) == (assigned[0] if assigned else None)
    for task in expected:
        assert score(board, task).total == random_boards.score(board, task)


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_b2_ready_is_pending_with_every_need_done_or_skipped_and_not_held(seed, steps):
    *_, board = random_boards.some_board(seed, steps)

    assert sorted(names(ready(board))) == sorted(names(random_boards.ready(board)))
    for task in board.tasks():
        waits = graph.waits_for(board, task)
        assert bool(waits) == any(
            board[need].status not in (Status.DONE, Status.SKIPPED) for need in task.needs
        )


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_b2_the_counts_are_right_whatever_was_done_to_the_board(seed, steps):
    *_, board = random_boards.some_board(seed, steps)
    counted = random_boards.counts(board)

    for status in Status:
        assert board.count(status) == counted[status]
    assert board.count(*Status) == len(board.nodes)
    assert names(board.tasks()) == names(sorted(board.tasks(), key=lambda task: task.number))


@given(st.integers(0, 2**32), st.integers(0, 40))
def test_a_board_that_was_changed_is_another_and_the_old_one_stays(seed, steps):
    kept = [
        (board, names(random_boards.in_order(board)))
        for board in random_boards.some_board(seed, steps)
    ]

    for board, order in kept:
        assert names(random_boards.in_order(board)) == order
        assert best(board) == (board[order[0]] if order else None)


# --- the terms of the score ---


def test_b3_a_task_counts_ten_for_each_task_that_directly_needs_it():
    board = board_of(
        new("a"), new("b", needs=("a",)), new("c", needs=("a",)), new("d", needs=("c",))
    )

    assert score(board, board["a"]) == Score(total=20, unblocks=20)
    assert score(board, board["c"]) == Score(total=10, unblocks=10)
    assert score(board, board["d"]) == Score(total=0)


@pytest.mark.parametrize("status", [Status.DONE, Status.SKIPPED, Status.CANCELLED])
def test_b3_those_who_are_over_wait_for_nobody(status):
    board = board_of(new("a"), new("b", needs=("a",)), new("c", needs=("a",)))

    assert score(having(board, "b", status=status), board["a"]).total == 10


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (("critical",), Score(total=50, critical=50)),
        (("quick-win",), Score(total=30, quick_win=30)),
        (("critical", "quick-win"), Score(total=80, critical=50, quick_win=30)),
        (("Critical", "quick", "win"), Score(total=0)),
    ],
)
def test_b3_the_tags_critical_and_quick_win_count_fifty_and_thirty(tags, expected):
    board = board_of(new("a", tags=tags))

    assert score(board, board["a"]) == expected


@pytest.mark.parametrize(("done", "bonus"), [(0, 0), (1, 0), (2, 0), (3, 20)])
def test_b3_twenty_where_more_than_half_of_the_operation_is_done(done, bonus):
    board = board_of(*(new(name, operation="o") for name in "abcd"), new("other"))
    for name in "abc"[:done]:
        board = having(board, name, status=Status.DONE)

    assert score(board, board["d"]) == Score(total=bonus, nearly_done=bonus)
    assert best(board).id == ("a" if done == 0 else "abcd"[done])


@pytest.mark.parametrize(
    ("other", "bonus"),
    [
        (Status.CANCELLED, 20),
        (Status.SKIPPED, 0),
        (Status.FAILED, 0),
        (Status.MERGING, 0),
    ],
)
def test_b3_the_children_of_an_operation_are_all_that_were_not_taken_off_the_board(other, bonus):
    """B3: only done tasks count as done; tasks cancelled by `rm` or `reject` don't count at all."""
    board = board_of(*(new(name, operation="o") for name in "abcd"))
    for name in "ab":
        board = having(board, name, status=Status.DONE)
    assert score(board, board["d"]).nearly_done == 0, "half of it is not more than half"

    board = having(board, "c", status=other)

    assert score(board, board["d"]).nearly_done == bonus
    back = having(board, "c", status=Status.PENDING)
    assert score(back, back["d"]).nearly_done == 0


def test_b3_the_twenty_move_an_operation_in_front_of_others_and_back_again():
    board = board_of(new("x"), *(new(name, operation="o") for name in "abc"), new("y", priority=9))
    assert best(board).id == "y"
    nearly = having(having(board, "a", status=Status.DONE), "b", status=Status.DONE)
    assert best(nearly).id == "c"

    back = having(nearly, "b", status=Status.FAILED)
    assert best(back).id == "y"


def test_b3_tasks_of_no_operation_are_no_operation():
    board = board_of(new("a"), new("b"), new("c"))
    for name in "ab":
        board = having(board, name, status=Status.DONE)

    assert score(board, board["c"]) == Score(total=0)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_b3_every_retry_counts_fifteen_against_a_task(retries):
    board = having(board_of(new("a")), "a", retries=retries)

    assert score(board, board["a"]) == Score(total=-15 * retries, retries=-15 * retries)


def test_b3_all_terms_add_up():
    tasks = [new(name, operation="o") for name in "abc"]
    board = board_of(
        *tasks, new("d", operation="o", tags=("critical", "quick-win")), new("e", needs=("d",))
    )
    for name in "abc":
        board = having(board, name, status=Status.DONE)
    board = having(board, "d", retries=2)

    assert score(board, board["d"]) == Score(
        total=10 + 50 + 30 + 20 - 30,
        unblocks=10,
        critical=50,
        quick_win=30,
        nearly_done=20,
        retries=-30,
    )


# --- order ---


def test_b3_the_highest_score_is_first():
    board = board_of(new("slow"), new("fast", tags=("quick-win",)), new("hot", tags=("critical",)))

    assert names(ready(board)) == ["hot", "fast", "slow"]


def test_b3_ties_are_broken_by_priority_and_then_by_age():
    board = board_of(
        new("old"), new("young"), new("high", priority=2), new("higher", priority=7), new("z-last")
    )

    assert names(ready(board)) == ["higher", "high", "old", "young", "z-last"]


def test_b3_age_is_the_order_in_which_tasks_were_added_and_not_their_name():
    board = graph.add(board_of(new("z")), [new("a"), new("T10"), new("T9")], NOW)

    assert names(ready(board)) == ["z", "a", "T10", "T9"]


def test_b3_ties_between_operations_are_broken_the_same_way():
    board = board_of(
        new("a", operation="o1", priority=1), new("b", operation="o2", priority=3), new("c")
    )

    assert names(ready(board)) == ["b", "a", "c"]


def test_b3_a_pin_goes_before_every_score_and_the_last_pin_before_the_others():
    board = board_of(new("hot", tags=("critical",)), new("a"), new("b"))
    board = graph.pin(board, board["a"], on=True)
    board = graph.pin(board, board["b"], on=True)

    assert names(ready(board)) == ["b", "a", "hot"]
    assert score(board, board["b"]) == Score(total=0), "a pin is not a score"
    board = graph.pin(board, board["b"], on=False)
    assert names(ready(board)) == ["a", "hot", "b"]


def test_u2_tasks_are_started_in_the_order_that_a_person_gave_them():
    board = board_of(new("hot", tags=("critical",)), new("a"), new("b"), new("c"))
    board = graph.pin(board, board["c"], on=True)

    board = graph.order(board, ["b", "hot", "b"])

    assert names(ready(board)) == ["b", "hot", "c", "a"]
    assert names(ready(graph.order(board, ["a"]))) == ["a", "b", "hot", "c"]


def test_b5_what_a_person_assigned_goes_before_pins():
    board = board_of(new("hot", tags=("critical",)), new("a"), new("b"))
    board = graph.pin(board, board["a"], on=True)

    assert best(having(board, "b", assigned=True)).id == "b"
    assert best_chosen(having(board, "b", assigned=True), (), None).id == "b"


def test_b5_nothing_is_best_where_only_what_was_assigned_may_start():
    board = board_of(new("a"), new("b"))

    assert best_chosen(board, (), None) is None
    assert best_chosen(board, ("b", "gone"), None).id == "b"
    assert best_chosen(having(board, "b", assigned=True), ("a",), None).id == "b"
    assert best_chosen(having(board, "b", assigned=True), ("a",), lambda t: t.id == "a").id == "a"
    assert best_chosen(having(board, "b", status=Status.ACTIVE), ("b",), None) is None
    assert best(board).id == "a"


def test_what_a_person_ended_is_not_ready():
    board = having(board_of(new("a")), "a", held=True)

    assert best(board) is None
    assert best(having(board, "a", held=False)).id == "a"


# --- dependencies ---


@pytest.mark.parametrize("status", list(Status))
def test_b2_a_need_is_met_when_it_is_done_or_skipped(status):
    board = having(board_of(new("a"), new("b", needs=("a",))), "a", status=status)

    is_met = status in (Status.DONE, Status.SKIPPED)
    assert ("b" in names(ready(board))) == is_met
    assert names(graph.waits_for(board, board["b"])) == ([] if is_met else ["a"])


def test_b2_every_need_must_be_met():
    board = board_of(new("a"), new("b"), new("c", needs=("a", "b")))
    board = having(board, "a", status=Status.DONE)
    assert names(ready(board)) == ["b"]

    board = having(board, "b", status=Status.SKIPPED)
    assert names(ready(board)) == ["c"]
    assert names(ready(having(board, "a", status=Status.PENDING))) == ["a"]


def test_b1_a_need_that_is_named_twice_is_one_need():
    board = board_of(new("a"), new("b", needs=("a", "a")))
    assert score(board, board["a"]).unblocks == 10
    assert names(ready(having(board, "a", status=Status.DONE))) == ["b"]

    board = graph.edit(board, board["b"], Changes(needs=("a", "a", "a")))
    assert names(ready(having(board, "a", status=Status.DONE))) == ["b"]


def test_b1_new_needs_take_the_place_of_the_old_ones():
    board = board_of(new("a"), new("b"), new("c", needs=("a",)))
    board = graph.edit(board, board["c"], Changes(needs=("b",)))

    assert score(board, board["a"]).total == 0
    assert score(board, board["b"]).total == 10
    assert names(ready(having(board, "b", status=Status.DONE))) == ["a", "c"]


def test_b1_a_task_has_all_that_it_was_added_with():
    board = board_of(new("need"))
    full = new(
        "a",
        body="b",
        operation="o",
        needs=("need",),
        tags=("t",),
        priority=3,
        agent="anna",
        iterations=7,
        minutes=1.5,
        source="file:3",
    )

    assert graph.add(board, [full], NOW)["a"] == Task(
        id="a",
        title="title of a",
        number=2,
        body="b",
        operation="o",
        needs=("need",),
        tags=("t",),
        priority=3,
        agent="anna",
        iterations=7,
        minutes=1.5,
        source="file:3",
        changed_at=NOW,
    )


def test_b4_what_was_over_before_it_came_is_done_and_where_it_came_from_is_known():
    board = board_of(new("a", done=True, source="file:1"), new("b", needs=("a",), source="file:2"))

    assert (board["a"].status, board["b"].status) == (Status.DONE, Status.PENDING)
    assert names(ready(board)) == ["b"]
    assert (board.sources.get("file:1"), board.sources.get("file:9")) == ("a", None)


def test_b1_an_edit_changes_only_what_was_said():
    board = board_of(new("a", agent="anna", iterations=5, tags=("critical",)))
    board = graph.edit(board, board["a"], Changes(title="new", agent=None, tags=()))

    task = board["a"]
    assert (task.title, task.agent, task.iterations, task.tags) == ("new", None, 5, ())
    assert score(board, task).total == 0


# --- paths ---


def test_b1_a_path_of_needs_is_told_step_by_step():
    board = board_of(new("a"), new("b", needs=("a",)), new("x"), new("c", needs=("x", "b")))

    assert path_between(board, "c", "a") == ["c", "b", "a"]
    assert path_between(board, "a", "c") is None
    assert path_between(board, "a", "a") == ["a"]


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_b1_a_path_is_found_wherever_there_is_one(seed, steps):
    *_, board = random_boards.some_board(seed, steps)
    tasks = {task.id: task for task in board.tasks()}
    for start in tasks:
        reached, waiting = {start}, [start]
        while waiting:
            more = set(tasks[waiting.pop()].needs) - reached
            reached |= more
            waiting += more

        for end in tasks:
            path = path_between(board, start, end)
            assert (path is not None) == (end in reached)
            if path is not None:
                assert (path[0], path[-1]) == (start, end)
                assert all(b in tasks[a].needs for a, b in itertools.pairwise(path))


class Listening:
    """Nodes that record which of them were read."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.asked = []

    def __getitem__(self, name):
        self.asked.append(name)
        return self.nodes[name]


def test_q7_those_that_came_before_or_later_are_not_looked_through():
    """If no task needs a younger one, the search stays between the two in age."""
    chain = [new("t0"), *(new(f"t{n}", needs=(f"t{n - 1}",)) for n in range(1, 1000))]
    board = board_of(*chain)
    near, wrong = Listening(board.nodes), Listening(board.nodes)

    path = path_between(structs.replace(board, nodes=near), "t503", "t500")
    none = path_between(structs.replace(board, nodes=wrong), "t500", "t503")

    assert path == ["t503", "t502", "t501", "t500"]
    assert none is None
    assert len(near.asked) < 30
    assert len(wrong.asked) < 10


def test_b1_a_path_through_a_need_that_came_later_is_found():
    board = board_of(new("a"), new("b"), new("c", needs=("a",)))
    board = graph.edit(board, board["a"], Changes(needs=("b",)))

    assert board.needs_younger == 1
    assert path_between(board, "c", "b") == ["c", "a", "b"]

    board = graph.edit(board, board["a"], Changes(needs=()))

    assert board.needs_younger == 0
    assert path_between(board, "c", "b") is None


def test_b17_who_came_first_is_merged_first():
    board = board_of(new("a"), new("b"), new("c"))
    for name in "cab":
        board = graph.queue_merge(board, board[name], NOW)

    assert [name for _, name in board.merges] == ["c", "a", "b"]
    assert board.count(Status.MERGING) == 3


def test_q7_the_next_of_many_tasks_stays_quick_to_find():
    """A change copies a few hundred entries, however many tasks there are."""
    board = board_of(*(new(f"t{n}", operation=f"o{n % 90}", priority=n % 7) for n in range(20_000)))
    for number in range(300):
        task = best(board)
        assert task.priority == 6, number
        board = graph.update(board, task, status=Status.DONE)

    assert board.count(Status.PENDING) == 19_700
