"""Tasks from the command line: what is taken, what is refused, and in which order they start."""

import json

import pytest

WORKS = "echo more >>b.txt; echo '<promise>COMPLETE</promise>'"


@pytest.fixture
def person(person):
    person.agent(WORKS)
    return person


def ids(person, *arguments):
    return [task["id"] for task in person.json("list", *arguments)["tasks"]]


def test_b1_add_gives_the_task_itself_and_list_all_of_them(person):
    """B1: with stable keys, which programs rely on."""
    one = person.json("add", "One", "--body", "In detail", "--tag", "critical", "--tag", "ui")
    two = person.json(
        "add", "Two", "--id", "second", "--needs", "T1", "--operation", "op", "--agent", "mine",
        "--priority", "7", "--iterations", "3", "--minutes", "1.5", "--stuck-after", "9",
    )  # fmt: skip

    assert one == {
        "id": "T1", "title": "One", "status": "pending", "body": "In detail", "operation": "",
        "needs": [], "waits_for": [], "ready": True, "tags": ["critical", "ui"], "priority": 0,
        "agent": None, "iterations": None, "minutes": None, "stuck_after": None, "may_change": [], "labels": [], "retries": 0, "attempts": [],
        "pinned": False, "assigned": False, "held": False, "note": "", "warning": "",
        "run": None, "to_confirm": "", "unverified": False, "merged": "", "review_decision": "", "decided_at": None, "lacks_merge": False, "tokens": 0, "cost_usd": 0.0, "partial": False, "pin": 0,
        "score": 50, "remedies": [], "hint": "",
        "actions": ["assign", "pin", "edit_task", "split", "skip", "remove_task"],
    }  # fmt: skip
    assert two == one | {
        "id": "second", "title": "Two", "body": "", "operation": "op", "needs": ["T1"],
        "waits_for": ["T1"], "ready": False, "tags": [], "priority": 7, "agent": "mine",
        "iterations": 3, "minutes": 1.5, "stuck_after": 9, "score": 0,
        "actions": ["pin", "edit_task", "split", "skip", "remove_task"],
    }  # fmt: skip
    one |= {"score": 60}  # another needs it now
    assert person.json("list") == {"tasks": [one, two], "phase": "idle", "mode": "autopilot"}
    assert person.json("show", "second") == two | {
        "verification": "",
        "findings": [],
        "notes": [],
        "workspace": None,
    }
    assert ids(person, "--tag", "ui") == ["T1"]
    assert ids(person, "--operation", "op") == ["second"]
    assert ids(person, "--status", "done") == []


def test_b1_what_cannot_be_is_refused_by_name_and_nothing_is_written(person):
    """B1: cycles are named whole; needs must be there; ids are given once."""
    person.allstop("add", "one")
    person.allstop("add", "two", "--needs", "T1")
    person.allstop("add", "three", "--needs", "T2")
    before = person.json("list")
    cases = [
        (("edit", "T1", "--needs", "T3"), "tasks need each other: T1 → T3 → T2 → T1"),
        (("edit", "T1", "--needs", "T1"), "tasks need each other: T1 → T1"),
        (("add", "x", "--needs", "T9", "--needs", "T8"), "T4 needs T9, T8, which are not on the"),
        (("edit", "T1", "--needs", "T9"), "T1 needs T9, which is not on the board"),
        (("add", "x", "--id", "T2"), "task 'T2' exists already"),
        (("add", "x", "--id", "../x"), "'../x' can't be the id of a task"),
        (("add", "  "), "task T4 has no title"),
        (("edit", "T1", "--title", " "), "task T1 would have no title"),
        (("edit", "T1"), "the command changes nothing"),
        (("edit", "T9", "--title", "x"), "there is no task 'T9'"),
        (("show", "T9"), "there is no task 'T9'"),
        (("rm", "T9"), "there is no task 'T9'"),
        (("add", "x", "--agent", "ghost"), "there is no agent 'ghost'"),
        (("add", "x", "--iterations", "0"), "--iterations"),
        (
            ("list", "--status", "finished"),
            "'finished' is not a status; use one of: pending, active",
        ),
    ]
    for arguments, words in cases:
        said = person.refuses(*arguments)
        assert words in said, arguments
        assert "hint: " in said or "--help" in said or "title" in said, arguments

    assert person.json("list") == before


