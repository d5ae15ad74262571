"""Q19: leftover locks, a damaged journal, a damaged workspace: reported, and nothing is lost."""

import shutil

import pytest

from support.person import MERGE_AT_ONCE, wait_for

ADDS = "echo more >>a.txt; echo '<promise>COMPLETE</promise>'"
LOCKS = ("index.lock", "HEAD.lock", "refs/heads/main.lock")


def is_merged_once(person):
    assert person.merged() == ["T1"]
    assert person.git("show", "main:a.txt") == "hello\nmore"
    assert person.git("status", "--short") == ""
    assert person.git("fsck", "--no-dangling") == ""


@pytest.mark.parametrize("name", LOCKS)
def test_q19_a_lock_that_git_left_is_waited_for_by_name(person, name):
    """Q19, B17: what is in the way is named with what to do; a stop is recorded; then it goes on."""
    person.agent(ADDS)
    person.commit()
    lock = person.repository / ".git" / name
    lock.write_text("")

    said = person.allstop("run", "add a line", code=3)
    person.allstop("stop")
    stopped = person.runs()
    person.allstop("resume")
    again = person.allstop("run", code=3)
    lock.unlink()
    person.allstop("run")

    for each in (said, again):
        assert f"waits: {person.repository}: " in each
        assert str(lock) in each
        assert "remove" in each
    assert set(stopped.values()) == {"stopped"}
    is_merged_once(person)


def test_q19_the_remedy_for_a_lock_is_one_sentence(person):
    person.agent(ADDS)
    person.commit()
    lock = person.repository / ".git" / "index.lock"
    lock.write_text("")

    said = person.allstop("run", "add a line", code=3)

    remedy = f"another git command is running or was killed; if none is running, remove {lock}"
    assert f"T1 waits: {person.repository}: {remedy}. Then: allstop run\n" in said


DAMAGED = {
    "garbage": lambda data: b"garbage" * 1000,
    "cut short": lambda data: data[: len(data) // 2],
    "its middle gone": lambda data: data[:4096] + bytes(len(data) - 8192) + data[-4096:],
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_q19_a_damaged_store_is_refused_and_a_stop_still_holds(person, damage):
    """Q19, K3: nothing is made up or written over; the STOP file stands until it can be lifted."""
    person.agent(ADDS, settings="")
    person.commit()
    person.allstop("run", "add a line", code=3)
    store = person.repository / ".allstop"
    file = store / "journal.db"
    whole = file.read_bytes()
    broken = DAMAGED[damage](whole)
    file.write_bytes(broken)

    for command in (("run",), ("approve", "T1"), ("add", "another")):
        said = person.refuses(*command)
        assert "can't be read" in said
        assert "hint: " in said
    said = person.allstop("stop")
    assert "The store can't be written; the STOP file holds" in said
    assert "store" in person.allstop("doctor", code=1)
    person.refuses("resume")
    assert (store / "STOP").exists(), "it could not be lifted, so it holds"
    assert file.read_bytes() == broken
    assert person.merged() == []

    file.write_bytes(whole)
    assert "ALLSTOP since" in person.allstop("status")
    person.allstop("resume")
    person.allstop("approve", "T1")
    is_merged_once(person)


TWO_TURNS = """
[[turn]]
steps = [
    { write = "one.txt", text = "one" },
    { run = "git add one.txt && (git diff --cached --quiet || git commit -qm one)" },
    { say = "more to do" },
]
[[turn]]
steps = [
    { run = "test -f ~/began || { touch ~/began; sleep 600; }" },
    { write = "two.txt", text = "two" },
    { signal = "COMPLETE" },
]
"""
DAMAGE = {
    "no git folder": lambda tree: shutil.rmtree(tree / ".git"),
    "no head": lambda tree: (tree / ".git" / "HEAD").write_text("garbage"),
    "no objects": lambda tree: shutil.rmtree(tree / ".git" / "objects"),
    "no tree": shutil.rmtree,
    "locks": lambda tree: [(tree / ".git" / n).write_text("") for n in ("index.lock", "HEAD.lock")],
    "an index of garbage": lambda tree: (tree / ".git" / "index").write_bytes(b"x" * 100),
    "a file in its place": lambda tree: (shutil.rmtree(tree), tree.write_text("x")),
}


def began(person):
    return list((person.repository / ".allstop" / "workspaces").rglob("began"))


@pytest.mark.parametrize("damage", DAMAGE)
def test_q19_a_workspace_damaged_after_a_kill_costs_no_commit_that_came_home(person, damage):
    """Q19, Q16: the turn that was under way is taken again in a workspace that works."""
    person.script(TWO_TURNS, settings=MERGE_AT_ONCE)
    person.commit()
    person.allstop("add", "write it down")
    process = person.start("run")
    for line in process.stdout:
        if "takes a turn" in line and "one.txt" not in line:
            if (turns := getattr(process, "turns", 0) + 1) == 2:
                break
            process.turns = turns
    wait_for(lambda: began(person), "the second turn")
    process.kill()
    process.communicate()
    (tree,) = (person.repository / ".allstop" / "workspaces").glob("T1*/tree")

    DAMAGE[damage](tree)
    person.allstop("run")

    assert person.tasks() == {"T1": "done"}
    assert person.git("show", "main:one.txt") == "one"
    assert person.git("show", "main:two.txt") == "two"
    assert len(person.task("T1")["attempts"]) == 1
    assert person.git("fsck", "--no-dangling") == ""


def test_k3_a_stop_file_is_shown_before_anybody_has_written(person):
    """K3: whoever looks must see that nothing will start."""
    person.agent(ADDS, settings="")
    person.commit()
    person.allstop("run", "add a line", code=3)
    (person.repository / ".allstop" / "STOP").write_text("ada\n")

    assert "ALLSTOP since" in person.allstop("status")
    assert ", by ada. `allstop resume` lifts it." in person.allstop("status")
    person.allstop("resume")
    assert "ALLSTOP" not in person.allstop("status")
