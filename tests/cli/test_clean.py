"""B17: what is kept of tasks that are over, by `allstop run` and by `allstop up`."""

import pytest

from support.control_room import ControlRoom
from support.person import wait_for

WORKS = "touch file-$(date +%N); echo '<promise>COMPLETE</promise>'\n"
SETTINGS = '[review]\nmode = "skip"\n[workspace]\nkeep_days = {days}\n'


@pytest.fixture
def merged(person):
    """Somebody with two tasks that were merged just now; in one's workspace is something more."""
    keep(person, 7)
    person.allstop("run", "one")
    person.allstop("run", "two")
    (workspace(person, "T2") / "tree" / "a.txt").write_text("mine\n")
    return person


def keep(person, days):
    person.agent(WORKS, settings=SETTINGS.format(days=days))
    person.commit()


def workspace(person, task):
    return person.repository / ".allstop" / "workspaces" / task


def refs(person, task):
    found = person.git("for-each-ref", "--format=%(refname)", "refs/allstop").split()
    return [ref for ref in found if task in ref]


def test_b17_a_run_removes_what_is_kept_no_longer(merged):
    keep(merged, 1)
    merged.allstop("run", "three")
    young = workspace(merged, "T1").exists(), bool(refs(merged, "T1"))
    keep(merged, 0)

    merged.allstop("run", "four")

    assert young == (True, True)
    assert (workspace(merged, "T1").exists(), refs(merged, "T1")) == (False, [])
    assert (workspace(merged, "T2").exists(), bool(refs(merged, "T2"))) == (True, True)


def test_b17_a_control_room_removes_what_is_kept_no_longer(merged):
    """B17: when it opens, whoever drives the board then; what is younger stays."""
    room = ControlRoom(merged)
    room.read("/board")
    assert room.close() == 0
    young = workspace(merged, "T1").exists(), bool(refs(merged, "T1"))
    keep(merged, 0)

    room.open()

    wait_for(lambda: not workspace(merged, "T1").exists(), "the sweep")
    assert young == (True, True)
    assert room.close() == 0
    assert refs(merged, "T1") == []
    assert (workspace(merged, "T2").exists(), bool(refs(merged, "T2"))) == (True, True)
