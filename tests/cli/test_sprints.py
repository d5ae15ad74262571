"""S1, S2, S3, S6, S10, K5, K7: sprints and checkpoints in the terminal."""

import json
import re

import pytest

from support.person import alive, wait_for

WORKS = """
case $(cat) in
*fail*) exit 3 ;;
*stuck*) echo '<promise>BLOCKED: no key</promise>'; exit ;;
*slow*) touch "$HOME/begun" 2>/dev/null; sleep {mark} ;;
esac
date +%N >"f$(date +%N)"
git add -A
git commit -qm 'Work'
echo '<promise>COMPLETE</promise>'
"""
SKIP = '[review]\nmode = "skip"\n[sprint]\ncheckpoint_before = false\n'
FIELDS = [
    "id", "startedAt", "endedAt", "target", "totalTasks", "completedTasks", "failedTasks",
    "reviewingTasks", "taskStats", "settings",
]  # fmt: skip


@pytest.fixture
def mark(tmp_path):
    """A time that no other test sleeps."""
    return f"{sum(str(tmp_path).encode()) + 60_000}.{hash(tmp_path) % 10_000:04}"


@pytest.fixture
def board(person):
    """Adds tasks for an agent that works, fails or is blocked, as their titles say."""

    def make(*titles, settings=SKIP, mark="1", options=()):
        person.agent(WORKS.format(mark=mark), settings=settings)
        person.commit()
        for title in titles:
            person.allstop("add", title, *options)
        return person

    return make


def record_file(person):
    return person.repository / ".allstop" / "sprints.jsonl"


def records(person):
    return [json.loads(line) for line in record_file(person).read_text().splitlines()]


def listed(person):
    return json.loads(person.allstop("sprint", "list", "--json"))["sprints"]


# --- targets and the record ---


def test_s1_s3_a_sprint_of_a_count_leaves_exactly_the_documented_record(board):
    person = board("one", "it must fail", "three", "four")

    said = person.allstop("sprint", "start", "--count", "3", "--parallel", "1", code=1)

    assert "sprint1: 3 tasks" in said
    assert "sprint1 has ended: its target is reached. 3 tasks finished, 1 failed." in said
    (record,) = records(person)
    assert list(record) == FIELDS
    assert record["target"] == {"type": "count", "value": 3}
    assert record["settings"] == {
        "maxIterations": 50,
        "taskTimeout": 30,
        "pauseOnStuck": False,
        "pauseOnErrors": False,
    }
    totals = ("totalTasks", "completedTasks", "failedTasks", "reviewingTasks")
    assert [record[name] for name in totals] == [3, 2, 1, 0]
    stats = record["taskStats"]
    assert [set(each) for each in stats] == [
        {"taskId", "startedAt", "completedAt", "iterations", "verificationPassed"}
    ] * 3
    assert {each["taskId"]: each["verificationPassed"] for each in stats} == {
        "T1": True,
        "T2": False,
        "T3": True,
    }
    assert record["startedAt"] <= stats[0]["startedAt"] <= stats[0]["completedAt"]
    assert stats[-1]["completedAt"] <= record["endedAt"]
    assert person.tasks()["T4"] == "pending"


def test_s3_s4_a_decision_replaces_the_line_of_its_sprint(board):
    person = board("one", "two", settings="")
    person.allstop("sprint", "start", "--no-ready", "--no-checkpoint", code=3)
    assert [each["reviewingTasks"] for each in records(person)] == [2]

    person.allstop("approve", "T1")
    person.allstop("reject", "T2")

    (record,) = records(person)
    decisions = {each["taskId"]: each["reviewDecision"] for each in record["taskStats"]}
    assert decisions == {"T1": "approved", "T2": "rejected"}
    assert (record["completedTasks"], record["failedTasks"], record["reviewingTasks"]) == (1, 1, 0)


