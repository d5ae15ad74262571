"""B1, B2, B19: commands on tasks: refusals, hints, and changes of the board."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.board import graph
from allstop.board.dependencies import path_between
from allstop.board.graph import Board
from allstop.board.task_commands import Refusal, carried_out, in_order, out_of_bounds, refusal
from allstop.core.commands import (
    AddTasks,
    Approve,
    Assign,
    EditTask,
    Pin,
    Redo,
    Reject,
    RemoveTask,
    Retry,
    RollBack,
    Skip,
)
from allstop.core.moves import Outcome
from allstop.core.tasks import Attempt, Changes, NewTask, Status
from board import random_boards
from support.cases import for_each
from support.strategies import NOW

END_FIRST = "end it first with `allstop abort a`"
GO_ON = "end it with `allstop abort a`, or resume it with `allstop resume a`"
ANSWER = 'its agent asks: `allstop answer a "…"`, or `allstop abort a`'
ONLY_VERIFIED = "only verified work can be reviewed"


def new(name, needs=(), **more):
    return NewTask(id=name, title=name.upper(), needs=tuple(needs), **more)


def add(*tasks):
    return AddTasks(tasks=tasks)


def board_of(*tasks):
    return graph.add(Board(), tasks, NOW)


def having(board, name, **changes):
    return graph.update(board, board[name], **changes)


def board_with(status, **more):
    return having(board_of(new("a")), "a", status=status, **more)


def edit(name="a", **changes):
    return EditTask(task=name, changes=Changes(**changes))


# --- adding ---


@pytest.mark.parametrize("name", ["", ".hidden", "-x", "a b", "a/b", "ä", "a" * 65, "a\n", "$(x)"])
def test_b1_an_id_that_can_not_be_a_name_of_a_branch_is_refused(name):
    assert refusal(Board(), add(NewTask(id=name, title="t"))) == Refusal(
        f"{name!r} can't be the id of a task",
        "use at most 64 letters, digits, '.', '_' and '-'; begin with a letter or digit",
        "task_id_invalid",
    )


@pytest.mark.parametrize("name", ["a", "T-1", "a.b_c-d", "9", "a" * 64])
def test_b1_an_id_of_letters_digits_and_some_signs_is_taken(name):
    assert refusal(Board(), add(NewTask(id=name, title="t"))) is None


@pytest.mark.parametrize("title", ["", "  \n"])
def test_b1_a_task_says_what_is_to_be_done(title):
    assert refusal(Board(), add(NewTask(id="a", title=title))) == Refusal(
        "task a has no title", "give it a title", "task_title_missing"
    )


def test_b1_an_id_that_is_there_already_is_refused():
    expected = Refusal("task 'a' exists already", "`allstop show a` shows it", "task_exists")

    assert refusal(board_of(new("a")), add(new("a"))) == expected
    assert refusal(Board(), add(new("a"), new("b"), new("a"))) == expected


def test_b1_a_need_that_does_not_exist_is_refused():
    hint = "add the needed tasks first; `allstop list` shows the board"

    assert refusal(Board(), add(new("a", ["x"]))) == Refusal(
        "a needs x, which is not on the board", hint, "task_needs_unknown"
    )
    assert refusal(board_of(new("b")), add(new("a", ["x", "b", "y"]))) == Refusal(
        "a needs x, y, which are not on the board", hint, "task_needs_unknown"
    )
    assert refusal(Board(), add(new("a", ["b"]), new("b"))) == Refusal(
        "a needs b, which is not on the board", hint, "task_needs_unknown"
    )


def test_b1_tasks_that_come_together_may_need_those_before_them():
    assert refusal(board_of(new("x")), add(new("a", ["x"]), new("b", ["a", "x"]))) is None


def test_b1_of_tasks_that_come_together_all_are_taken_or_none():
    board = carried_out(board_of(new("a")), add(new("b"), new("a")), NOW, merge=True)

    assert [task.id for task in board.tasks()] == ["a"]


# --- cycles ---


@pytest.mark.parametrize(
    ("needs", "path"),
    [(["c"], "a → c → b → a"), (["b"], "a → b → a"), (["a"], "a → a"), (["x", "c"], "a → c → b → a")],
)  # fmt: skip
def test_b1_a_cycle_is_refused_and_named(needs, path):
    board = board_of(new("a"), new("b", ["a"]), new("c", ["b"]), new("x"))

    assert refusal(board, edit(needs=tuple(needs))) == Refusal(
        f"tasks need each other: {path}", "remove one of the needs", "task_needs_cycle"
    )


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_b1_whatever_is_done_to_a_board_nothing_on_it_needs_itself(seed, steps):
    *_, board = random_boards.some_board(seed, steps)

    for task in board.tasks():
        for need in task.needs:
            assert path_between(board, need, task.id) is None


def test_b4_tasks_of_a_file_are_put_after_those_they_need():
    tasks = [new("d", ["b", "c"]), new("b", ["a"]), new("c", ["a"]), new("a", ["elsewhere"])]

    assert [task.id for task in in_order(tasks)] == ["a", "b", "c", "d"]
    assert in_order([]) == []
    assert in_order([new("a"), new("b")]) == [new("a"), new("b")]


def test_b4_a_cycle_in_a_file_is_named():
    tasks = [new("x", ["a"]), new("a", ["b"]), new("b", ["c"]), new("c", ["a"])]

    assert in_order(tasks) == Refusal(
        "tasks need each other: a → b → c → a", "remove one of the needs", "task_needs_cycle"
    )
    assert in_order([new("a", ["a"])]) == Refusal(
        "tasks need each other: a → a", "remove one of the needs", "task_needs_cycle"
    )


def test_b1_two_tasks_of_one_id_in_a_file_are_refused_and_not_made_one():
    tasks = [new("a"), new("b"), NewTask(id="a", title="something else")]

    assert in_order(tasks) == Refusal(
        "there are two tasks 'a'", "give one of them another id", "task_id_duplicate"
    )


@given(st.permutations(range(12)), st.data())
def test_b4_any_tasks_without_a_cycle_come_into_an_order_that_a_board_takes(numbers, data):
    tasks = [
        new(f"t{n}", [f"t{need}" for need in data.draw(st.sets(st.integers(0, n - 1), max_size=3))])
        if n
        else new("t0")
        for n in numbers
    ]
    ordered = in_order(tasks)

    assert sorted(task.id for task in ordered) == sorted(task.id for task in tasks)
    assert refusal(Board(), add(*ordered)) is None


def test_q7_a_long_chain_in_the_wrong_order_is_put_in_order_quickly():
    chain = [new(f"t{n}", [f"t{n + 1}"]) for n in range(30_000)] + [new("t30000")]

    assert in_order(chain)[0].id == "t30000"


# --- commands on one task ---


@pytest.mark.parametrize(
    ("said", "shown", "hint"),
    [
        ({"iterations": 0}, "0", "use 1 to 1,000,000,000,000"),
        ({"iterations": 10**400}, "such a number", "use 1 to 1,000,000,000,000"),
        ({"stuck_after": -3}, "-3", "use 1 to 1,000,000,000,000"),
        ({"minutes": 0.0}, "0.0", "use 0.01 to 525,600"),
        ({"minutes": 525_601.0}, "525,601.0", "use 0.01 to 525,600"),
        ({"minutes": 1e308}, "such a number", "use 0.01 to 525,600"),
        ({"minutes": math.nan}, "such a number", "use 0.01 to 525,600"),
        ({"minutes": math.inf}, "such a number", "use 0.01 to 525,600"),
        ({"priority": 10**9 + 1}, "1,000,000,001", "use -1,000,000,000 to 1,000,000,000"),
    ],
)
def test_b1_numbers_that_make_no_sense_are_refused_new_or_changed(said, shown, hint):
    """B1: from any client."""
    (name,) = said
    refused = Refusal(f"{name} of a can't be {shown}", hint, "task_number_out_of_range")

    assert out_of_bounds(add(new("b"), new("a", **said))) == refused
    assert out_of_bounds(edit(**said)) == refused
    assert out_of_bounds(edit(iterations=None, minutes=0.5)) is None


@pytest.mark.parametrize("name", ["auto1", "guidance12"])
def test_b1_the_name_of_a_thread_is_no_id_of_a_new_task(name):
    """B1, B6: its workspace and its refs would be those of the thread."""
    refused = out_of_bounds(add(new("b"), new(name)))

    assert refused.code == "task_id_reserved"
    assert repr(name) in refused.message
    assert out_of_bounds(add(new("auto"), new("auto-1"), new("my-auto1"))) is None


def test_b1_what_was_recorded_before_there_were_bounds_still_holds():
    """B1: an old journal still folds to the same board."""
    board = carried_out(Board(), add(new("a", minutes=1e308)), NOW, merge=False)

    assert board["a"].minutes == 1e308


@pytest.mark.parametrize(
    "command",
    [
        Retry(task="x"),
        Skip(task="x"),
        edit("x"),
        Pin(task="x"),
        Assign(task="x"),
        Approve(task="x"),
    ],
)
def test_a_task_that_is_not_there_is_refused(command):
    assert refusal(Board(), command) == Refusal(
        "there is no task 'x'", 'the board is empty: allstop add "TITLE"', "task_not_found"
    )
    assert refusal(board_of(new("a")), command) == Refusal(
        "there is no task 'x'", "`allstop list` shows the tasks", "task_not_found"
    )


ALLOWED = {
    Retry(task="a"): {
        Status.BLOCKED,
        Status.FAILED,
        Status.TIMEOUT,
        Status.WAITING,
        Status.CANCELLED,
    },
    Skip(task="a"): set(Status) - {Status.DONE, Status.SKIPPED, Status.CANCELLED, Status.MERGING},
    RemoveTask(task="a"): set(Status) - {Status.DONE, Status.MERGING},
    Approve(task="a"): {Status.REVIEW},
    Redo(task="a", text="no"): {Status.REVIEW},
    Reject(task="a"): {Status.REVIEW},
    Pin(task="a"): set(Status) - {Status.DONE, Status.SKIPPED, Status.CANCELLED},
    Assign(task="a"): {Status.PENDING},
    RollBack(task="a"): set(Status) - {Status.DONE, Status.MERGING},
    EditTask(task="a", changes=Changes(title="new")): set(Status) - {Status.DONE, Status.MERGING},
}
DONE_TO_IT = {
    Retry: "retried",
    Skip: "skipped",
    RemoveTask: "removed",
    Approve: "reviewed",
    Redo: "reviewed",
    Reject: "reviewed",
    Pin: "pinned",
    Assign: "started",
    RollBack: "rolled back",
    EditTask: "edited",
}


@for_each("status", list(Status))
@for_each("command", ALLOWED, ids=lambda command: type(command).__name__)
def test_b2_every_illegal_change_is_refused_and_changes_nothing(command, status):
    """B2: for a task without an open run (an active one has a run)."""
    board = board_with(status)
    refused = refusal(board, command)

    assert (refused is None) == (status in ALLOWED[command])
    if refused is not None:
        assert refused.message == f"a is {status}: it can't be {DONE_TO_IT[type(command)]}"
        assert carried_out(board, command, NOW, merge=True) is board


@pytest.mark.parametrize(
    "command", [Retry(task="a"), Skip(task="a"), RemoveTask(task="a"), RollBack(task="a"), edit()]
)
@pytest.mark.parametrize(("status", "hint"), [(Status.ACTIVE, GO_ON), (Status.WAITING, ANSWER)])
def test_b20_a_task_with_an_open_run_is_changed_by_telling_that_run(command, status, hint):
    board = board_with(status, open="a.1")

    assert refusal(board, command) == Refusal(
        f"a is {status}: it can't be {DONE_TO_IT[type(command)]}", hint, "task_wrong_status"
    )


@pytest.mark.parametrize("command", [Skip(task="a"), RemoveTask(task="a"), Retry(task="a"), edit()])
def test_b17_a_task_that_is_being_merged_must_be_aborted_first(command):
    refused = refusal(board_with(Status.MERGING, open="a.merge1"), command)

    assert refused.hint == END_FIRST


@pytest.mark.parametrize("command", [Approve(task="a"), Redo(task="a", text="x"), Reject(task="a")])
def test_b21_only_verified_work_is_reviewed(command):
    assert refusal(board_with(Status.PENDING), command) == Refusal(
        "a is pending: it can't be reviewed", ONLY_VERIFIED, "task_wrong_status"
    )


def test_b5_a_task_whose_needs_are_not_met_can_not_be_started():
    board = board_of(new("a"), new("b"), new("c", ["a", "b"]))

    assert refusal(board, Assign(task="c")) == Refusal(
        "c waits for a, b", "those tasks must be done first", "task_needs_unfinished"
    )
    assert refusal(having(board, "a", status=Status.DONE), Assign(task="c")) == Refusal(
        "c waits for b", "those tasks must be done first", "task_needs_unfinished"
    )


def test_b1_an_edit_keeps_a_title_and_knows_its_needs():
    board = board_of(new("a"))

    assert refusal(board, edit(title=" ")) == Refusal(
        "task a would have no title", "give it a title", "task_title_missing"
    )
    assert refusal(board, edit(needs=("x",))).message == "a needs x, which is not on the board"
    assert refusal(board, edit(needs=())) is None


def test_b18_what_is_done_without_any_work_can_not_be_rolled_back():
    assert refusal(board_with(Status.DONE), RollBack(task="a")) == Refusal(
        "a is done: it can't be rolled back", "", "task_wrong_status"
    )
    assert refusal(board_with(Status.DONE, merged="m1"), RollBack(task="a")) is None


# --- changes of the board ---


def told(board, command, merge=True):
    assert refusal(board, command) is None
    return carried_out(board, command, NOW, merge=merge)


@pytest.mark.parametrize("status", sorted(ALLOWED[Retry(task="a")]))
def test_b19_retry_puts_a_task_back_at_once_with_a_further_retry(status):
    board = board_with(status, note="why", news="old news", verified="tree", retries=1)
    task = told(board, Retry(task="a"))["a"]

    assert (task.status, task.retries, task.assigned) == (Status.PENDING, 2, True)
    assert (task.note, task.news, task.verified) == ("", "old news", "")
    assert told(board, Retry(task="a", text="use tabs"))["a"].news == "use tabs"


def test_b19_retry_starts_a_fresh_count_of_conflicts():
    task = told(board_with(Status.WAITING, conflicts=2), Retry(task="a"))["a"]

    assert task.conflicts == 0


def test_b19_what_a_person_ended_is_started_again_by_retry_or_by_assigning_it():
    board = board_with(Status.PENDING, held=True)

    for command in (Retry(task="a"), Assign(task="a")):
        task = told(board, command)["a"]
        assert (task.held, task.assigned) == (False, True)


def test_b19_edit_then_retry():
    board = told(board_with(Status.FAILED), edit(title="smaller", iterations=5, minutes=2.0))
    task = told(board, Retry(task="a"))["a"]

    assert (task.title, task.iterations, task.minutes) == ("smaller", 5, 2.0)
    assert task.status is Status.PENDING


def test_b19_skip_lets_those_go_on_that_waited():
    board = having(board_of(new("a"), new("b", ["a"])), "a", status=Status.FAILED, pin=3)
    board = told(board, Skip(task="a"))

    assert (board["a"].status, board["a"].pin) == (Status.SKIPPED, 0)
    assert graph.best(board).id == "b"


def test_b5_assigning_may_choose_another_agent():
    board = board_of(new("a", agent="anna"))

    assert told(board, Assign(task="a"))["a"].agent == "anna"
    assert told(board, Assign(task="a", agent="ben"))["a"].agent == "ben"


def test_b21_approved_work_is_merged_or_done_where_merging_is_off():
    board = board_with(Status.REVIEW, verified="tree")

    merging = told(board, Approve(task="a"))
    assert (merging["a"].status, list(merging.merges)) == (Status.MERGING, [(1, "a")])
    assert told(board, Approve(task="a"), merge=False)["a"].status is Status.DONE


def test_b21_redo_goes_back_to_the_agent_with_the_comment_and_is_no_retry():
    task = told(board_with(Status.REVIEW, verified="tree"), Redo(task="a", text="too long"))["a"]

    assert (task.status, task.assigned, task.retries, task.verified) == (
        Status.PENDING,
        True,
        0,
        "",
    )
    assert task.news == "A person looked at your work and says: too long"


def test_b21_rejected_work_is_kept_and_never_merged():
    board = told(board_with(Status.REVIEW), Reject(task="a"))

    assert (board["a"].status, board["a"].note) == (Status.CANCELLED, "rejected")
    assert not board.merges


def test_b18_rolling_back_what_is_merged_waits_its_turn_in_the_queue():
    board = told(board_with(Status.DONE, merged="m1"), RollBack(task="a"))

    assert (board["a"].status, board["a"].merged) == (Status.MERGING, "m1")
    assert list(board.merges) == [(1, "a")]


def test_b18_where_merging_is_off_what_is_done_is_pending_again_and_held():
    attempts = (Attempt(run="board/a.1", began_at=NOW, outcome=Outcome.DONE),)
    board = told(board_with(Status.DONE, attempts=attempts), RollBack(task="a"))

    assert (board["a"].status, board["a"].held) == (Status.PENDING, True)
    assert not board.merges


def test_b18_rolling_back_what_is_not_merged_waits_for_a_person_to_start_it():
    board = board_with(Status.FAILED, news="news", onto="tip", note="why", verified="tree")
    task = told(board, RollBack(task="a"))["a"]

    assert (task.status, task.held, task.assigned) == (Status.PENDING, True, False)
    assert (task.news, task.onto, task.note, task.verified) == ("", "", "", "")


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_b2_what_is_refused_changes_nothing_and_what_is_not_refused_never_breaks(seed, steps):
    *_, board = random_boards.some_board(seed, steps)
    chance = random_boards.Random(seed)
    for _ in range(20):
        command = random_boards.some_command(chance, board)
        after = carried_out(board, command, NOW, merge=True)
        assert (after is board) == (refusal(board, command) is not None)


def test_b1_a_task_can_not_have_the_name_of_a_run():
    for name in ("board", "helm"):
        refused = refusal(Board(), AddTasks(tasks=(NewTask(id=name, title="x"),)))

        assert refused is not None
        assert refused.code == "task_id_reserved"
