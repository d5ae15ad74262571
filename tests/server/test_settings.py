"""Settings and the first start, over the API: a real server, a real file."""

import pytest

from support.control_room import ControlRoom
from support.person import Person, at_home, wait_for

FILE = """\
# Ours.
[agents.demo]
driver = "scripted"
script = "script.toml"

[loop]
max_parallel = 2   # enough
"""


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.script("")
    person.write("allstop.toml", FILE)
    yield ControlRoom(person)
    person.close()


def row(listed, key):
    return next(each for each in listed["settings"] if each["key"] == key)


def change(room, key, *value, digest=None):
    body = {"key": key, "digest": digest or room.read("/settings")["file"]["digest"]}
    return room.post("/settings", body | ({"value": value[0]} if value else {}))


def text(room):
    return (room.person.repository / "allstop.toml").read_text()


def test_u2_a_setting_is_written_to_the_file_without_losing_a_comment_and_counts_at_once(room):
    answer = change(room, "loop.max_parallel", 5)

    assert answer.status == 200
    assert text(room) == FILE.replace("= 2 ", "= 5 ")
    found = row(answer.json, "loop.max_parallel")
    assert (found["value"], found["file_value"], found["waits_for"]) == (5, 5, "")
    assert found["origin"] == "allstop.toml:7"


def test_u2_without_a_value_it_goes_back_to_the_default(room):
    answer = change(room, "loop.max_parallel")

    found = row(answer.json, "loop.max_parallel")
    assert (found["value"], found["written"], found["origin"]) == (
        found["default"],
        False,
        "default",
    )
    assert text(room) == FILE.replace("max_parallel = 2   # enough\n", "")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("loop.max_parallel", 0, "whole number from 1"),
        ("loop.max_paralel", 3, "unknown key"),
        ("loop.mode", "often", "one of autopilot, semi"),
        ("loop.agent", "nobody", "nobody"),
        ("nonsense", 3, "is no setting"),
    ],
)
def test_u2_a_value_that_can_not_be_is_refused_and_the_file_stays(room, key, value, said):
    answer = change(room, key, value)

    assert (answer.status, answer.error) == (422, "bad_setting")
    error = answer.json["error"]
    assert said in f"{error['message']} {error['hint']}"
    assert text(room) == FILE


def test_u2_who_saw_another_file_does_not_write_over_it(room):
    seen = room.read("/settings")["file"]["digest"]
    room.person.write("allstop.toml", FILE + "# hers\n")

    answer = change(room, "loop.max_parallel", 5, digest=seen)

    assert (answer.status, answer.error) == (409, "changed_meanwhile")
    assert text(room) == FILE + "# hers\n"


def test_u2_what_needs_trust_is_written_and_says_that_it_does_not_count(room):
    answer = change(room, "sandbox.mode", "off")

    found = row(answer.json, "sandbox.mode")
    assert (found["value"], found["file_value"]) == ("auto", "off")
    assert found["waits_for"] == "`allstop trust`, since it lets agents run without a sandbox"
    room.person.allstop("trust", "--yes")
    wait_for(lambda: row(room.read("/settings"), "sandbox.mode")["value"] == "off", "trust")


def test_u2_once_the_branch_has_a_file_a_change_counts_after_a_commit(room):
    room.person.commit()

    answer = change(room, "loop.max_parallel", 7)

    found = row(answer.json, "loop.max_parallel")
    assert (found["value"], found["file_value"]) == (2, 7)
    assert found["waits_for"].startswith("a commit")
    room.person.commit()
    wait_for(lambda: row(room.read("/settings"), "loop.max_parallel")["value"] == 7, "the commit")


def test_a_hidden_value_is_not_written_back(room):
    change(room, "notify.urls", ["https://example.invalid/key"])
    shown = row(room.read("/settings"), "notify.urls")["file_value"]
    before = text(room)

    answer = change(room, "notify.urls", [*shown, "https://example.invalid/two"])

    assert (answer.status, answer.error) == (422, "bad_setting")
    assert text(room) == before


def test_a_link_in_the_files_place_is_not_written_through(room):
    place = room.person.repository / "allstop.toml"
    elsewhere = room.person.home / "elsewhere.toml"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)

    assert room.read("/settings")["file"]["problem"] == "allstop.toml is no plain file"
    assert change(room, "loop.max_parallel", 5, digest="x").status == 409
    assert elsewhere.read_text() == FILE


# --- the first start ---


@pytest.fixture
def empty_room(tmp_path):
    person = at_home(tmp_path)
    (person.repository / "allstop.toml").unlink(missing_ok=True)
    yield ControlRoom(person)
    person.close()


def test_u4_the_first_start_finds_what_is_here_and_ends_with_a_task_at_work(empty_room):
    found = empty_room.read("/checkup")
    assert not found["has_file"]
    assert found["agents"][-1]["name"] == "scripted"
    assert {"git", "sandbox", "agents"} <= {each["name"] for each in found["findings"]}

    after = empty_room.post("/setup", {"agent": "scripted"})
    begun = empty_room.post("/runs", {"kind": "task", "prompt": "Say hello", "agent": "scripted"})

    assert after.json["has_file"]
    assert after.json["has_agents"]
    task = begun.json["run"]
    wait_for(lambda: empty_room.read(f"/tasks/{task}")["status"] == "review", "its work", 60)
    assert "hello-from-allstop.md" in empty_room.read(f"/tasks/{task}/diff")["patch"]


def test_u4_a_file_without_agents_gets_the_scripted_one_and_keeps_what_it_says(empty_room):
    empty_room.person.write("allstop.toml", "# mine\n[loop]\nmax_parallel = 1\n")

    after = empty_room.post("/setup", {"agent": "scripted"})

    assert after.json["has_agents"]
    assert text(empty_room).startswith("# mine\n[loop]\nmax_parallel = 1\n")
    assert empty_room.post("/setup", {"agent": "codex"}).status == 409


def test_u4_nobody_can_be_picked_who_is_not_here(empty_room):
    assert empty_room.post("/setup", {"agent": "codex-of-my-dreams"}).status == 409
    assert not (empty_room.person.repository / "allstop.toml").exists()


def test_u2_what_only_the_checkout_has_is_listed_with_what_it_waits_for(room):
    room.person.commit()
    more = '\n[agents.other]\ndriver = "command"\ncommand = ["other"]\n'
    room.person.write("allstop.toml", FILE + more)

    listed = room.read("/settings")

    found = row(listed, "agents.other.driver")
    assert (found["written"], found["file_value"]) == (True, "command")
    assert found["waits_for"]
    assert row(listed, "agents.demo.driver")["waits_for"] == ""


def test_b6_a_linked_checkout_hears_of_what_its_branch_says_by_now(tmp_path):
    """B6: git keeps the branches elsewhere, and here nothing but the branch has changed."""
    main = at_home(tmp_path)
    main.script("")
    main.commit()
    main.git("worktree", "add", "-q", "-b", "other", str(main.home / "linked"))
    room = ControlRoom(Person(main.home, main.home / "linked"))
    before = room.read("/day")["max_turns"]
    file = main.repository / "allstop.toml"
    file.write_text(file.read_text() + "\n[budget.day]\nturns = 7\n")
    main.commit()
    main.git("update-ref", "refs/heads/other", "main")

    wait_for(lambda: room.read("/day")["max_turns"] == 7, "the branch's word counts")
    room.person.close()
    assert before is None
