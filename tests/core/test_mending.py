"""B19: what helps a task that can't go on depends on why it ended."""

import pytest

from allstop.core import mending
from allstop.core.moves import Failed, FailureKind
from allstop.core.tasks import Status, Task


def ended(kind, message="no", **known):
    note = mending.note_of(Failed(kind=kind, message=message))
    return Task(id="T1", title="x", number=1, **{"status": Status.FAILED, "note": note, **known})


@pytest.mark.parametrize(
    ("kind", "first", "command", "hint"),
    [
        (FailureKind.AUTH, "retry", "allstop agents login claude", "login claude`"),
        (FailureKind.NETWORK, "retry", "allstop retry T1", "could not be reached"),
        (FailureKind.USAGE_LIMITED, "retry", "allstop retry T1", "retry later"),
        (FailureKind.BAD_REQUEST, "edit", "allstop edit T1", "and would again"),
        (FailureKind.CONTEXT, "split", "allstop retry T1", "split it"),
        (FailureKind.EXITED, "retry", "allstop retry T1", "Its log says"),
        (FailureKind.UNSAFE, "retry", "allstop doctor", "no sandbox"),
    ],
)
def test_b19_each_kind_of_failure_has_its_next_step(kind, first, command, hint):
    task = ended(kind, agent="claude")

    assert mending.remedies(task)[0] == first
    assert mending.command(task) == command
    assert hint in mending.hint(task)


@pytest.mark.parametrize("kind", FailureKind)
def test_b19_raising_a_limit_is_offered_only_to_what_ran_out_of_it(kind):
    assert "limit" not in mending.remedies(ended(kind))
    assert "limit" in mending.remedies(ended(kind, status=Status.TIMEOUT))
    assert "limit" not in mending.remedies(ended(kind, status=Status.BLOCKED))


def test_k22_a_blocked_agent_can_not_choose_what_people_are_told_to_do():
    task = ended(FailureKind.AUTH, status=Status.BLOCKED)

    assert (mending.hint(task), mending.command(task)) == ("", "allstop retry T1")


def test_b19_an_agent_without_a_name_is_looked_up_first():
    assert mending.command(ended(FailureKind.AUTH)) == "allstop agents"


@pytest.mark.parametrize("note", ["", "auth", "asks: which?", "authority: mine", "AUTH: x"])
def test_b19_other_notes_tell_of_no_failure(note):
    assert mending.failure_in(note) is None
