"""A real codex in full auto, offline, answered and stopped by a person in a real browser."""

import os
import re

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import expect

from adapters.agents.codex import launch_codex
from allstop.testing.model_server import model_server
from support.agent_programs import program
from support.person import alive, at_home, wait_for
from support.sample_board import SampleBoard

AGENT = """
[agents.codex]
driver = "codex"
model = "gpt-5.5"
base_url = "{url}"
[auto]
cooldown_s = 0
review = "never"
[review]
mode = "skip"
[approvals]
boxed = "ask"
"""
DONE = "It is done.\n<promise>COMPLETE</promise>"
MARK = f"5{os.getpid()}.25"


def answer(asked):
    """A scripted model: runs the given command, then reports its result."""
    found = launch_codex.outputs(asked)
    if "Wait for it" in asked.user:
        return launch_codex.run(f"sleep {MARK}")
    return f"The tool says: {found[-1]}\n{DONE}" if found else launch_codex.run("rm -rf old")


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A repository with something to remove, and a codex that asks before it removes."""
    person = at_home(tmp_path_factory.mktemp("codex"))
    person.variables["OPENAI_API_KEY"] = "sk-dummy-openai-key"
    (person.home / "bin").mkdir(exist_ok=True)
    (person.home / "bin" / "codex").symlink_to(program("codex"))
    person.write("old/notes.txt", "keep me?\n")
    person.commit("notes")
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(answer)) as server,
    ):
        file.write_text(AGENT.format(url=server.openai_url))
        scene = SampleBoard(person)
        scene.open()
        yield scene
        person.close()


def begun(scene, page, goal):
    run = scene.post("/runs", {"kind": "auto", "goal": goal, "agent": "codex"})["run"]
    page.goto(f"{scene.url}/#/auto/{run}")
    return run


def asked(page):
    card = page.get_by_role("region", name="Allow this command?")
    words = card.get_by_role("list", name="Arguments of the command").get_by_role("listitem")
    expect(words).to_have_text(["rm", "-rf", "old"], timeout=40_000)
    expect(card).to_contain_text("rule: rm: not on the list")
    return card


def test_f10_codex_does_not_run_a_denied_command(scene, visit):
    """F10, F5: the command doesn't run; the denial and its reason are recorded."""
    page = visit().page("auto")
    run = begun(scene, page, "Tidy up, or not")
    card = asked(page)

    card.get_by_label("Reason for Deny").fill("Those are my notes.")
    card.get_by_role("button", name="Deny").click()

    expect(page.get_by_text("Ended: done", exact=True)).to_be_visible(timeout=40_000)
    assert "old" in scene.person.git("ls-tree", "--name-only", "main").split()
    log = str(scene.ask(f"/runs/{run}/events?limit=1000"))
    assert "Those are my notes." in log


def test_f10_codex_runs_an_allowed_command(scene, visit):
    """F10, F5: allowed once, it is done, verified and merged."""
    page = visit().page("auto")
    begun(scene, page, "Tidy up")

    asked(page).get_by_role("button", name="Allow", exact=True).click()

    expect(page.get_by_text("Ended: done", exact=True)).to_be_visible(timeout=40_000)
    assert "old" not in scene.person.git("ls-tree", "--name-only", "main").split()
    page.get_by_role("tab", name="Changes").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("old/notes.txt")


def test_u1_allstop_in_the_page_ends_a_command_of_codex_at_once(scene, visit):
    """U1, K2, K4: no process is left, and the receipt is in the run's history."""
    page = visit().page("auto")
    run = begun(scene, page, "Wait for it")
    card = page.get_by_role("region", name="Allow this command?")
    card.get_by_role("button", name="Allow", exact=True).click(timeout=40_000)
    wait_for(lambda: alive(f"sleep {MARK}"), "codex runs its command", 40)

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(re.compile(r"^Stopped in \d+ ms$"))).to_be_visible()
    wait_for(lambda: not alive(f"sleep {MARK}"), "its end", 2)
    expect(page.get_by_text("everything is stopped").first).to_be_visible()
    expect(page.get_by_role("switch", name="Full auto")).to_be_disabled()
    page.goto(f"{scene.url}/#/history/{run}?tab=stops")
    stops = page.get_by_role("region", name="Stops")
    expect(stops).to_contain_text(re.compile(r"Stopped in \d+ ms"))
    expect(stops).to_contain_text("codex")