@pytest.mark.parametrize("damage", ["missing", "cut", "garbage", "twice"])
def test_s3_a_record_that_is_missing_or_damaged_is_made_again(board, damage):
    person = board("one", "two")
    person.allstop("sprint", "start", "--count", "1")
    person.allstop("sprint", "start", "--count", "1")
    file = record_file(person)
    whole = file.read_bytes()
    assert [each["id"] for each in records(person)] == ["sprint1", "sprint2"]
    match damage:
        case "missing":
            file.unlink()
        case "cut":
            file.write_bytes(whole[:-40])
        case "garbage":
            file.write_bytes(b"\xff{")
        case "twice":
            file.write_bytes(whole + whole)

    person.allstop("sprint", "list")

    assert file.read_bytes() == whole
    assert file.stat().st_mode & 0o777 == 0o600


def test_s2_a_running_sprint_has_no_end_and_one_at_a_time_is_allowed(board, mark):
    person = board("slow one", "two", "three", mark=mark)
    process = person.start("sprint", "start", "--count", "2", "--parallel", "1")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    shown = json.loads(person.allstop("sprint", "show", "--json"))
    assert (shown["id"], shown["endedAt"], shown["phase"]) == ("sprint1", None, "running")
    assert shown["atWork"] == ["T1"]
    assert not record_file(person).exists()
    assert "sprint1 is running" in person.refuses("sprint", "start", "--count", "1")
    assert "sprint1 (2 tasks): running" in person.allstop("status")

    person.allstop("sprint", "cancel")

    (record,) = records(person)
    assert record["endedAt"] is not None
    assert (record["totalTasks"], record["taskStats"]) == (0, [])
    assert person.tasks() == {"T1": "active", "T2": "pending", "T3": "pending"}
    person.allstop("stop")
    process.wait(60)


def test_s2_kill_9_in_a_sprint_loses_nothing_and_run_continues_it(board, mark):
    person = board("slow one", "two", "three", mark=mark)
    process = person.start("sprint", "start", "--count", "2", "--parallel", "1")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    process.kill()
    process.wait(60)
    wait_for(lambda: not alive(f"sleep {mark}"), "its end")
    person.agent(WORKS.format(mark="0"), settings=SKIP)

    person.allstop("run")

    (record,) = records(person)
    assert (record["totalTasks"], record["completedTasks"]) == (2, 2)
    assert person.tasks() == {"T1": "done", "T2": "done", "T3": "pending"}


def test_s6_run_with_a_target_is_a_sprint_and_a_plain_run_is_none(board):
    person = board("one", "two", "three")

    person.allstop("run", "--count", "1")
    person.allstop("run", "--for", "2h", "--checkpoint")
    assert [each["target"] for each in records(person)] == [
        {"type": "count", "value": 1},
        {"type": "duration", "value": 2},
    ]
    assert [each["checkpoint"] for each in listed(person)] == ["sprint2", ""]

    person.allstop("add", "four")
    person.allstop("run")
    assert len(records(person)) == 2


def test_s6_the_target_of_a_time_is_recorded_as_it_was_given(board):
    person = board("one")
    person.allstop("sprint", "start", "--until", "2099-05-31T07:00")

    assert records(person)[0]["target"] == {"type": "until_time", "value": "2099-05-31T07:00"}


def test_s1_the_settings_are_the_default_of_a_sprint(board):
    settings = SKIP + (
        'pause_on_error = true\ntarget = { type = "count", value = 2 }\n'
        '[sprint.filters]\ninclude_tags = ["api"]\n'
    )
    person = board("plain", settings=settings)
    person.allstop("add", "it must fail", "--tag", "api")
    person.allstop("add", "three", "--tag", "api")

    said = person.allstop("sprint", "start", "--parallel", "1", code=1)

    assert "2 of 3 pending (tagged api)" in said
    assert "sprint1 is paused: T2 failed" in said
    assert person.tasks() == {"T1": "pending", "T2": "failed", "T3": "pending"}
    assert "sprint1 is paused: T2 failed" in person.allstop("status")
    said = person.allstop("sprint", "resume", code=1)
    assert "sprint1 has ended: its target is reached" in said
    assert person.tasks()["T3"] == "done"


# --- refusals ---