def test_b1_edit_and_rm_change_what_is_said_of_a_task(person):
    person.allstop("add", "one", "--tag", "ui")
    person.allstop("add", "two", "--needs", "T1")
    changed = person.json("edit", "T2", "--title", "2", "--body", "b", "--tag", "x", "--needs", "")
    assert (changed["title"], changed["body"], changed["tags"], changed["needs"]) == (
        "2",
        "b",
        ["x"],
        [],
    )
    assert person.json("edit", "T1", "--tag", "")["tags"] == []

    person.allstop("rm", "T1")

    assert person.tasks() == {"T1": "cancelled", "T2": "pending"}
    assert "T1 is cancelled: it can't be skipped" in person.refuses("skip", "T1")
    assert person.json("add", "three")["id"] == "T3"  # an id is not given twice


def test_b1_a_task_that_was_not_started_has_no_record_and_says_so(person):
    person.allstop("add", "one")

    for command in (("log", "T1"), ("answer", "T1", "x"), ("tell", "T1", "x"), ("abort", "T1")):
        assert "T1 has not been started yet" in person.refuses(*command)
    assert "there is no run 'T2'" in person.refuses("log", "T2")


def test_b3_a_retried_task_has_its_score_and_no_other_right(person):
    """B3: 15 less for each retry; pins and better scores are in front of it."""
    person.agent("exit 1")
    person.allstop("run", "bad", code=1)
    person.allstop("add", "critical", "--tag", "critical")
    person.allstop("add", "pinned", "--next")
    person.allstop("retry", "T1")

    said = person.allstop("next", "--explain").splitlines()
    person.allstop("assign", "T1")
    assigned = person.allstop("next", "--explain").splitlines()

    assert said[0].startswith("T3          0  pinned  pinned: before all scores")
    assert said[2].startswith("T2         50  critical")
    assert said[4:6] == ["T1        -15  bad", f"{'':<15}-15 retries; then age"]
    assert assigned[0] == "T1        -15  bad  assigned or sent back: before pins and scores"


def test_b3_next_explains_the_sum_by_its_parts(person):
    """B3: 10 a task that needs it, 50 critical, 30 quick-win, 20 most of the operation done."""
    person.allstop("add", "plain")
    person.allstop("add", "critical and quick", "--tag", "critical", "--tag", "quick-win")
    person.allstop("add", "needs one", "--needs", "T1")
    person.allstop("add", "needs one too", "--needs", "T1")
    person.allstop("add", "first by priority", "--priority", "5")
    operation = [
        {"id": "a", "title": "a", "status": "done", "operation": "op"},
        {"id": "b", "title": "b", "status": "done", "operation": "op"},
        {"id": "c", "title": "the last of them", "status": "pending", "operation": "op"},
    ]
    person.write("op.json", json.dumps({"allstop": "tasks", "version": 1, "tasks": operation}))
    person.allstop("import", "op.json")

    said = person.allstop("next", "--explain")
    found = person.json("next")["next"]

    assert [(each["task"]["id"], each["score"]["total"]) for each in found] == [
        ("T2", 80),
        ("T1", 20),
        ("c", 20),
        ("T5", 0),
    ]
    assert "+50 critical +30 quick-win" in said
    assert "+20 tasks that need it" in said
    assert "+20 operation nearly done" in said
    assert "priority 5, then age" in said
    assert person.allstop("next").split()[0] == "T2"


def test_b3_a_pin_is_in_front_of_all_scores_and_shown_as_a_pin(person):
    person.allstop("add", "important", "--tag", "critical")
    person.allstop("add", "mine", "--next")

    assert "T2          0  mine  pinned: before all scores" in person.allstop("next")
    assert "[pinned]" in person.allstop("list")
    person.allstop("pin", "T1")
    assert person.allstop("next").split()[0] == "T1"
    person.allstop("pin", "T1", "--off")
    person.allstop("pin", "T2", "--off")
    assert person.allstop("next").split()[0] == "T1"
    said = person.allstop("run", "--count", "1", "--parallel", "1")
    assert "T1       ● starts: important" in said
    assert person.tasks() == {"T1": "done", "T2": "pending"}


