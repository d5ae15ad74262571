"""The inbox, history and settings in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from browser.conftest import Visit
from support.person import at_home, wait_for
from support.sample_board import SampleBoard

ASKS = """
[[turn]]
steps = [{ signal = "PENDING: An hour, or a day?" }]

[[turn]]
steps = [{ sleep = 600 }]
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("inbox")))
    scene.prepare()
    scene.person.write("script.toml", ASKS)
    scene.person.allstop("trust", "--yes")
    scene.open()
    scene.add(("Move sessions", "api", "sessions"))
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: scene.titles("waiting"), "a question", 60)
    yield scene
    scene.person.close()


def test_u4_a_question_is_answered_in_the_inbox_and_the_title_has_the_count(scene, visit):
    page = visit().page("inbox")
    expect(page).to_have_title("(1) Inbox · allstop")
    item = page.get_by_role("article", name="Move sessions")

    item.get_by_label("An hour, or a day?").fill("A day.")
    item.get_by_role("button", name="Answer").click()

    expect(page.get_by_text("You’re all caught up.")).to_be_visible()
    expect(page).to_have_title("Inbox · allstop")
    wait_for(lambda: scene.titles("active") == {"Move sessions"}, "it goes on")


def test_u2_a_run_can_be_replayed_event_by_event(scene, visit):
    page = visit().page("history")

    page.get_by_role("searchbox", name="Find a run").fill("sessions")
    page.get_by_role("link", name=re.compile("Move sessions")).click()
    record = page.get_by_role("log")
    expect(record).to_contain_text("PENDING: An hour, or a day?")
    page.get_by_role("slider", name="Event").fill("1")

    expect(record).to_contain_text("task opened: Move sessions")
    expect(record).not_to_contain_text("PENDING")


def test_u2_every_setting_is_shown_with_its_description(visit):
    page = visit().page("settings")

    page.get_by_role("searchbox", name="Find a setting").fill("max_parallel")

    row = page.get_by_role("listitem").filter(has_text="loop.max_parallel")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("allstop.toml")


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """Three inbox items of three kinds."""
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("decisions")))
    scene.prepare()
    scene.open()
    scene.add(
        ("Explain rate limits in the documentation", "api", "papers"),
        ("Drop Python 3.9", "critical", "chores"),
        ("Move sessions to Redis", "critical", "sessions"),
    )
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: len(scene.ask("/inbox")["waiting"]) == 3, "three that wait", 90)
    yield scene
    scene.person.close()


def test_u4_one_key_answers_an_item_and_the_next_one_is_selected(browser, decisions):
    visit = Visit(browser, decisions)
    page = visit.page("inbox")
    expect(page).to_have_title("(3) Inbox · allstop")
    order = [each["title"] for each in decisions.ask("/inbox")["waiting"]]
    chosen = page.locator("article.chosen")

    def go_to(title):
        for _ in order:
            page.keyboard.press("k")
        while chosen.get_attribute("aria-label") != title:
            page.keyboard.press("j")

    go_to("Drop Python 3.9")
    expect(chosen.get_by_role("button", name="Retry")).to_contain_text("r")
    page.keyboard.press("x")
    wait_for(lambda: decisions.titles("skipped") == {"Drop Python 3.9"}, "skipped")
    expect(page).to_have_title("(2) Inbox · allstop")
    expect(page.get_by_text("2 items waiting")).to_have_count(1)

    go_to("Move sessions to Redis")
    page.keyboard.press("a")
    page.keyboard.type("An hour.")
    page.keyboard.press("Enter")
    expect(page).to_have_title("(1) Inbox · allstop")

    page.keyboard.press("r")
    page.get_by_role("dialog").get_by_label("What should change").fill("Shorter.")
    page.get_by_role("button", name="Redo").last.click()
    wait_for(lambda: not decisions.titles("review"), "sent back")
    visit.close()