def test_s6_what_can_not_be_a_sprint_is_refused_with_the_reason(board):
    person = board("one", options=("--operation", "Pay", "--tag", "api"))
    cases = [
        (("--count", "0"), "sprint_target_invalid", "0 tasks"),
        (("--count", "-3"), "sprint_target_invalid", "-3 tasks"),
        (("--for", "0h"), "sprint_target_invalid", "0 hours"),
        (("--for", "999999999999h"), "sprint_target_invalid", "hours"),
        (("--until", "2001-01-01T07:00"), "sprint_target_past", "has passed"),
        (("--until", "25:00"), "sprint_target_invalid", "25:00"),
        (("--count", "1", "--for", "1h"), "sprint_target_twice", "one target"),
        (("--operation", "Pya"), "operation_unknown", "'Pya'"),
        (("--not-operation", "Pya"), "operation_unknown", "'Pya'"),
        (("--operation", "Pay", "--not-operation", "Pay"), "sprint_filters_conflict", "'Pay'"),
        (("--tag", "api", "--not-tag", "api"), "sprint_filters_conflict", "'api'"),
        (("--tag", "web"), "sprint_matches_nothing", "no pending task matches"),
    ]
    for arguments, code, words in cases:
        done = person.try_allstop("sprint", "start", *arguments, "--json")
        error = json.loads(done.stdout)["error"]
        assert (done.returncode, error["code"]) == (2, code), (arguments, error)
        assert words in error["message"], error
        assert error["hint"], error
    assert person.tasks() == {"T1": "pending"}
    assert listed(person) == []


def test_s6_commands_without_a_fitting_sprint_are_refused(board):
    person = board("one", "two")
    for command in ("pause", "resume", "cancel"):
        assert "no sprint is running" in person.refuses("sprint", command)
    assert "there was no sprint yet" in person.refuses("sprint", "show")
    person.allstop("sprint", "start", "--count", "1")
    assert "there is no sprint 'sprint7'" in person.refuses("sprint", "show", "7")
    assert "sprint1 has ended" in person.refuses("sprint", "cancel", "sprint1")
    assert person.allstop("sprint", "show", "1").startswith("sprint1: 1 task · ended")


def test_s1_a_terminal_shows_the_settings_and_asks(board):
    person = board("one")

    shown, code = person.at_terminal("sprint", "start", "--count", "1", keys=[("Start it?", "n\r")])

    assert (code, person.tasks(), listed(person)) == (0, {"T1": "pending"}, [])
    for words in ("sprint1: 1 task", "1 of 1 pending", "budget", "Nothing was started."):
        assert words in shown


def test_p9_a_start_waits_for_approval_with_auto_execute_off(board):
    settings = SKIP + "[loop]\nauto_execute = false\n"
    person = board("one", "two", settings=settings)

    person.allstop("sprint", "start", "--count", "1", code=3)
    assert (listed(person), person.tasks()["T1"]) == ([], "pending")
    person.allstop("approve", "start1")

    assert [each["completedTasks"] for each in records(person)] == [1]
    assert "sprint1" not in person.refuses("run", "--count", "0")


# --- budgets ---


def test_k5_k7_a_sprint_has_a_budget_and_its_usage(board):
    settings = SKIP + "[budget.sprint]\nturns = 2\n"
    person = board("one", "two", "three", settings=settings)

    said = person.allstop("sprint", "start", "--no-ready", "--parallel", "1", code=4)

    assert "budget      at most 2 turns; then pause" in said
    assert "limit reached: turns: 2 of 2" in said
    (view,) = listed(person)
    assert (view["phase"], view["turns"], view["completedTasks"]) == ("running", 2, 2)
    person.allstop("sprint", "cancel")
    person.allstop("run")
    assert person.tasks()["T3"] == "done"
    used = json.loads(person.allstop("usage", "--by", "sprint", "--json"))["lines"]
    assert {each["name"]: each["turns"] for each in used} == {"sprint1": 2, "no sprint": 1}


def test_k5_a_sprint_stops_at_its_budget_where_the_settings_say_so(board):
    settings = SKIP + '[budget]\nat_limit = "stop"\n[budget.sprint]\nturns = 1\n'
    person = board("one", "two", settings=settings)

    said = person.allstop("sprint", "start", "--no-ready", "--parallel", "1")

    assert "sprint1 has ended: its budget is used up. 1 task finished." in said
    assert person.tasks() == {"T1": "done", "T2": "pending"}


