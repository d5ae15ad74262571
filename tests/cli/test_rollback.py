"""Taking work back, cleaning up after it, splitting what was too large."""

import pytest

from support.person import MERGE_AT_ONCE, alive, wait_for

FOR_TASKS = "this command is for tasks of the board"
WORKS = """
cat >/dev/null
echo more >>b.txt
git add b.txt
git commit -qm 'More'
echo again >>b.txt
echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def merged(person):
    """One task, merged by two commits."""
    person.agent(WORKS)
    person.commit()
    person.allstop("run", "add a line")
    return person


def workspaces(person):
    folder = person.repository / ".allstop" / "workspaces"
    return {each.name for each in folder.iterdir() if each.is_dir()}


def test_b18_a_merged_task_is_rolled_back_by_a_new_commit(merged):
    """B18: history is not rewritten; the task is pending and waits for a person."""
    person = merged
    tip = person.git("rev-parse", "main")

    person.allstop("rollback", "T1")

    assert not (person.repository / "b.txt").exists()
    assert person.git("status", "--short") == ""
    assert person.git("merge-base", tip, "main") == tip
    assert person.git("diff", "--stat", f"{tip}~1", "main") == ""
    assert "Roll back T1: add a line" in person.git("log", "-1", "--format=%s", "main")
    task = person.task("T1")
    assert (task["status"], task["held"], task["merged"]) == ("pending", True, "")
    assert "starts" not in person.allstop("run", code=3)


def test_b18_what_was_rolled_back_can_be_done_again(merged):
    """B18, B19: a retry is merged once more, although its commits were there before."""
    person = merged
    person.allstop("rollback", "T1")

    person.allstop("retry", "T1")
    person.allstop("run")

    assert person.tasks() == {"T1": "done"}
    assert (person.repository / "b.txt").exists()
    assert person.git("status", "--short") == ""


def test_b18_the_same_work_can_be_done_again_after_a_rollback(person):
    """B18, B19: what is said to be done is on the target, although git has seen its commits."""
    person.agent("echo x >x.txt; echo '<promise>COMPLETE</promise>'")
    person.commit()
    person.allstop("run", "add x")
    person.allstop("rollback", "T1")
    assert not (person.repository / "x.txt").exists()

    person.allstop("retry", "T1")
    person.allstop("run")

    assert person.task("T1")["merged"] == person.git("rev-parse", "main")
    assert (person.repository / "x.txt").read_text() == "x\n"
    person.allstop("rollback", "T1")
    assert not (person.repository / "x.txt").exists()


def test_b18_a_rollback_that_does_not_fit_changes_nothing(merged):
    """B18: others have built on it."""
    person = merged
    person.write("b.txt", "something else\n")
    person.commit("by hand")
    before = person.git("rev-parse", "main")

    done = person.try_allstop("rollback", "T1")

    assert done.returncode == 1, done.stdout
    assert "T1: not rolled back: conflicts: b.txt with main at " in done.stderr
    merge = person.task("T1")["merged"]
    assert f"see `allstop log T1`; by hand: git revert -m 1 {merge[:10]}\n" in done.stderr
    assert person.git("rev-parse", "main") == before
    assert person.git("status", "--short") == ""
    task = person.task("T1")
    assert task["status"] == "done"
    assert "not rolled back" in task["note"]


def test_b18_a_rollback_waits_for_a_dirty_checkout_too(merged):
    """B17, B18: it says so and touches nothing."""
    person = merged
    person.write("a.txt", "mine\n")

    done = person.try_allstop("rollback", "T1")

    assert done.returncode == 3, done.stdout
    assert "uncommitted changes: a.txt" in done.stdout
    assert (person.repository / "a.txt").read_text() == "mine\n"
    person.git("checkout", "-q", "a.txt")
    person.try_allstop("run")
    assert not (person.repository / "b.txt").exists()


def test_b18_unmerged_work_is_thrown_away_and_kept_by_a_ref(person):
    """B18: its branch is reset; a backup ref keeps it."""
    person.agent("echo half >half.txt; exit 1")
    person.commit()
    person.allstop("run", "do it", code=1)

    said = person.allstop("rollback", "T1")

    assert "refs/allstop/backup/" in said
    ref = said.split("kept as ")[1].strip().rstrip(".")
    assert person.git("show", f"{ref}:half.txt") == "half"
    task = person.task("T1")
    assert (task["status"], task["held"]) == ("pending", True)
    person.program(
        "my-agent",
        "#!/bin/sh\ntest ! -f half.txt && echo x >x && echo '<promise>COMPLETE</promise>'\n",
    )
    person.allstop("run", "T1")
    assert not (person.repository / "half.txt").exists()


def test_b18_where_merging_is_off_the_branch_of_a_done_task_is_reset(person):
    """B18: a backup ref keeps the work; a branch that somebody works on is left alone."""
    person.agent(WORKS, settings=MERGE_AT_ONCE + "[merge]\nenabled = false\n")
    person.commit()
    person.allstop("run", "do it")
    work = person.git("rev-parse", "allstop/T1")
    person.git("checkout", "-q", "allstop/T1")
    refused = person.refuses("rollback", "T1")
    person.git("checkout", "-q", "main")
    assert person.tasks() == {"T1": "done"}

    said = person.allstop("rollback", "T1")

    assert "allstop/T1 is checked out in " in refused
    assert person.git("rev-parse", said.split("kept as ")[1].strip().rstrip(".")) == work
    assert person.git("rev-parse", "allstop/T1") == person.git("rev-parse", "main")
    assert (person.task("T1")["status"], person.task("T1")["held"]) == ("pending", True)
    person.allstop("run", "T1")
    assert person.git("show", "allstop/T1:b.txt") == "more\nagain"


def test_b18_a_branch_with_commits_of_a_person_is_not_reset(person):
    person.agent(WORKS, settings=MERGE_AT_ONCE + "[merge]\nenabled = false\n")
    person.commit()
    person.allstop("run", "do it")
    theirs = person.git("commit-tree", "-p", "allstop/T1", "-m", "mine", "allstop/T1^{tree}")
    person.git("update-ref", "refs/heads/allstop/T1", theirs)

    assert "allstop/T1 has commits that Allstop didn't make" in person.refuses("rollback", "T1")

    assert (person.tasks(), person.git("rev-parse", "allstop/T1")) == ({"T1": "done"}, theirs)


def test_b18_what_cannot_be_rolled_back_says_why(person):
    person.agent(WORKS)
    person.allstop("add", "one")

    assert "there is no task 'T9'" in person.refuses("rollback", "T9")


def test_b6_clean_shows_first_and_removes_only_what_is_merged(person):
    """B6: nothing with unmerged work is removed without being asked."""
    person.agent("case $(cat) in *bad*) echo half >half.txt; exit 1 ;; esac" + WORKS)
    person.commit()
    person.allstop("run", "do good", "do bad", code=1)
    person.allstop("skip", "T2")
    assert workspaces(person) == {"T1", "T2"}

    shown = person.allstop("clean")
    assert workspaces(person) == {"T1", "T2"}
    person.allstop("clean", "--yes")

    assert "T1" in shown
    assert workspaces(person) == {"T2"}
    assert (person.repository / ".allstop" / "workspaces" / "T2" / "tree" / "half.txt").exists()
    assert "--force needs the ids" in person.refuses("clean", "--force")
    person.allstop("clean", "--force", "T2")
    assert workspaces(person) == set()
    refs = person.git("for-each-ref", "--format=%(refname)", "refs/allstop/backup").split()
    assert any(person.git("ls-tree", "--name-only", ref, "half.txt") for ref in refs)
    assert person.git("fsck", "--no-dangling") == ""


def test_b6_a_workspace_that_a_task_goes_on_in_is_not_offered(person):
    person.agent("echo half >half.txt; exit 1")
    person.commit()
    person.allstop("run", "do it", code=1)

    assert "Nothing to clean" in person.allstop("clean")
    person.allstop("clean", "--yes")
    assert workspaces(person) == {"T1"}


def test_b6_clean_is_refused_while_the_board_is_at_work(person, tmp_path):
    mark = str(40_000_000 + abs(hash(str(tmp_path))) % 9_999_999)
    person.agent(f"sleep {mark}")
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    assert f"process {process.pid}" in person.refuses("clean", "--yes")
    assert alive(f"sleep {mark}")


def test_b19_a_task_is_split_into_smaller_ones(person):
    """B19: what needed it needs all of them."""
    person.agent(WORKS)
    person.allstop("add", "too much", "--tag", "ui", "--operation", "op")
    person.allstop("add", "afterwards", "--needs", "T1")

    said = person.json("split", "T1", "the one half", "the other half")

    tasks = {task["id"]: task for task in person.json("list")["tasks"]}
    assert said["into"] == ["T1-1", "T1-2"]
    assert tasks["T1"]["status"] in ("cancelled", "skipped")
    assert [tasks[name]["title"] for name in said["into"]] == ["the one half", "the other half"]
    assert tasks["T2"]["waits_for"] == ["T1-1", "T1-2"]
    assert "there is no task 'T9'" in person.refuses("split", "T9", "x")


def test_b6_who_retries_a_task_learns_that_its_workspace_is_older_than_the_target(person):
    """B6: what was mended on the target branch is not in a workspace that is kept."""
    person.agent("test -f mended && date >b.txt && echo '<promise>COMPLETE</promise>'")
    person.allstop("run", "add a line", code=1)
    person.write("mended", "")
    person.commit()

    said = person.allstop("retry", "T1")

    assert "Its workspace is 1 commit behind the target branch;" in said
    assert "`allstop clean --force T1` lets it start over" in said
    person.allstop("clean", "--force", "T1")
    person.allstop("run")
    assert person.tasks() == {"T1": "done"}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("t1", "did you mean T1?"),
        ("T9", "`allstop list` shows the tasks"),
        ("auto1", f"{FOR_TASKS}; `allstop resume auto1` resumes that run"),
        ("room:x", f"{FOR_TASKS}; `allstop resume room:x` resumes that run"),
    ],
)
@pytest.mark.parametrize("command", ["retry", "rollback", "take"])
def test_b19_what_is_no_task_gets_a_hint_at_what_was_meant(person, command, name, hint):
    """B19: also of a thread and of a room, which are no tasks."""
    person.agent("true")
    person.allstop("add", "something")

    done = person.try_allstop(command, name)

    assert (done.returncode, done.stderr) == (
        2,
        f"error: there is no task {name!r}\nhint: {hint}\n",
    )
