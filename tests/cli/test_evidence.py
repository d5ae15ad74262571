"""S4, S8, S9, B21: the evidence and the review queue in the terminal."""

import re

import pytest

from allstop.app.setup.demo import TASKS
from support.review_board import CLEAN, GUARDED, LOOK, WORKER, ReviewBoard, disagree

COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def reviewed(person):
    """A serious finding, one to look at, and nothing found."""
    board = ReviewBoard(person)
    board.prepare()
    body = "Do it.\n\nAcceptance criteria:\n- waits grow\n- never twice"
    person.allstop("add", GUARDED, "--body", body, "--agent", "demo")
    person.allstop("add", LOOK)
    person.allstop("add", CLEAN)
    person.allstop("run", code=3)
    return person


def test_s8_show_review_has_everything_in_the_order_of_a_review(reviewed):
    shown = reviewed.allstop("show", "--review", "T1")

    parts = [
        "Asked\nDo it.",
        "Acceptance criteria  1 of 2 shown",
        "✓ waits grow\n    tests/test_webhooks.py::test_waits_grow",
        "? never twice\n    unknown",
        "Checks  on ",
        "✓ Unit tests",
        "Receipt ",
        "Findings  worst first\n✗ serious  Guarded file changed  tests/test_webhooks.py",
        "· note  Weaker assertion  tests/test_webhooks.py:5",
        "    - assert next_wait(9) == 5.0\n    + assert next_wait(1) <= next_wait(9)",
        "Changes  3 files\nguarded  tests/test_webhooks.py  changed  +4 -1\nproduct  sender.py",
        "+     assert next_wait(1) <= next_wait(9)",
        "+ def next_wait(attempt: int) -> float:",
        "Said last\nRetries work.",
        "Cost\n$0.62 · 19,320 tokens · 1 turn",
    ]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)


def test_s8_json_and_the_page_have_the_same_bundle(reviewed):
    found = reviewed.json("show", "--review", "T1")

    assert list(found)[:3] == ["id", "title", "status"]
    assert [finding["severity"] for finding in found["findings"]] == ["serious", "note"]
    assert [file["risk"] for file in found["changes"]["files"]] == ["guarded", "product", "rest"]
    assert found["to_confirm"] == "protected (changed): tests/test_webhooks.py"


def test_s5_the_statistics_count_what_the_gate_caught(reviewed):
    gate = reviewed.json("stats")["gate"]

    assert (gate["runs"], gate["failed"]) == (3, 0)
    guarded = {
        "verdict": "note",
        "kind": "protected",
        "name": "guarded file",
        "count": 1,
        "tasks": 1,
    }
    assert guarded in gate["caught"]
    said = reviewed.allstop("stats")
    assert "gate        3 runs, 0 failed; " in said
    assert "1 guarded file (noted)" in said
    assert "1 weaker check (noted)" in said


def test_s8_the_diff_has_syntax_colours_and_two_columns_on_a_wide_terminal(reviewed):
    coloured, code = reviewed.at_terminal("show", "--review", "T1")

    assert code == 0
    assert re.search(r"\x1b\[[0-9;]*m[^\x1b]*def", coloured)
    assert "def next_wait(attempt: int) -> float:" in COLOURS.sub("", coloured)


def test_s4_the_queue_is_printed_where_nobody_can_press_keys(reviewed):
    lines = reviewed.allstop("review").splitlines()

    assert [line[:4] for line in lines if line[0] != " "] == ["✗ T1", "! T2", "✓ T3"]
    assert "Guarded file changed: tests/test_webhooks.py" in lines[1]
    rows = reviewed.json("review")["tasks"]
    assert [(row["id"], row["severity"]) for row in rows] == [
        ("T1", "serious"),
        ("T2", "look"),
        ("T3", None),
    ]


def test_s4_one_key_decides_and_a_serious_finding_needs_a_second_one(reviewed):
    shown, code = reviewed.at_terminal(
        "review",
        keys=[
            ("[1 of 3]", "a"),
            ("Merge it anyway?", "a"),  # again is not enough
            ("T1: not approved", "n"),
            ("[2 of 3]", "r"),
            ("What should change?", "Spell it right.\r"),
            ("[2 of 2]", "x"),
            ("Reject it?", "y"),
            ("[1 of 1]", "a"),
            ("[1 of 1]", "y"),
        ],
    )

    assert code == 0, COLOURS.sub("", shown)
    decisions = {task["id"]: task["review_decision"] for task in reviewed.json("list")["tasks"]}
    assert decisions == {"T1": "approved", "T2": "redo", "T3": "rejected"}
    lines = COLOURS.sub("", shown).splitlines()
    assert [line for line in lines if len(line) > 100] == [], "lines end between words"
    assert reviewed.merged() == ["T1"]


