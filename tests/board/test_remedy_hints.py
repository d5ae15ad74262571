"""B19: the remedies for a task depend on the failure that ended it."""

import pytest
from msgspec.structs import replace

from allstop.board import attempt, remedy_hints
from allstop.core.brakes import Tally
from allstop.core.events import ChildClosed
from allstop.core.moves import Failed, FailureKind, Outcome
from allstop.core.tasks import Attempt, Status, Task
from allstop.testing.virtual_clock import EPOCH
from support.cases import for_each

RUN = "board/T1.1"


def closed(kind, note="", outcome=Outcome.FAILED):
    return ChildClosed(
        at=EPOCH, ref="T1.1", run=RUN, outcome=outcome, tally=Tally(), note=note, failure=kind
    )


def ended(kind, **known):
    task = Task(id="T1", title="x", number=1, attempts=(Attempt(run=RUN, began_at=EPOCH),))
    return replace(attempt.end_attempt(task, closed(kind)), **{"status": Status.FAILED, **known})


@pytest.mark.parametrize(
    ("kind", "first", "command", "hint"),
    [
        (FailureKind.AUTH, "retry", "allstop agents login claude", "login claude`"),
        (FailureKind.NETWORK, "retry", "allstop retry T1", "could not be reached"),
        (FailureKind.USAGE_LIMITED, "retry", "allstop retry T1", "retry later"),
        (FailureKind.BAD_REQUEST, "edit", "allstop edit T1", "would fail in the same way"),
        (FailureKind.UNAVAILABLE, "retry", "allstop agents test claude", "can't be started"),
        (FailureKind.CONTEXT, "split", "allstop retry T1", "split the task"),
        (FailureKind.EXITED, "retry", "allstop retry T1", "Its log shows"),
        (FailureKind.UNSAFE, "retry", "allstop doctor", "no sandbox"),
    ],
)
def test_b19_each_kind_of_failure_has_its_next_step(kind, first, command, hint):
    task = ended(kind, agent="claude")

    assert remedy_hints.remedies(task)[0] == first
    assert remedy_hints.command(task) == command
    assert hint in remedy_hints.hint(task)


@for_each("kind", FailureKind)
def test_b19_raising_a_limit_is_offered_only_to_what_ran_out_of_it(kind):
    assert "limit" not in remedy_hints.remedies(ended(kind))
    assert "limit" in remedy_hints.remedies(ended(kind, status=Status.TIMEOUT))
    assert "limit" not in remedy_hints.remedies(ended(kind, status=Status.BLOCKED))


def test_k22_a_blocked_agent_can_not_choose_what_people_are_told_to_do():
    task = ended(FailureKind.AUTH, status=Status.BLOCKED)

    assert (remedy_hints.hint(task), remedy_hints.command(task)) == ("", "allstop retry T1")


def test_b19_an_agent_without_a_name_is_looked_up_first():
    assert remedy_hints.command(ended(FailureKind.AUTH)) == "allstop agents"
    assert remedy_hints.command(ended(FailureKind.UNAVAILABLE)) == "allstop doctor"


def test_b19_a_failure_tells_what_helps_whatever_its_note_says():
    note = "auth: is what it says of itself"

    assert remedy_hints.failure_in(closed(FailureKind.EXITED, note)) is FailureKind.EXITED


@for_each("kind", FailureKind)
def test_q20_what_an_old_record_has_in_its_note_only_is_understood(kind):
    note = remedy_hints.note_of(Failed(kind=kind, message="no: key"))

    assert remedy_hints.failure_in(closed(None, note)) is kind
    assert remedy_hints.failure_in(closed(None, note, Outcome.BLOCKED)) is None


@pytest.mark.parametrize("note", ["", "auth", "asks: which?", "authority: mine", "AUTH: x"])
def test_b19_other_notes_tell_of_no_failure(note):
    assert remedy_hints.failure_in(closed(None, note)) is None
