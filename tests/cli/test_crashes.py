"""B8, B19: what is left of an agent that died is kept, and offered to people."""

import pytest

CRASHES = """
cat >/dev/null
echo half >half.txt
git add -A
git -c user.name=A -c user.email=a@x commit -qm "half of it"
echo loose >loose.txt
kill -9 $$
"""


@pytest.fixture
def crashed(person):
    """A task whose agent was killed in the middle of its work."""
    person.agent(CRASHES)
    person.said = person.allstop("run", "do it", code=1)
    return person


def test_b8_the_end_of_a_run_says_what_can_be_done_after_a_crash(crashed):
    assert "1 crashed, 1 remaining" in crashed.said
    assert "what it did is kept: allstop diff T1; again: allstop run T1" in crashed.said
    assert "+half" in crashed.allstop("diff", "T1")
    assert "+loose" in crashed.allstop("diff", "T1")


def test_b8_a_crashed_task_is_among_what_needs_a_person(crashed):
    said = crashed.allstop("status")
    (task,) = crashed.json("status")["board"]["needs_you"]

    assert "? T1       pending since " in said
    assert ": crashed: signal 9   → allstop run T1" in said
    assert "`allstop diff T1` shows it, `allstop take T1` hands it to you" in said
    assert (task["status"], task["do"]) == ("pending", "allstop run T1")
    assert "`allstop diff T1`" in task["hint"]


def test_b8_show_names_the_workspace_that_is_kept(crashed):
    tree = crashed.repository / ".allstop" / "workspaces" / "T1" / "tree"

    assert f"workspace    {tree}, unchanged since" in crashed.allstop("show", "T1")
    assert crashed.json("show", "T1")["workspace"] == str(tree)
    assert (tree / "half.txt").exists()


def test_b8_a_task_without_a_workspace_names_none(person):
    person.agent("true")
    person.allstop("add", "later")

    assert "workspace" not in person.allstop("show", "T1")
    assert person.json("show", "T1")["workspace"] is None


def test_b8_clean_names_what_is_kept_for_it_and_removes_it_only_when_forced(crashed):
    assert "Kept for unfinished tasks: T1." in crashed.allstop("clean")
    assert crashed.json("clean")["kept"] == ["T1"]
    assert crashed.allstop("clean", "--yes") == "Nothing to clean.\n"
    assert crashed.json("show", "T1")["workspace"]

    assert "its commits are kept as refs/allstop/backup/T1/1" in crashed.allstop(
        "clean", "--force", "T1"
    )
    assert crashed.json("clean")["kept"] == []


def test_b8_b19_a_crashed_task_can_be_retried_and_is_then_what_the_board_does_next(crashed):
    before = crashed.json("show", "T1")["retries"]
    crashed.allstop("retry", "T1", "-m", "more slowly")

    assert crashed.json("status")["board"]["needs_you"] == []
    assert crashed.json("show", "T1")["retries"] == before, "the crash has been counted"
    crashed.agent('cat >told.txt\necho "<promise>COMPLETE</promise>"')
    crashed.allstop("run")
    assert crashed.tasks() == {"T1": "done"}
    assert "A person says: more slowly" in crashed.git("show", "main:told.txt")
    assert crashed.git("show", "main:half.txt") == "half", "it went on from there"


def test_b8_b20_a_person_takes_what_is_left_over_and_gives_it_back(crashed):
    """B8: the workspace is offered for recovery, also where its agent dies each time."""
    clone = crashed.repository.with_name(f"{crashed.repository.name}-T1")

    assert f"T1 is yours: {clone}" in crashed.allstop("take", "T1")
    assert (clone / "half.txt").read_text() == "half\n"
    assert (clone / "loose.txt").read_text() == "loose\n"
    assert crashed.json("status")["board"]["needs_you"] == [], "the person has it"
    assert "T1 is held" in crashed.allstop("run", code=3), "nobody starts it meanwhile"
    crashed.agent('cat >told.txt\ncat half.txt by-hand.txt\necho "<promise>COMPLETE</promise>"')
    crashed.commit()
    (clone / "by-hand.txt").write_text("the other half\n")
    crashed.git("-C", str(clone), "add", "-A")
    crashed.git("-C", str(clone), "commit", "-qm", "By hand")
    assert "`allstop run T1`." in crashed.allstop("give", "T1")
    crashed.allstop("run", "T1")

    assert crashed.tasks() == {"T1": "done"}
    assert crashed.git("show", "main:by-hand.txt") == "the other half"
    assert "By hand" in crashed.git("log", "--format=%s", "main")
    assert "A person has worked on this by hand meanwhile" in crashed.git("show", "main:told.txt")


def test_b19_b20_a_task_that_failed_can_be_taken_over_too(person):
    person.agent("cat >/dev/null; echo half >half.txt; exit 1")
    person.allstop("run", "do it", code=1)
    person.allstop("take", "T1")
    assert person.tasks() == {"T1": "failed"}
    assert "isn't a clone" in person.refuses("give", "T1", "--at", str(person.home / "nothing"))

    person.allstop("give", "T1")

    assert person.tasks() == {"T1": "pending"}


def test_b8_b20_taking_over_and_retrying_what_was_never_begun_name_a_way_out(crashed):
    crashed.allstop("add", "another")
    assert "`allstop run T2` starts it" in crashed.refuses("retry", "T2")
    assert "`allstop run T2` starts it" in crashed.refuses("take", "T2")


def test_b8_a_crash_of_an_earlier_run_is_named_at_the_end_of_the_next(crashed):
    crashed.agent('cat >/dev/null\necho x >x.txt\necho "<promise>COMPLETE</promise>"')

    assert "From earlier runs: T1 crashed" in crashed.allstop("run", "another")
    assert "T1" in crashed.tasks()


def test_b8_what_was_rolled_back_after_a_crash_needs_nobody(crashed):
    crashed.allstop("rollback", "T1")

    assert crashed.json("status")["board"]["needs_you"] == []
    assert "workspace" not in crashed.allstop("show", "T1")
