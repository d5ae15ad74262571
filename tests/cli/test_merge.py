"""How work reaches the target branch, and what it never touches on its way."""

import pytest

from allstop.cli.board.run_board import next_steps
from allstop.core.tasks import Status, Task
from support.in_turn import WAITS, run_in_turn
from support.person import MERGE_AT_ONCE, wait_for

WORKS = "echo more >>a.txt; echo '<promise>COMPLETE</promise>'"


def head_of(person, name="HEAD"):
    return person.git("rev-parse", name)


def test_b17_a_clean_checkout_follows_the_branch(person):
    """B17: what is checked out is the new tip, and nothing is left to commit."""
    person.agent(WORKS)
    person.commit()

    person.allstop("run", "add")

    assert (person.repository / "a.txt").read_text() == "hello\nmore\n"
    assert person.git("status", "--short") == ""
    assert head_of(person) == head_of(person, "main")
    assert person.merged() == ["T1"]


def test_b17_a_branch_that_is_not_checked_out_moves_alone(person):
    """B17: the person's checkout stays on its branch, with its changes."""
    person.agent(WORKS, settings=MERGE_AT_ONCE + '[project]\ntarget = "main"\n')
    person.commit()
    person.git("switch", "-q", "-c", "mine")
    person.write("a.txt", "changed\n")
    before = head_of(person)

    person.allstop("run", "add")

    assert person.git("show", "main:a.txt") == "hello\nmore"
    assert person.merged() == ["T1"]
    assert (person.repository / "a.txt").read_text() == "changed\n"
    assert person.git("symbolic-ref", "--short", "HEAD") == "mine"
    assert (head_of(person), person.git("status", "--short")) == (before, "M a.txt")


def test_b17_work_is_merged_where_it_began_and_not_where_the_person_went(person):
    person.agent(WORKS, settings=MERGE_AT_ONCE.replace("skip", "per-task"))
    person.commit()
    person.allstop("run", "add", code=3)
    person.git("switch", "-q", "-c", "mine")
    before = head_of(person)

    person.allstop("approve", "T1")

    assert person.git("show", "main:a.txt") == "hello\nmore"
    assert head_of(person) == head_of(person, "mine") == before


@pytest.mark.parametrize("name", ["a.txt", "other.txt"])
def test_b17_a_dirty_checkout_is_waited_for_and_never_touched(person, name):
    """B17: it says so, exit code 3; once it is committed, `run` merges."""
    person.agent(WORKS)
    person.write("other.txt", "other\n")
    person.commit()
    person.write(name, "changed by hand\n")
    before = head_of(person)

    said = person.allstop("run", "add", code=3)

    assert f"it has uncommitted changes: {name}" in said
    assert person.tasks() == {"T1": "merging"}
    assert head_of(person) == before
    assert (person.repository / name).read_text() == "changed by hand\n"
    status = person.allstop("status")
    assert "uncommitted changes" in status
    assert "Next: `allstop run`" in status

    person.git("stash") if name == "a.txt" else person.git("commit", "-qam", "by hand")
    person.allstop("run")

    assert person.merged() == ["T1"]
    assert person.git("show", "main:a.txt") == "hello\nmore"
    assert person.git("status", "--short") == ""


def test_b17_what_is_merged_after_one_that_waits_says_that_it_waits_too(person):
    person.agent(WORKS)
    person.write("other.txt", "other\n")
    person.commit()
    person.write("other.txt", "changed by hand\n")
    person.allstop("add", "first")
    person.allstop("add", "second")

    said = person.allstop("run", "--parallel", "1", code=3)

    assert "uncommitted changes: other.txt. Then: allstop run\n" in said
    assert "? T2 waits to be merged: allstop run\n" in said


def test_b17_a_file_of_the_persons_that_git_does_not_know_is_never_overwritten(person):
    person.agent("echo theirs >new.txt; echo '<promise>COMPLETE</promise>'")
    person.commit()
    person.write("new.txt", "precious\n")

    said = person.allstop("run", "add", code=3)

    assert "new.txt" in said
    assert (person.repository / "new.txt").read_text() == "precious\n"
    assert person.merged() == []


def test_b17_a_staged_change_is_waited_for_too(person):
    person.agent(WORKS)
    person.commit()
    person.write("b.txt", "staged\n")
    person.git("add", "b.txt")

    assert "uncommitted changes: b.txt" in person.allstop("run", "add", code=3)

    assert person.git("status", "--short") == "A  b.txt"


