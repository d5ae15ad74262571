"""The page with many runs: an old one that is still open, and all later ones."""

import re

import pytest
from playwright.sync_api import expect

from support.person import at_home, wait_for
from support.sample_board import SampleBoard

PAGE = 200
LATER = PAGE + 60
SCRIPT = """
[[turn]]
when = "long-lived"
steps = [{ ask = "rm -r build" }, { sleep = 600 }]

[[turn]]
steps = [{ say = "Well." }]
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A waiting thread, and after it more sessions than one page of runs holds."""
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("many")))
    scene.person.script(SCRIPT)
    scene.person.commit()
    scene.person.allstop("trust", "--yes")
    scene.open()
    run = scene.post("/runs", {"kind": "auto", "goal": "A long-lived goal", "agent": "demo"})["run"]
    wait_for(lambda: scene.ask(f"/runs/{run}")["detail"]["asks"], "its question", 60)
    for number in range(LATER):
        order = {"kind": "room", "goal": f"Talk {number}", "thread": f"t{number}"}
        scene.post("/runs", {**order, "mode": "single", "agents": ["demo"]})
    yield scene
    scene.person.close()


def test_u1_an_open_run_older_than_two_hundred_others_is_shown_after_a_reload(scene, visit):
    page = visit().page("home")

    expect(page.get_by_role("main")).to_contain_text("A long-lived goal")


def test_u2_history_lists_every_run(scene, visit):
    page = visit().page("history")

    page.get_by_role("searchbox", name="Find a run").fill("t30")

    expect(page.get_by_role("link", name=re.compile(r"\bt30\b")).first).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="of")).to_contain_text(f"of {LATER + 1}")
