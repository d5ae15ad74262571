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


REWRITTEN = """
mkdir -p scripts
echo 'echo agent >>~/said' >scripts/notify.sh
printf 'tell:\\n\\tsh scripts/notify.sh\\n' >Makefile
echo '<promise>COMPLETE</promise>'
"""
WAYS = (
    "sh scripts/notify.sh",
    "(cd scripts && sh ./notify.sh)",
    "bash -c 'sh scripts/notify.sh'",
    "make -s tell",
    "git log -1 --format=%s >>~/said",
)


def with_script(person, hook):
    person.write("scripts/notify.sh", "echo person >>~/said\n")
    person.write("Makefile", "tell:\n\tsh scripts/notify.sh\n")
    person.write(
        "allstop.toml",
        (person.repository / "allstop.toml").read_text() + f'[hooks]\npost_merge = "{hook}"\n',
    )
    person.commit()


def test_k15_a_hook_runs_the_files_that_the_person_trusted(person):
    """Whatever way it names them; git finds the repository all the same."""
    person.agent(REWRITTEN)
    with_script(person, "; ".join(WAYS))
    person.allstop("trust", "--yes")

    person.allstop("run", "one")

    assert "agent" in person.git("show", "HEAD:scripts/notify.sh")
    assert (person.home / "said").read_text().splitlines()[:4] == ["person"] * 4
    assert "T1" in (person.home / "said").read_text().splitlines()[4]


def test_k15_trust_asks_again_when_a_file_of_a_hook_has_changed(person):
    person.agent("echo '<promise>COMPLETE</promise>'; touch new")
    with_script(person, "sh scripts/notify.sh")
    person.allstop("trust", "--yes")
    accepted = person.allstop("trust")
    person.write("scripts/notify.sh", "echo agent >>~/said\n")
    person.commit()

    assert accepted == "There is nothing to accept.\n"
    assert "changed: scripts/notify.sh" in person.json("trust")["hook_files"]
    assert "not as on main: run `allstop trust`" in person.try_allstop("run", "one").stderr

    person.allstop("trust", "--yes")
    assert person.json("trust")["hook_files"] is None


def test_k15_own_hooks_find_no_file_of_a_repository_that_is_not_trusted(person):
    person.agent(REWRITTEN)
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[hooks]\npost_merge = "sh scripts/notify.sh || echo none >>~/said"\n')
    person.write("scripts/notify.sh", "echo person >>~/said\n")
    person.commit()

    told = person.try_allstop("run", "one").stderr

    assert (person.home / "said").read_text() == "none\n"
    assert "Hooks name scripts/notify.sh" in told


@pytest.mark.parametrize(
    "hook", ["sh {root}/scripts/notify.sh", "cd $(git rev-parse --show-toplevel) && make tell"]
)
def test_k15_a_hook_that_goes_back_to_the_checkout_is_not_run(person, hook):
    person.agent(REWRITTEN)
    with_script(person, hook.format(root=person.repository))
    person.allstop("trust", "--yes")

    told = person.allstop("run", "one")

    assert not (person.home / "said").exists()
    assert "post_merge T1 not run: it names the checkout" in told