def test_b10_a_setup_that_the_work_breaks_goes_back_to_the_agent(person):
    """B10: the next prompt carries the command, its exit code and what it said."""
    setup = "[workspace]\nsetup = '! cat broken'\n[verification]\ncommands = ['true']\n"
    person.agent(
        """
        cat >prompt.txt
        if test -f broken; then rm broken; else echo no such package >broken; fi
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE + setup,
    )
    person.commit()

    person.allstop("run", "add")

    assert person.merged() == ["T1"]
    prompt = person.git("show", "main:prompt.txt")
    assert "$ ! cat broken\n(exit code 1)\nno such package" in prompt


CONFLICT = """
prompt=$(cat)
case $prompt in
*"resolve the conflicts"*) {resolve} ;;
*north*) {waits} echo north >>a.txt ;;
*south*) {waits} echo south >>a.txt ;;
esac
echo '<promise>COMPLETE</promise>'
"""


def test_b17_a_conflict_goes_back_to_the_agent_and_is_checked_again(person):
    """B17: it is an iteration with the conflict in its workspace."""
    resolve = "sed -i '/^<<<<<<</d; /^=======/d; /^>>>>>>>/d' a.txt"
    gate = "[verification]\ncommands = [\"! grep -q '<<<<' a.txt\"]\n"
    person.agent(CONFLICT.format(waits=WAITS, resolve=resolve), settings=MERGE_AT_ONCE + gate)
    person.commit()

    said, _ = run_in_turn(person, "go north", "go south")

    assert "2 merged, 1 conflict resolved" in said
    assert sorted(person.merged()) == ["T1", "T2"]
    assert sorted((person.repository / "a.txt").read_text().split()) == ["hello", "north", "south"]


def test_b17_a_conflict_that_stays_goes_to_the_person(person):
    """B17: after max_conflict_attempts; nothing unresolved is ever merged."""
    person.agent(
        CONFLICT.format(waits=WAITS, resolve="echo more >>b.txt"),
        settings=MERGE_AT_ONCE + "[merge]\nmax_conflict_attempts = 1\n[loop]\nmax_iterations = 2\n",
    )
    person.commit()

    said, code = run_in_turn(person, "go north", "go south")

    assert code in (1, 3, 4), said
    assert person.merged() == ["T1"]
    assert (person.repository / "a.txt").read_text() == "hello\nnorth\n"
    assert person.tasks()["T2"] != "done"


def test_b17_b20_a_person_resolves_a_conflict_by_hand(person):
    """B20: what is given back comes in before what did not fit, though a merge is half made."""
    settings = MERGE_AT_ONCE + "[merge]\nmax_conflict_attempts = 1\n[loop]\nmax_iterations = 2\n"
    person.agent(CONFLICT.format(waits=WAITS, resolve="echo half >>a.txt"), settings=settings)
    person.commit()
    run_in_turn(person, "go north", "go south")
    assert "<<<<<<<" in (person.repository / ".allstop/workspaces/T2/tree/a.txt").read_text(), (
        "the agent has left it"
    )
    person.agent("cat >told.txt; echo '<promise>COMPLETE</promise>'", settings=settings)
    clone = person.home / "by-hand"

    person.allstop("take", "T2", "--at", str(clone))
    person.git("-C", str(clone), "fetch", "-q", str(person.repository), "main")
    person.git("-C", str(clone), "merge", "-q", "-X", "ours", "--no-edit", "FETCH_HEAD")
    (clone / "a.txt").write_text("hello\nnorth and south\n")
    (clone / "new.txt").write_text("by hand\n")
    person.git("-C", str(clone), "add", "-A")
    person.git("-C", str(clone), "commit", "-qm", "By hand")
    person.allstop("give", "T2", "--at", str(clone))
    person.allstop("run", "T2")

    assert person.tasks() == {"T1": "done", "T2": "done"}
    assert (person.repository / "a.txt").read_text() == "hello\nnorth and south\n"
    assert (person.repository / "new.txt").read_text() == "by hand\n"
    told = (person.repository / "told.txt").read_text()
    assert "A person has worked on this by hand" in told
    assert "resolve the conflicts" not in told


def test_b15_b16_b17_conflict_markers_are_not_merged_although_nothing_is_configured(person):
    """B16: the gate looks at the change, whatever is configured; B15: and says that it ran nothing."""
    person.agent(
        CONFLICT.format(waits=WAITS, resolve="git commit -qam 'all of it'"),
        settings=MERGE_AT_ONCE
        + "[verification]\nprotected = []\n"
        + "[merge]\nmax_conflict_attempts = 1\n[loop]\nmax_iterations = 2\n",
    )
    person.commit()

    said, _ = run_in_turn(person, "go north", "go south")

    assert "conflict resolved" not in said
    assert person.merged() == ["T1"]
    assert (person.repository / "a.txt").read_text() == "hello\nnorth\n"
    log = person.allstop("log", "T2")
    assert "✗ conflict markers a.txt" in log
    assert "VERIFICATION_EMPTY: No verification configured." in person.allstop("log", "T1")


@pytest.mark.parametrize(("verified", "helps"), [("", "retry"), ("a tree", "approve")])
def test_b17_the_end_of_a_run_names_what_helps_work_that_could_not_be_merged(verified, helps):
    """B17: to run the board again would leave it where it is."""
    task = Task(id="T1", title="t", number=1, status=Status.WAITING, verified=verified, note="no")

    assert next_steps([task], [task]) == [f"? T1 waits: no. Then: allstop {helps} T1"]


def test_b17_k19_work_that_passes_alone_but_not_together_is_not_merged(person):
    """B17, K19: the gate runs on the merge's result, whether that was landed before or after it."""
    person.agent(
        f"""
        case $(cat) in
        *"exit code"*) rm two ;;
        *"go one"*) {WAITS} touch one ;;
        *"go two"*) {WAITS} touch two two-was-here ;;
        esac
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE + '[verification]\ncommands = ["test ! -f one || test ! -f two"]\n',
    )
    person.commit()

    said, _ = run_in_turn(person, "go one", "go two")

    assert "VERIFICATION_FAILED: 0 of 1 passed" in said
    assert person.merged() == ["T1", "T2"]
    assert (person.repository / "one").exists()
    assert not (person.repository / "two").exists()


def test_b2_k19_where_merging_is_off_done_means_that_it_passes_with_the_targets_news(person):
    """K19: checked as merged with the branch as it is by then; B10: and told what fails so."""
    person.agent(
        """
        cat >prompt.txt
        if grep -q 'main has moved' prompt.txt; then rm two; echo 1 >three; else
        until [ -e go ]; do sleep 0.1; done; rm go; touch two; fi
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE
        + "[merge]\nenabled = false\n"
        + '[verification]\ncommands = ["test ! -f one || test ! -f two"]\n',
    )
    person.commit()
    process = person.start("run", "go two")
    wait_for(lambda: "takes a turn" in str(person.json("status")), "a turn")
    person.write("one", "1\n")
    person.commit()
    tip = head_of(person, "main")
    (tree,) = (person.repository / ".allstop" / "workspaces").glob("*/tree")
    (tree / "go").touch()

    assert process.wait(60) == 0
    assert person.tasks() == {"T1": "done"}
    assert person.git("ls-tree", "--name-only", "allstop/T1").split()[-3:] == [
        "one",
        "prompt.txt",
        "three",
    ]
    prompt = person.git("show", "allstop/T1:prompt.txt")
    assert f"What is new there, up to {tip[:10]}, has been merged into your clone" in prompt
    assert head_of(person, "main") == tip


def test_k19_work_whose_target_has_moved_is_checked_once_and_not_again_when_it_is_merged(person):
    """K19, B17: the tree that passed is the one that lands."""
    person.agent(
        f"""
        case $(cat) in
        *"go one"*) {WAITS} touch one ;;
        *"go two"*) {WAITS} touch two ;;
        esac
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE + '[verification]\ncommands = ["ls"]\n',
    )
    person.commit()

    run_in_turn(person, "go one", "go two")

    assert person.merged() == ["T1", "T2"]
    log = person.allstop("log", "T2")
    assert "→ moved: main has moved to " in log
    assert log.count("✓ ls passed") == 1


def test_b2_where_merging_is_off_verified_work_is_done_and_on_a_branch(person):
    """B2: done means verified; the branch is the person's to take."""
    person.agent(WORKS, settings=MERGE_AT_ONCE + "[merge]\nenabled = false\n")
    person.commit()

    person.allstop("run", "add")

    assert person.tasks() == {"T1": "done"}
    assert person.merged() == []
    assert person.git("show", "allstop/T1:a.txt") == "hello\nmore"
    assert (person.repository / "a.txt").read_text() == "hello\n"
