"""B20: a person takes a task over by hand, and gives it back."""

import pytest

from support.person import wait_for

TURNS = """
[ "$(cat)" ] || exit 1
if [ -f by-hand.txt ]; then
    cat agent.txt by-hand.txt >both.txt
    echo '<promise>COMPLETE</promise>'
    exit
fi
echo "by the agent" >agent.txt
while [ ! -f go ]; do sleep 0.05; done
rm go
"""


@pytest.fixture
def working(person):
    """A task in the middle of a turn."""
    person.agent(TURNS)
    process = person.start("run", "do it")
    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    wait_for(lambda: (tree / "agent.txt").exists(), "the agent's file")
    return person, process, tree


def clone_of(person):
    return person.repository.with_name(f"{person.repository.name}-T1")


def in_clone(person, *arguments):
    return person.git("-C", str(clone_of(person)), *arguments)


def test_b20_a_task_is_taken_over_and_given_back(working):
    """B20: the turn ends in peace, the loop waits, the agent goes on from the person's commits."""
    person, process, tree = working
    taking = person.start("take", "T1")
    wait_for(lambda: "pausing" in person.runs().values(), "the pause")
    assert not clone_of(person).exists()
    (tree / "go").touch()

    said, _ = taking.communicate(timeout=60)
    assert taking.returncode == 0, said
    assert f"T1 is yours: {clone_of(person)}" in said
    assert (clone_of(person) / "agent.txt").read_text() == "by the agent\n"
    assert person.runs()["board/T1.1"] == "paused"
    (clone_of(person) / "by-hand.txt").write_text("by hand\n")
    assert "uncommitted changes" in person.refuses("give", "T1")
    in_clone(person, "add", "-A")
    in_clone(person, "-c", "user.name=P", "-c", "user.email=p@x", "commit", "-qm", "By hand")
    assert process.wait(60) == 3, "all it could do waits for a person"
    assert "`allstop run T1`." in person.allstop("give", "T1")
    person.allstop("run", "T1")

    assert person.git("show", "main:both.txt") == "by the agent\nby hand"
    assert "By hand" in person.git("log", "--format=%s", "main")
    assert "user: give" in person.allstop("log", "T1")


def test_b20_what_is_in_the_way_is_never_overwritten(working):
    """B20, K15: the clone is the person's, and so is what stood there."""
    person, process, tree = working
    clone_of(person).mkdir()
    (clone_of(person) / "mine.txt").write_text("mine")

    assert "exists already" in person.refuses("take", "T1")
    assert (clone_of(person) / "mine.txt").read_text() == "mine"
    other = person.home / "other"
    taking = person.start("take", "T1", "--at", str(other))
    wait_for(lambda: "pausing" in person.runs().values(), "the pause")
    (tree / "go").touch()
    assert "T1 is yours" in taking.communicate(timeout=60)[0]
    assert (other / "agent.txt").exists()
    process.terminate()


def test_b20_one_task_is_paused_while_others_go_on(person):
    """B20: `pause ID` is for that one only."""
    person.agent(
        """
        cat >prompt
        case $(cat prompt) in *slow*) while [ ! -f go ]; do sleep 0.05; done; rm go ;; esac
        touch done-$(date +%N)
        case $(cat prompt) in *slow*) [ -f second ] || { touch second; exit; } ;; esac
        echo '<promise>COMPLETE</promise>'
        """
    )
    process = person.start("run", "slow one", "quick one")
    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    wait_for(lambda: (tree / "prompt").exists(), "the slow one")
    person.allstop("pause", "T1")
    wait_for(lambda: person.tasks().get("T2") == "done", "the quick one")

    (tree / "go").touch()

    assert process.wait(60) == 3
    assert person.runs()["board/T1.1"] == "paused"
    assert person.tasks() == {"T1": "active", "T2": "done"}


def test_b20_only_what_is_at_work_can_be_taken(person):
    person.agent("echo x >x; echo '<promise>COMPLETE</promise>'")
    person.allstop("add", "one")

    assert "T1 is pending: no agent works on it" in person.refuses("take", "T1")
    assert "there is no task 'T9'" in person.refuses("take", "T9")
    assert "no agent works on it" in person.refuses("give", "T1")
