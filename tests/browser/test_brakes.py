"""Allstop in the page: with ten tabs, with a broken stream, and with retries."""

import re

import pytest
from playwright.sync_api import expect

from browser.conftest import DESKTOP, PHONE
from support.person import wait_for

STOPPED = re.compile(r"^Stopped in \d+ ms$")


@pytest.fixture
def at_work(scene):
    """Resumes everything, whatever an earlier test did."""
    if scene.ask("/hold")["hold"] != "running":
        scene.tell("all", "resume")
        scene.work()
    return scene


def is_stopped(scene):
    return scene.ask("/hold")["hold"] == "stopped"


def test_u1_one_click_stops_everything_with_ten_tabs_open(at_work, visit):
    """U1: one stream for all tabs; a click in the last one is shown in all."""
    here = visit()
    tabs = [here.page("board") for _ in range(10)]
    for tab in tabs:
        expect(tab.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)
    assert at_work.listeners() == 1

    tabs[-1].get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(tabs[-1].get_by_text(STOPPED)).to_be_visible()
    assert is_stopped(at_work)
    for tab in tabs:
        expect(tab.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    assert at_work.titles("active") == set()


def test_u1_the_shortcut_stops_even_while_a_person_types(at_work, visit):
    page = visit().page("board")
    page.get_by_role("searchbox", name="Filter cards").fill("pag")

    page.keyboard.press("Control+Shift+Period")

    expect(page.get_by_text(STOPPED)).to_be_visible()
    assert is_stopped(at_work)


def test_u1_allstop_works_without_a_stream_and_the_page_says_it_is_broken(at_work, visit):
    """Without shared workers and without a stream."""
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    here.context.route("**/api/v1/stream", lambda route: route.abort())
    page = here.page("home")
    expect(page.get_by_text("No updates for")).to_contain_text("ALLSTOP still works")

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(STOPPED)).to_be_visible()
    assert is_stopped(at_work)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_u1_one_click_stops_while_a_dialog_is_open(at_work, visit, size):
    page = visit(viewport=size).page("board")
    button = page.get_by_role("button", name="ALLSTOP", exact=True).bounding_box()
    page.get_by_role("button", name="New task").click()
    page.get_by_label("Title").fill("Not to be lost")

    page.mouse.click(button["x"] + button["width"] / 2, button["y"] + button["height"] / 2)

    wait_for(lambda: is_stopped(at_work), "the stop")
    expect(page.get_by_label("Title")).to_have_value("Not to be lost")


def test_u1_without_a_stream_the_button_stays_after_a_stop(at_work, visit):
    """Another person may have resumed since; the page can't know."""
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    here.context.route("**/api/v1/stream", lambda route: route.abort())
    page = here.page("home")
    page.get_by_role("button", name="ALLSTOP", exact=True).click()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    at_work.tell("all", "resume")
    assert not is_stopped(at_work)

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    wait_for(lambda: is_stopped(at_work), "the second stop")


def test_u1_on_a_phone_the_text_of_the_button_is_readable(at_work, visit):
    here = visit(viewport={"width": 320, "height": 600}, is_mobile=True, has_touch=True)
    page = here.page("home")
    expect(page.get_by_role("list", name="At a glance")).to_contain_text("2 running")
    button = page.get_by_role("button", name="ALLSTOP", exact=True)
    assert button.bounding_box()["y"] < 20  # in the first row, however narrow it is
    page.route("**/api/v1/allstop", lambda route: route.abort())
    button.tap()

    said = page.get_by_text("Run allstop stop in a terminal")
    expect(said).to_be_visible()
    box, around = said.bounding_box(), page.get_by_role("banner").bounding_box()
    assert around["y"] <= box["y"]
    assert box["y"] + box["height"] <= around["y"] + around["height"]
    page.unroute("**/api/v1/allstop")
    wait_for(lambda: is_stopped(at_work), "the stop")


def test_u1_allstop_is_repeated_until_the_server_accepts_it(at_work, visit):
    here = visit()
    lost = []

    def lose_three(route):
        if len(lost) < 3:
            lost.append(route)
            route.abort()
        else:
            route.continue_()

    page = here.page("home")
    page.route("**/api/v1/allstop", lose_three)
    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(STOPPED)).to_be_visible()
    assert len(lost) == 3
    assert is_stopped(at_work)


def test_k3_an_open_page_stops_everything_without_its_cookie(at_work, visit):
    """K3: another page on the same computer can replace or remove the cookie."""
    here = visit()
    here.ours.append("status of 401")
    page = here.page("home")
    expect(page.get_by_role("list", name="At a glance")).to_contain_text("2 running")
    here.context.clear_cookies()

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    wait_for(lambda: is_stopped(at_work), "everything to stop", 30)