CHECKLIST = """\
# Plan
- [ ] T1: Build it #critical
- [ ] T2: Test it (needs: T1)
- [x] T3: Think of it
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.md", CHECKLIST),
        (
            "prd.json",
            json.dumps(
                {
                    "project": "P",
                    "userStories": [
                        {"id": "A", "title": "Build it", "priority": 1, "passes": False},
                        {"id": "B", "title": "Test it", "priority": 2, "passes": False},
                        {"id": "C", "title": "Think of it", "priority": 3, "passes": True},
                    ],
                }
            ),
        ),
        (
            "issues.jsonl",
            """\
{"id": "A", "title": "Build it", "status": "open"}
{"id": "B", "title": "Test it", "status": "open"}
{"id": "C", "title": "Think of it", "status": "closed"}
""",
        ),
    ],
)
def test_b4_importing_a_file_twice_adds_nothing(person, name, text):
    """B4: what was there is left as it is; what is new is added."""
    person.write(name, text)
    assert "3 tasks added." in person.allstop("import", name)
    before = person.json("list")
    assert {task["title"]: task["status"] for task in before["tasks"]} == {
        "Build it": "pending",
        "Test it": "pending",
        "Think of it": "done",
    }

    again = person.json("import", name)

    assert again == {"added": [], "known": 3}
    assert person.json("list") == before


def test_b4_tasks_can_be_piped_in(person):
    """B4: gh issue list --json … | allstop import -, with its mistakes told as those of a file."""
    issues = '[{"number": 4, "title": "Build it", "state": "OPEN", "url": "https://h.test/i/4"}]'
    said = person.allstop("import", "-", stdin=issues)
    again = json.loads(person.allstop("import", "-", "--json", stdin=issues))

    assert "1 task added." in said
    assert again == {"added": [], "known": 1}
    wrong = {
        "- [ ] T1: a (needs: T2)\n- [ ] T2: b (needs: T1)\n": "standard input:1: ",
        "# Nothing here\n": "standard input",
        "": "standard input:1: expected tasks, found an empty file",
        "SQLite format 3\0": "pass the database's path",
    }
    for text, words in wrong.items():
        assert words in person.try_allstop("import", "-", stdin=text).stderr, text
    assert list(person.tasks().values()) == ["pending"]


def test_b4_what_is_no_task_file_is_refused_with_its_line(person):
    """B4: a file of another shape is never "0 tasks"."""
    cases = [
        ("plan.md", "# Nothing here\n", "plan.md"),
        ("prd.json", '{"userStories": [\n{"id": 7,\n', "prd.json"),
        ("prd.json", '{"stories": "none"}', "prd.json"),
        ("issues.jsonl", '{"id": "a", "title": "A", "status": "open"}\n{"id": 1\n', "issues.jsonl"),
        ("cycle.md", "- [ ] T1: a (needs: T2)\n- [ ] T2: b (needs: T1)\n", "T1 → T2 → T1"),
        ("twice.md", "- [ ] T1: a\n- [ ] T1: b\n", "T1"),
        ("ghost.md", "- [ ] T1: a (needs: T9)\n", "T9"),
    ]
    for name, text, words in cases:
        person.write(name, text)
        assert words in person.refuses("import", name), (name, text)
    assert "not-there.md" in person.refuses("import", "not-there.md")
    assert "'odd'" in person.refuses("import", "plan.md", "--format", "odd")
    assert person.tasks() == {}


def test_b4_what_is_exported_can_be_imported_elsewhere(person, tmp_path):
    person.allstop("add", "Build it", "--tag", "critical", "--body", "All of it")
    person.allstop("add", "Test it", "--needs", "T1")
    person.allstop("export", "--output", str(tmp_path / "board.json"))
    markdown = person.allstop("export", "--format", "markdown")

    assert "- [ ] [T1] Build it #critical" in markdown
    assert person.json("import", str(tmp_path / "board.json")) == {"added": [], "known": 2}


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            '{"id":"bd-3","title":"Third","dependencies":[{"issue_id":"bd-3","depends_on_id":"bd-99","type":"blocks"}]}',
            "tasks.jsonl:2: bd-3 needs bd-99",
        ),
        (
            '{"id":"bd-3","title":"Third","dependencies":[{"issue_id":"bd-3","depends_on_id":"bd-1","type":"blocks"}]}',
            "tasks.jsonl:1: ",
        ),
    ],
)
def test_b4_a_need_that_cannot_be_is_told_with_file_and_line(person, second, said):
    first = '{"id":"bd-1","title":"First","dependencies":[{"issue_id":"bd-1","depends_on_id":"bd-3","type":"blocks"}]}'
    person.write("tasks.jsonl", f"{first}\n{second}\n")

    told = person.refuses("import", "tasks.jsonl", "--format", "beads")

    assert said in told
    assert person.tasks() == {}


def test_b1_several_needs_are_named_with_commas_or_one_by_one(person):
    person.allstop("add", "one")
    person.allstop("add", "two")

    together = person.allstop("add", "three", "--needs", "T1, T2")
    one_by_one = person.allstop("add", "four", "--needs", "T1", "--needs", "T2")

    assert together == "T3  three  (waits for T1, T2)\n"
    assert one_by_one == "T4  four  (waits for T1, T2)\n"
    assert person.json("edit", "T3", "--needs", "")["needs"] == []


def test_b4_an_import_shows_how_the_file_was_understood(person):
    """B4: an item with items below it is no task: without a word of it, it would seem lost."""
    person.write("todo.md", "- [x] Table\n- [ ] Passwords\n  - [ ] Hash\n  - [ ] Reset\n")

    said = person.allstop("import", "todo.md")

    assert said.splitlines() == [
        "table  Table  (already done)",
        "hash  Hash  (in: Passwords)",
        "reset  Reset  (in: Passwords)",
        "3 tasks added.",
    ]


def test_b4_of_a_long_file_only_the_first_tasks_are_shown(person):
    person.write("todo.md", "".join(f"- [ ] Number {n}\n" for n in range(1, 31)))

    said = person.allstop("import", "todo.md").splitlines()

    assert (len(said), said[-2:]) == (22, ["… and 10 more", "30 tasks added."])


def test_b2_what_needs_a_task_that_was_given_up_says_so_and_what_helps(person):
    """B2: cancelled is not done, so it would wait for ever."""
    person.agent("echo x >$(grep -om1 'file-[a-z]*'); echo '<promise>COMPLETE</promise>'")
    person.allstop("add", "file-a")
    person.allstop("add", "file-b", "--needs", "T1")

    said = person.allstop("rm", "T1")

    helps = "`allstop edit T2 --needs …`, or `allstop retry T1`"
    assert said == f"T1 is cancelled.\nT2 can't start without it: {helps}.\n"
    assert "○ T2 can't start: T1 is cancelled." in person.allstop("run", code=3)
    assert person.allstop("status").endswith("Next: `allstop retry T1`.\n")

    person.allstop("retry", "T1")
    assert person.allstop("status").endswith("Next: `allstop run` works on the ready tasks.\n")
    person.allstop("run")
    assert person.tasks() == {"T1": "done", "T2": "done"}


def test_b2_a_run_that_leaves_what_failed_before_says_so(person):
    """B2: what needs it can't start, and the exit code tells only that something waits."""
    person.agent("exit 1")
    person.allstop("run", "fail", code=1)
    person.allstop("add", "after it", "--needs", "T1")

    said = person.allstop("run", code=3)

    assert said.endswith("✗ From earlier runs: T1 failed. See: allstop status\n")


def test_b18_the_next_step_for_what_was_rolled_back_is_to_retry_it(person):
    person.agent("echo x >x; echo '<promise>COMPLETE</promise>'")
    person.allstop("run", "make x")
    person.allstop("rollback", "T1")

    assert person.allstop("status").endswith("Next: `allstop retry T1`.\n")
