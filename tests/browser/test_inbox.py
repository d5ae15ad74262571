"""The inbox, history and settings in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from people import at_home, wait_for
from scenes import Scene

ASKS = """
[[turn]]
steps = [{ signal = "PENDING: An hour, or a day?" }]

[[turn]]
steps = [{ sleep = 600 }]
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = Scene(at_home(tmp_path_factory.mktemp("inbox")))
    scene.prepare()
    scene.person.write("script.toml", ASKS)
    scene.person.allstop("trust", "--yes")
    scene.open()
    scene.add(("Move sessions", "api", "sessions"))
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: scene.titles("waiting"), "a question", 60)
    yield scene
    scene.person.close()


def test_u4_a_question_is_answered_where_it_is_shown_and_the_title_counts_what_waits(scene, visit):
    page = visit().page("inbox")
    expect(page).to_have_title("(1) Inbox · allstop")
    item = page.get_by_role("article", name="Move sessions")

    item.get_by_label("An hour, or a day?").fill("A day.")
    item.get_by_role("button", name="Answer").click()

    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    expect(page).to_have_title("Inbox · allstop")
    wait_for(lambda: scene.titles("active") == {"Move sessions"}, "it goes on")


def test_u2_a_run_can_be_looked_at_moment_by_moment(scene, visit):
    page = visit().page("history")

    page.get_by_role("searchbox", name="Find a run").fill("sessions")
    page.get_by_role("link", name=re.compile("Move sessions")).click()
    record = page.get_by_role("log")
    expect(record).to_contain_text("PENDING: An hour, or a day?")
    page.get_by_role("slider", name="Moment of the run").fill("1")

    expect(record).to_contain_text("task opened: Move sessions")
    expect(record).not_to_contain_text("PENDING")


def test_u2_every_setting_is_shown_with_what_it_does(visit):
    page = visit().page("settings")

    page.get_by_role("searchbox", name="Find a setting").fill("max_parallel")

    row = page.get_by_role("listitem").filter(has_text="loop.max_parallel")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("allstop.toml")