def test_k3_only_status_401_means_signed_out(at_work, visit):
    """A 403 may come from a proxy: the request is repeated, and the page doesn't say signed out."""
    here = visit()
    here.ours.append("status of 403")
    here.context.add_init_script("delete window.SharedWorker")
    here.context.route("**/api/v1/stream", lambda route: route.fulfill(status=403))
    page = here.page("home")
    refused = []

    def refuse_two(route):
        if len(refused) < 2:
            refused.append(route)
            route.fulfill(status=403)
        else:
            route.continue_()

    page.route("**/api/v1/allstop", refuse_two)
    news = page.get_by_text("No updates for")
    expect(news).to_contain_text("the server answered with status 403")
    expect(news).to_contain_text("ALLSTOP still works")
    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(STOPPED)).to_be_visible()
    expect(page.get_by_text("signed out")).to_have_count(0)
    assert is_stopped(at_work)


def test_k3_the_page_does_not_promise_allstop_while_no_server_answers(at_work, visit):
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    here.context.route("**/api/v1/stream", lambda route: route.abort())
    page = here.page("home")
    news = page.get_by_text("No updates for")
    expect(news).to_contain_text("ALLSTOP still works")

    page.route("**/api/v1/healthz", lambda route: route.abort())

    expect(news).to_contain_text("allstop stop in a terminal", timeout=20_000)
    expect(news).not_to_contain_text("ALLSTOP still works")


def test_u1_resume_replaces_the_button_and_lifts_the_stop(at_work, visit):
    page = visit().page("home")
    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    page.get_by_role("button", name="Resume", exact=True).click()

    expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_visible()
    assert not is_stopped(at_work)


def test_u1_a_stop_empties_the_running_column_and_resume_fills_it_again(at_work, visit):
    here = visit()
    page = here.page("board")
    running = page.get_by_role("region", name="Running").get_by_role("link")
    expect(running).to_have_count(2)

    page.get_by_role("button", name="ALLSTOP").click()
    expect(running).to_have_count(0)
    late = here.page("board")  # it has never seen them at work
    late.get_by_role("button", name="Resume", exact=True).click()

    for tab in (page, late):
        expect(tab.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)


def test_u2_dragging_is_offered_only_with_a_mouse(at_work, visit):
    finger = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("board")
    mouse = visit().page("board")

    mouse.get_by_role("button", name="ALLSTOP").click()

    expect(mouse.get_by_text("Drop a task here to start it")).to_be_visible()
    expect(finger.get_by_text("Nothing is running")).to_be_visible()
    expect(finger.get_by_text("Drop a task here to start it")).to_be_hidden()


def test_u3_a_hidden_tab_without_a_worker_closes_its_stream(at_work, visit):
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    page = here.page("board")
    wait_for(lambda: at_work.listeners() == 1, "one stream")

    hide = "Object.defineProperty(document, 'hidden', {configurable: true, value: %s});"
    page.evaluate(hide % "true" + "document.dispatchEvent(new Event('visibilitychange'))")
    wait_for(lambda: at_work.listeners() == 0, "no stream")
    page.evaluate(hide % "false" + "document.dispatchEvent(new Event('visibilitychange'))")

    wait_for(lambda: at_work.listeners() == 1, "one stream again")


def test_u5_the_page_reconnects_when_the_server_is_back(at_work, visit):
    """A broken stream is resumed, with the events since."""
    here = visit()
    page = here.page("board")
    expect(page.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)
    here.complaints.clear()

    at_work.restart()
    at_work.add(("Written while nobody looked", "ui", "audit"))

    expect(page.get_by_text("Written while nobody looked")).to_be_visible(timeout=30_000)
    here.complaints.clear()


def test_u5_a_failed_fetch_is_repeated_automatically(at_work, visit):
    """Also while the stream is open: its updates apply to the fetched state."""
    here = visit()
    lost = []

    def lose_two(route):
        if len(lost) < 2:
            lost.append(route)
            route.abort()
        else:
            route.continue_()

    here.context.route("**/api/v1/board", lose_two)
    page = here.page("board")
    expect(page.get_by_role("alert")).to_contain_text("can’t be reached")

    expect(page.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)
    assert len(lost) == 2
    here.complaints.clear()


def test_u5_a_page_that_could_not_be_loaded_says_so_and_reloads_later(at_work, visit):
    here = visit()
    page = here.page("home")
    away = re.compile(r"/assets/|/healthz")
    here.context.route(away, lambda route: route.abort())
    page.goto(f"{at_work.url}/#/settings")
    trouble = page.get_by_role("alert")
    expect(trouble).to_contain_text("This page could not be loaded.")

    trouble.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("The server can’t be reached.")).to_be_visible()
    expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_visible()
    here.context.unroute(away)
    trouble.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    here.complaints.clear()


def test_u5_a_shared_stream_that_breaks_is_resumed_for_all_tabs(at_work, visit):
    here = visit()
    tabs = [here.page("board") for _ in range(3)]
    for tab in tabs:
        expect(tab.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)
        assert tab.evaluate("typeof SharedWorker") == "function"
    wait_for(lambda: at_work.listeners() == 1, "one stream for all")

    at_work.restart()
    at_work.add(("Heard by every tab", "ui", "audit"))

    for tab in tabs:
        expect(tab.get_by_text("Heard by every tab")).to_be_visible(timeout=30_000)
    assert at_work.listeners() == 1
    here.complaints.clear()
