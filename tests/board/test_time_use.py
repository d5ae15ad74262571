"""S5: where the time of tasks went."""

from datetime import timedelta

from allstop.board.time_use import Part, TimeLedger, TimeUse, runtime_s, time_use
from allstop.core.commands import Approve, Redo
from allstop.core.events import (
    ChildClosed,
    Closed,
    Commanded,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Rested,
    Waited,
)
from allstop.core.ids import BOARD
from allstop.core.moves import (
    ChecksDone,
    Failed,
    FailureKind,
    Integrate,
    OpenWorkspace,
    Outcome,
    RunChecks,
    Spawn,
    TakeTurn,
    TurnDone,
    WorkspaceOpen,
)
from allstop.core.prompt import prompt
from support.strategies import NOW

RUN, MERGE = "board/T1.1", "board/T1.merge1"
TURN = TakeTurn(agent="cli", prompt=prompt("x"))
CHECKS = RunChecks(checks=(), workspace="T1")
OPEN = OpenWorkspace(workspace="T1", target="main")
MERGING = Integrate(workspace="T1", target="main", message="x")
DONE, PASSED = TurnDone(text=""), ChecksDone(results=())
OPENED = WorkspaceOpen(base="x")


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def start(seconds, move):
    return MoveStarted(at=at(seconds), id=1, move=move)


def end(seconds, result, held_s=0.0):
    return MoveEnded(at=at(seconds), id=1, result=result, held_s=held_s)


def opened(seconds, kind="task"):
    return Opened(at=at(seconds), kind=kind, spec={})


def spawn(seconds, ref, kind="task"):
    return start(seconds, Spawn(kind=kind, ref=ref, spec={"task": "T1"}))


def verified(seconds, ref="T1.1"):
    closed = {"run": f"board/{ref}", "outcome": Outcome.DONE, "tally": {}}
    return ChildClosed(at=at(seconds), ref=ref, **closed)


def read(*records):
    ledger = TimeLedger()
    for run, event in records:
        ledger.take(run, event)
    return ledger


def use(*events, run=RUN):
    return time_use(read(*((run, event) for event in events)).stretches)


def test_s5_turns_checks_and_the_rest_are_told_apart():
    found = use(
        opened(0),
        start(0, OPEN),
        end(5, OPENED),
        start(5, TURN),
        end(65, DONE),
        start(65, CHECKS),
        end(85, PASSED),
        Closed(at=at(85), outcome=Outcome.DONE),
    )

    assert found == TimeUse(agent_s=60, checks_s=20, other_s=5)
    assert found.total_s == 85


def test_s5_waiting_for_a_person_is_not_the_agents_time():
    """S5: in a turn that is held or asks, and between two turns."""
    found = use(
        opened(0),
        start(0, TURN),
        end(100, DONE, held_s=30),
        Waited(at=at(100), reason="asks"),
        start(400, TURN),
        end(410, DONE),
    )

    assert found == TimeUse(agent_s=80, answer_s=330)


def test_s5_a_limit_is_waited_for_until_it_ends():
    """S5: however late a process takes the run up again."""
    found = use(
        opened(0),
        start(0, TURN),
        end(10, Failed(kind=FailureKind.RATE_LIMITED)),
        Rested(at=at(10), reason="limit", until=at(70)),
        start(5000, TURN),
        end(5020, DONE),
    )

    assert found == TimeUse(agent_s=30, queue_s=60)


def test_s5_a_run_that_a_person_holds_waits_for_that_person():
    found = use(opened(0), Rested(at=at(0), reason="paused"), start(50, TURN), end(60, DONE))

    assert found == TimeUse(agent_s=10, answer_s=50)


def test_s5_time_in_which_nothing_drove_the_run_counts_for_nothing():
    """S5: a process was killed in the turn; another went on the next day."""
    found = use(
        opened(0),
        start(0, TURN),
        Noted(at=at(40), id=1, items=()),
        end(90_000, Failed(kind=FailureKind.INTERRUPTED)),
        start(90_100, TURN),
        end(90_110, DONE),
    )

    assert found == TimeUse(agent_s=50)


def test_s5_the_review_and_the_merge_queue_are_waits_of_the_task():
    events = [
        (BOARD, spawn(0, "T1.1")),
        (BOARD, verified(10)),
        (BOARD, Commanded(at=at(110), command=Approve(task="T1"))),
        (BOARD, spawn(125, "T1.merge1", kind="merge")),
        (MERGE, opened(125, "merge")),
        (MERGE, start(125, MERGING)),
        (MERGE, end(126, DONE)),
        (MERGE, start(126, CHECKS)),
        (MERGE, end(130, PASSED)),
    ]

    assert time_use(read(*events).stretches) == TimeUse(
        review_s=100, queue_s=15, checks_s=4, other_s=1
    )


def test_s5_work_that_is_merged_without_a_review_waits_in_the_queue_only():
    events = [(BOARD, verified(10)), (BOARD, spawn(12, "T1.merge1", kind="merge"))]

    assert time_use(read(*events).stretches) == TimeUse(queue_s=2)


def test_s5_work_that_is_sent_back_was_reviewed():
    events = [
        (BOARD, verified(10)),
        (BOARD, Commanded(at=at(30), command=Redo(task="T1", text="x"))),
    ]
    ledger = read(*events, (BOARD, spawn(40, "T1.2")))

    assert time_use(ledger.stretches) == TimeUse(review_s=20)
    assert ledger.under_way(at(99), {"T1"}) == []


def test_s5_what_is_under_way_counts_to_its_last_event_or_if_it_waits_to_now():
    ledger = read((RUN, opened(0)), (RUN, start(0, TURN)), (RUN, Noted(at=at(7), id=1, items=())))
    asking = read((RUN, opened(0)), (RUN, Waited(at=at(0), reason="asks")))
    reviewed = read((BOARD, verified(10)))

    assert time_use(ledger.under_way(at(100), ())) == TimeUse(agent_s=7)
    assert time_use(asking.under_way(at(100), ())) == TimeUse(answer_s=100)
    assert time_use(reviewed.under_way(at(100), {"T1"})) == TimeUse(review_s=90)
    assert reviewed.under_way(at(100), ()) == []


def test_s5_other_runs_count_for_nothing():
    assert use(opened(0), start(0, TURN), end(9, DONE), run="room:default") == TimeUse()


def test_s5_the_runtime_counts_work_side_by_side_once_and_no_waiting():
    ledger = read(
        *((RUN, event) for event in (opened(0), start(0, TURN), end(60, DONE))),
        *(("board/T2.1", event) for event in (opened(30), start(30, TURN), end(90, DONE))),
        *(("board/T3.1", event) for event in (opened(200), start(200, TURN), end(210, DONE))),
        ("board/T3.1", Waited(at=at(210), reason="asks")),
        ("board/T3.1", Closed(at=at(999), outcome=Outcome.ABORTED)),
    )

    assert runtime_s(ledger.stretches, NOW) == 100
    assert runtime_s(ledger.stretches, at(50)) == 50
    assert {each.part for each in ledger.stretches} == {Part.AGENT, Part.ANSWER}
