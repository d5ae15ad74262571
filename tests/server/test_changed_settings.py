"""6-interfaces: a board that the server drives continues with changed settings."""

import pytest

from support.control_room import ControlRoom
from support.person import at_home, wait_for

WAITS = """
touch ~/began
while [ ! -e ~/may-end ]; do sleep 0.05; done
touch file-$(date +%N); echo '<promise>COMPLETE</promise>'
"""
PER_TASK = '[review]\nmode = "per-task"\n'
SKIP = '[review]\nmode = "skip"\n'


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    person.agent(WAITS, settings=PER_TASK + "[loop]\nmax_parallel = 1\n")
    person.commit()
    yield person
    person.close()


@pytest.fixture
def room(person):
    room = ControlRoom(person)
    for title in ("Alpha", "Beta", "Gamma"):
        room.do("board", "add_task", title=title)
    return room


def home(person, task):
    return person.repository / ".allstop" / "workspaces" / task / "home"


def begun(person, *tasks):
    wait_for(lambda: all((home(person, task) / "began").exists() for task in tasks), tasks)


def let_end(person, *tasks):
    for task in tasks:
        (home(person, task) / "may-end").touch()


def change(room, settings):
    """Commit other settings, and wait until the board has taken them up."""
    before = taken_up(room)
    room.person.agent(WAITS, settings=settings)
    room.person.commit()
    wait_for(lambda: taken_up(room) > before, "the board to take them up")


def taken_up(room):
    return room.person.allstop("log", "board").count("applies the settings")


def statuses(room):
    return {task["id"]: task["status"] for task in room.read("/board")["tasks"]}


def test_b21_a_changed_review_mode_counts_for_what_is_under_way(room, person):
    """B21 and 6-interfaces: the changed file is taken up by the running server."""
    room.post("/runs", {"kind": "board"})
    begun(person, "T1")

    change(room, SKIP + "[loop]\nmax_parallel = 1\n")
    let_end(person, "T1")
    begun(person, "T2")
    wait_for(lambda: statuses(room)["T1"] == "done", "the merge without a review")
    change(room, PER_TASK + "[loop]\nmax_parallel = 1\n")
    let_end(person, "T2")

    wait_for(lambda: statuses(room)["T2"] == "review", "the review")
    assert person.merged() == ["T1"]


def test_b5_more_slots_are_filled_at_once_and_what_was_counted_counts_on(room, person):
    """B5 and 6-interfaces: the number of tasks to start was chosen for this run."""
    room.post("/runs", {"kind": "board", "count": 2})
    begun(person, "T1")

    change(room, PER_TASK + "[loop]\nmax_parallel = 3\n")

    begun(person, "T2")
    let_end(person, "T1", "T2")
    wait_for(lambda: room.read("/board")["counts"] == {"review": 2, "pending": 1}, "both")


def test_b5_what_was_chosen_for_the_run_stays_although_the_settings_change(room, person):
    room.post("/runs", {"kind": "board", "parallel": 2})
    begun(person, "T1", "T2")

    change(room, SKIP + '[loop]\nmax_parallel = 1\nmode = "autopilot"\n')
    let_end(person, "T1")

    begun(person, "T3")
    assert statuses(room) == {"T1": "done", "T2": "active", "T3": "active"}


def test_b5_more_slots_can_be_chosen_than_the_settings_say(room, person):
    room.post("/runs", {"kind": "board", "parallel": 3})

    begun(person, "T1", "T2", "T3")


def test_b13_a_change_of_the_settings_does_not_lift_a_pause(room, person):
    room.post("/runs", {"kind": "board"})
    begun(person, "T1")
    room.do("board", "pause")

    change(room, SKIP + "[loop]\nmax_parallel = 3\n")

    assert room.read("/board")["phase"] in ("pausing", "paused")
    assert statuses(room)["T2"] == "pending"


def test_b22_changed_hooks_count_without_a_restart(room, person):
    """B22 and 6-interfaces: also where there were none before; those of one's own file."""
    room.post("/runs", {"kind": "board"})
    begun(person, "T1")
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    said = person.home / "said"

    own.write_text(f'[hooks]\npost_complete = "echo $ALLSTOP_TASK >>{said}"\n')
    wait_for(lambda: "post_complete" in hooks_in_force(room), "the settings")
    let_end(person, "T1")

    wait_for(lambda: said.exists() and said.read_text() == "T1\n", "the hook")


def hooks_in_force(room):
    found = room.read("/settings")["settings"]
    return {each["key"].removeprefix("hooks.") for each in found if each["value"]}


def test_what_is_invalid_changes_nothing(room, person):
    """6-interfaces: the last good one stays."""
    room.post("/runs", {"kind": "board"})
    begun(person, "T1")
    before = taken_up(room)

    room.person.agent(WAITS, settings='[review]\nmode = "never"\n[loop]\nmax_parallel = 3\n')
    room.person.commit()
    wait_for(lambda: "review.mode" in room.read("/healthz")["settings_problem"], "the complaint")
    let_end(person, "T1")

    wait_for(lambda: statuses(room)["T1"] == "review", "the review")
    assert taken_up(room) == before


def test_b8_a_board_goes_on_after_a_restart_by_the_settings_of_then(room, person):
    room.post("/runs", {"kind": "board", "parallel": 2})
    begun(person, "T1", "T2")
    room.kill()
    person.agent(WAITS, settings=SKIP + "[loop]\nmax_parallel = 1\n")
    person.commit()

    room.open()
    let_end(person, "T1", "T2")

    begun(person, "T3")
    let_end(person, "T3")
    wait_for(lambda: room.read("/board")["counts"] == {"done": 3}, "all")


def test_b16_a_gate_of_ones_own_file_counts_for_the_next_task(room, person):
    """B16, K19: what is in force is what is checked by."""
    room.post("/runs", {"kind": "board"})
    begun(person, "T1")
    before = taken_up(room)
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)

    own.write_text('[[verification.commands]]\nname = "Mine"\nrun = "false"\n')
    wait_for(lambda: taken_up(room) > before, "the board to take it up")
    let_end(person, "T1")
    begun(person, "T2")
    let_end(person, "T2")

    wait_for(lambda: "Mine" in person.allstop("log", "T2"), "the check")
    assert statuses(room)["T2"] == "active"
