"""The control room before there is any work: sign-in, the empty home, and states without data."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.person import at_home
from support.sample_board import SampleBoard

MODELS = """
[agents.gpt]
driver = "openai"

[agents.claude]
driver = "anthropic"
"""
FAILED = '{"error": {"code": "internal", "message": "the server failed", "hint": "see its log"}}'


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """One agent that can edit files, two that can only chat, and no work."""
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("empty")))
    scene.person.script("", MODELS)
    scene.person.commit()
    scene.person.allstop("trust", "--yes")
    scene.open()
    yield scene
    scene.person.close()


def violations(page):
    page.wait_for_timeout(300)
    return [rule["id"] for rule in Axe().run(page).response["violations"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u4_an_empty_home_offers_a_task_and_a_room(theme, visit):
    page = visit(color_scheme=theme).page("home")

    expect(page.get_by_role("heading", level=1)).to_have_text("What should the agents do?")
    task = page.get_by_role("region", name="Add a task")
    expect(task.get_by_role("button", name="Run this task")).to_be_enabled()
    room = page.get_by_role("region", name="Start a room")
    expect(room.get_by_role("button", name="Session:")).to_contain_text("gpt → claude · 6 rounds")
    expect(page.get_by_role("region", name="Ready to work")).to_contain_text("sandbox")
    assert violations(page) == []
    page.set_viewport_size(PHONE)
    assert clipped(page) == []


def test_u4_tasks_are_offered_only_to_agents_that_can_edit_files(visit):
    page = visit().page("home")
    agents = page.get_by_role("region", name="Add a task").get_by_label("Agent")

    expect(agents).to_have_value("demo")
    assert agents.locator("option").all_inner_texts() == ["demo"]
    page.goto(page.url.replace("#/home", "#/start"))
    agents = page.get_by_role("region", name="First task").get_by_label("Agent")
    expect(agents).to_have_value("demo")
    assert agents.locator("option").all_inner_texts() == ["demo (scripted)"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sign_in_page_is_styled_and_takes_a_key(theme, browser, scene):
    context = browser.new_context(viewport=PHONE, color_scheme=theme)
    page = context.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(f"{scene.url}/?key=wrong")

    expect(page.get_by_role("heading")).to_have_text("This sign-in link doesn't work any more")
    expect(page.get_by_role("alert")).to_contain_text("A link works once")
    assert [text for text in refused if "Content Security" in text] == []
    assert violations(page) == []
    page.get_by_label("Key").fill(scene.link().rpartition("key=")[2])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_visible()
    assert "key=" not in page.url
    context.close()


def test_u4_a_page_whose_data_fails_says_so_and_tries_again(visit):
    here = visit()
    here.ours.append("status of 500")
    fails = re.compile("/api/v1/settings")
    here.context.route(fails, lambda route: route.fulfill(status=500, body=FAILED))

    for where in ("rooms", "settings"):
        page = here.page(where)
        expect(page.get_by_role("alert")).to_contain_text("the server failed")
        page.close()
    page = here.page("rooms")
    page.get_by_role("alert").wait_for()
    here.context.unroute(fails)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_label("Goal")).to_be_visible()


def test_u1_nothing_is_shown_as_known_before_the_server_has_answered(visit):
    here = visit()
    here.context.route(re.compile("/api/v1/"), lambda route: route.abort())
    page = here.page("board")

    expect(page.get_by_role("alert")).to_contain_text("The server can’t be reached.")
    header = page.get_by_role("banner")
    expect(header).to_contain_text("not connected")
    expect(header).not_to_contain_text("$0")
    expect(page.get_by_label("Mode")).to_have_count(0)
    expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_enabled()


def test_u4_an_empty_review_queue_says_so_on_a_phone_too(visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("review")

    expect(page.get_by_text("Nothing waits for your review.")).to_be_visible()


def test_u4_a_page_that_loads_shows_its_shape(visit):
    here = visit()
    waiting = []
    here.context.route(re.compile("/api/v1/rooms"), lambda route: waiting.append(route))
    page = here.page("rooms")

    expect(page.get_by_text("Loading the threads…")).to_be_visible()
    expect(page.locator(".bone").first).to_be_visible()
    assert violations(page) == []
    for each in waiting:
        each.continue_()
    expect(page.get_by_label("Goal")).to_be_visible()


def test_u2_settings_show_essentials_first_with_labels(visit):
    page = visit().page("settings")
    rows = page.get_by_role("listitem")

    expect(rows.filter(has_text="Tasks at the same time")).to_have_count(1)
    expect(rows.filter(has_text="retry.jitter")).to_have_count(0)
    page.get_by_role("button", name="Advanced").click()
    expect(rows.filter(has_text="retry.jitter")).to_have_count(1)
    page.reload()
    expect(rows.filter(has_text="retry.jitter")).to_have_count(1)
    page.get_by_role("searchbox", name="Find a setting").fill("at the same time")
    expect(rows.filter(has_text="loop.max_parallel")).to_have_count(1)