def test_s4_a_word_and_a_line_go_back_as_one_message(reviewed):
    reviewed.at_terminal(
        "review",
        "T1",
        keys=[
            ("[1 of 3]", "c"),
            ("Line (FILE:LINE)", "sender.py:6\r"),
            ("Comment:", "Why five?\r"),
            ("1 comment not sent", "r"),
            ("may be empty", "Nearly.\r"),
            ("[1 of 2]", "q"),
        ],
    )

    assert reviewed.json("show", "T1")["review_decision"] == "redo"
    [review] = reviewed.json("comment", "T1")["reviews"]
    assert review["text"] == "Nearly."
    assert [(each["file"], each["line"], each["text"]) for each in review["remarks"]] == [
        ("sender.py", 6, "Why five?")
    ]


def test_b21_a_decision_is_recorded_for_each_task(reviewed):
    reviewed.allstop("redo", "T2", "-m", "Spell it right.")
    reviewed.allstop("reject", "T3")
    assert "findings_unconfirmed" in reviewed.allstop("approve", "T1", "--json", code=2)
    reviewed.allstop("approve", "--yes", "T1")

    decisions = {task["id"]: task["review_decision"] for task in reviewed.json("list")["tasks"]}
    assert decisions == {"T1": "approved", "T2": "redo", "T3": "rejected"}
    [review] = reviewed.json("comment", "T2")["reviews"]
    assert review["text"] == "Spell it right."


def test_s8_a_task_that_was_not_started_or_that_does_not_wait_is_refused(reviewed):
    reviewed.allstop("add", "Later")

    assert "has not been started yet" in reviewed.refuses("show", "--review", "T4")
    shown, code = reviewed.at_terminal("review", "T4")
    assert "T4 doesn't wait for review" in shown
    assert code == 2


def test_s8_nothing_else_has_to_be_opened_for_the_tasks_of_the_demo(person, tmp_path):
    """S8: what was asked, what shows it, the checks, the diff, the last words and the cost."""
    folder = tmp_path / "sample"
    person.run_process("demo", "--dir", str(folder))

    for task in TASKS:
        found = person.json("-C", str(folder), "show", "--review", task.id)
        assert found["criteria"], task.id
        assert found["criteria"][0]["shown_by"], task.id
        assert [check["passed"] for check in found["checks"]] == [True], task.id
        assert found["changes"]["patch"], task.id
        assert found["said"], task.id
        assert found["cost"]["tokens"] > 0, task.id


def test_s9_a_second_agent_reviews_in_a_clone_and_a_stalemate_goes_to_the_person(person):
    disagree(person)

    person.allstop("run", "--agent", "demo", "Show when a key was used", code=3)

    found = person.json("show", "--review", "T1")
    assert found["stalemate"]
    assert [(each["findings"], each["reply"]) for each in found["second"]] == [
        (1, "The next task sets it."),
        (1, ""),
    ]
    assert found["to_confirm"] == "second review: Nobody sets it"
    assert found["cost"]["tokens"] == 2 * 110 + 2 * 520
    text = person.allstop("show", "--review", "T1")
    assert "Second review  the agents disagree" in text
    assert "judge: Nobody sets it  keys.py:1" in text
    assert "demo answered: The next task sets it." in text
    assert person.git("show", "refs/allstop/tip/T1:keys.py") == "USED_AT = None"
    log = person.allstop("log", "T1")
    assert log.count("judge reviews the work") == 2
    assert "0 differences" in person.allstop("replay", "T1") or person.json("replay", "T1")
    usage = person.json("usage")
    assert "judge" in str(usage)


def test_s9_an_agent_that_is_not_there_or_can_only_talk_is_refused(person):
    person.script(WORKER, '[review]\nsecond = "nobody"\n')
    assert "there is no agent 'nobody'" in person.refuses("run", "x").replace('"', "'")

    person.script(
        WORKER, '[review]\nsecond = "gpt"\n[agents.gpt]\ndriver = "openai"\nmodel = "m"\n'
    )
    assert "agent 'gpt' can chat in rooms but can't edit files" in person.refuses("run", "x")
