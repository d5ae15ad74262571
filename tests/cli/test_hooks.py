"""B22: a person's own hooks, as they are run by `allstop run` and by `allstop up`."""

import pytest

from support.control_room import ControlRoom
from support.person import wait_for

WAITS = """
touch ~/began
while [ ! -e ~/may-end ]; do sleep 0.05; done
echo going on
"""


@pytest.fixture
def said(person):
    """A file to which hooks write what they are told."""
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    file = person.home / "said"
    tells = f'"echo $ALLSTOP_HOOK $ALLSTOP_RUN $ALLSTOP_NOTE >>{file}"'
    own.write_text(f"[hooks]\non_pause = {tells}\npost_merge = {tells}\n")
    file.touch()
    return file


@pytest.fixture(params=["run", "up"])
def at_work(person, said, request):
    """A board with one task, whose agent is in the middle of its turn."""
    person.agent(WAITS)
    person.commit()
    person.allstop("add", "Alpha")
    if request.param == "run":
        person.start("run")
    else:
        ControlRoom(person).post("/runs", {"kind": "board"})
    wait_for((home(person) / "began").exists, "the agent")
    return person


def home(person):
    return person.repository / ".allstop" / "workspaces" / "T1" / "home"


@pytest.mark.parametrize("whom", [(), ("board",)], ids=["everything", "board"])
def test_b22_a_pause_runs_its_hook_once(at_work, said, whom):
    """B22: of the board, and of everything with it; to say it twice is no other pause."""
    at_work.allstop("pause", *whom)
    at_work.allstop("pause", *whom)
    wait_for(said.read_text, "the hook")

    (home(at_work) / "may-end").touch()
    wait_for(lambda: at_work.json("list")["phase"] == "paused", "the end of the turn")

    assert said.read_text().splitlines() == ["on_pause board by user"]


def test_b22_the_hook_of_the_last_merge_is_run_before_the_run_ends(person, said):
    person.agent("touch file; echo '<promise>COMPLETE</promise>'")

    person.allstop("run", "one")

    assert said.read_text().splitlines() == ["post_merge board/T1.merge1"]