# --- checkpoints ---


@pytest.fixture
def undone(board):
    """A sprint of two merged tasks and one for review, and a person's commit after it."""
    settings = (
        '[review]\nmode = "skip"\n[review.rules]\nlook = "batch"\n'
        "[sprint]\ncheckpoint_before = true\n"
    )
    person = board("one", "two", settings=settings)
    person.allstop("add", "three", "--tag", "look")
    person.allstop("sprint", "start", "--no-ready", code=3)
    person.write("mine.txt", "mine\n")
    person.git("add", "mine.txt")
    person.git("commit", "-qm", "My own")
    return person


def test_s10_show_and_restore_undo_a_sprint_by_new_commits_and_events(undone):
    person = undone
    tip, refs = person.git("rev-parse", "main"), person.git("for-each-ref", "refs/allstop")
    made = person.git("rev-parse", "refs/allstop/checkpoints/sprint1")
    (checkpoint,) = json.loads(person.allstop("checkpoint", "list", "--json"))["checkpoints"]
    assert (checkpoint["id"], checkpoint["commit"]) == ("sprint1", made)

    shown = json.loads(person.allstop("checkpoint", "show", "sprint1", "--json"))
    assert {each["id"] for each in shown["merged"]} == {"T1", "T2"}
    assert [each["id"] for each in shown["unmerged"]] == ["T3"]
    assert [each["subject"] for each in shown["kept"]] == ["My own"]
    assert person.git("for-each-ref", "refs/allstop") == refs

    assert "nobody confirmed it" in person.refuses("checkpoint", "restore", "sprint1")
    assert person.git("rev-parse", "main") == tip
    person.allstop("checkpoint", "restore", "1", "--yes")

    assert person.git("merge-base", tip, "main") == tip  # nothing is rewritten
    assert person.git("diff", "--name-only", made, "main") == "mine.txt"
    assert person.git("status", "--short") == ""
    assert person.tasks() == {"T1": "pending", "T2": "pending", "T3": "pending"}
    assert person.git("for-each-ref", "refs/allstop/backup/T3")
    assert [each["id"] for each in records(person)] == ["sprint1"]
    again = person.allstop("checkpoint", "restore", "sprint1", "--yes")
    assert "Nothing is to be undone." in again


def test_s10_a_restore_can_be_refused_and_names_what_is_wrong(undone):
    person = undone
    assert "there is no checkpoint 'sprint9'" in person.refuses("checkpoint", "show", "9")
    shown, code = person.at_terminal("checkpoint", "restore", "1", keys=[("Undo it?", "n\r")])
    assert (code, "nothing was undone" in shown) == (2, True)
    assert person.tasks()["T1"] == "done"
    person.git("checkout", "-q", "--orphan", "fresh")
    person.git("commit", "-qm", "Rewritten")
    person.git("branch", "-qf", "main", "fresh")
    said = person.refuses("checkpoint", "show", "sprint1")
    assert re.search("is not in the history of main any more", said)


def test_s10_a_restore_that_was_killed_is_finished_by_another(undone):
    """The commands to roll back are written at once; only their work is left."""
    person = undone
    for task in ("T2", "T1"):
        assert person.task(task)["status"] == "done"
    process = person.start("checkpoint", "restore", "1", "--yes")
    wait_for(lambda: person.task("T1")["status"] != "done", "the commands")
    process.kill()
    process.wait(60)

    person.allstop("checkpoint", "restore", "1", "--yes")

    assert person.tasks() == {"T1": "pending", "T2": "pending", "T3": "pending"}
    made = person.git("rev-parse", "refs/allstop/checkpoints/sprint1")
    assert person.git("diff", "--name-only", made, "main") == "mine.txt"
    titles = person.git("log", "--format=%s", "main").splitlines()
    assert sorted(title for title in titles if "Roll back" in title) == [
        "Roll back T1: one",
        "Roll back T2: two",
    ]
