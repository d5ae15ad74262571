"""Allstop in the page: with ten tabs, with a broken stream, and until it is heard."""

import re

import pytest
from playwright.sync_api import expect

from browser.conftest import DESKTOP, PHONE
from support.person import wait_for

STOPPED = re.compile(r"^stopped in \d+ ms$")


@pytest.fixture
def at_work(scene):
    """Everything goes on again, whatever a test before this one did."""
    if scene.ask("/hold")["hold"] != "running":
        scene.tell("all", "resume")
        scene.work()
    return scene


def is_stopped(scene):
    return scene.ask("/hold")["hold"] == "stopped"


def test_u1_one_click_stops_everything_with_ten_tabs_open(at_work, visit):
    """U1: one stream for all tabs; a click in the last one is heard and shown in all."""
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


def test_u1_the_shortcut_stops_even_while_somebody_types(at_work, visit):
    page = visit().page("board")
    page.get_by_role("searchbox", name="Filter cards").fill("pag")

    page.keyboard.press("Control+Shift+Period")

    expect(page.get_by_text(STOPPED)).to_be_visible()
    assert is_stopped(at_work)


def test_u1_allstop_works_without_a_stream_and_says_that_news_are_missing(at_work, visit):
    """The page is alone, without shared workers, and its stream can't be had."""
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    here.context.route("**/api/v1/stream", lambda route: route.abort())
    page = here.page("home")
    expect(page.get_by_text("No news for")).to_contain_text("ALLSTOP still works")

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(STOPPED)).to_be_visible()
    assert is_stopped(at_work)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_u1_one_click_stops_while_a_box_is_open(at_work, visit, size):
    page = visit(viewport=size).page("board")
    button = page.get_by_role("button", name="ALLSTOP", exact=True).bounding_box()
    page.get_by_role("button", name="New task").click()
    page.get_by_label("Title").fill("Not to be lost")

    page.mouse.click(button["x"] + button["width"] / 2, button["y"] + button["height"] / 2)

    wait_for(lambda: is_stopped(at_work), "the stop")
    expect(page.get_by_label("Title")).to_have_value("Not to be lost")


def test_u1_without_news_the_button_is_there_although_it_was_pressed_before(at_work, visit):
    """Somebody may have resumed since: the page can't know."""
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


def test_u1_on_a_phone_what_the_button_says_can_be_read(at_work, visit):
    here = visit(viewport={"width": 320, "height": 600}, is_mobile=True, has_touch=True)
    page = here.page("home")
    expect(page.get_by_role("list", name="At a glance")).to_contain_text("2 runs")
    button = page.get_by_role("button", name="ALLSTOP", exact=True)
    assert button.bounding_box()["y"] < 20  # in the first row, however narrow it is
    page.route("**/api/v1/allstop", lambda route: route.abort())
    button.tap()

    said = page.get_by_text("run `allstop stop` in a terminal")
    expect(said).to_be_visible()
    box, around = said.bounding_box(), page.get_by_role("banner").bounding_box()
    assert around["y"] <= box["y"]
    assert box["y"] + box["height"] <= around["y"] + around["height"]
    page.unroute("**/api/v1/allstop")
    wait_for(lambda: is_stopped(at_work), "the stop")


def test_u1_allstop_is_said_until_it_is_heard(at_work, visit):
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


def test_k3_a_browser_that_is_signed_out_is_told_what_stops_everything(at_work, visit):
    here = visit()
    here.ours.append("status of 401")
    page = here.page("home")
    expect(page.get_by_role("list", name="At a glance")).to_contain_text("2 runs")
    here.context.clear_cookies()

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text("signed out: run `allstop stop` in a terminal")).to_be_visible()
    assert not is_stopped(at_work)


def test_k3_only_who_is_not_known_is_told_that_they_are_signed_out(at_work, visit):
    """A 403 is of a proxy or of a request gone wrong: it is tried again, and no lie is told."""
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
    news = page.get_by_text("No news for")
    expect(news).to_contain_text("the server answers 403")
    expect(news).to_contain_text("ALLSTOP still works")
    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(STOPPED)).to_be_visible()
    expect(page.get_by_text("signed out")).to_have_count(0)
    assert is_stopped(at_work)


def test_k3_nobody_is_told_that_allstop_works_while_no_server_answers(at_work, visit):
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    here.context.route("**/api/v1/stream", lambda route: route.abort())
    page = here.page("home")
    news = page.get_by_text("No news for")
    expect(news).to_contain_text("ALLSTOP still works")

    page.route("**/api/v1/healthz", lambda route: route.abort())

    expect(news).to_contain_text("allstop stop in a terminal", timeout=20_000)
    expect(news).not_to_contain_text("ALLSTOP still works")


def test_u1_resume_takes_the_place_of_the_button_and_lifts_the_stop(at_work, visit):
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


def test_u2_dragging_is_offered_only_where_there_is_something_to_drag_with(at_work, visit):
    finger = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("board")
    mouse = visit().page("board")

    mouse.get_by_role("button", name="ALLSTOP").click()

    expect(mouse.get_by_text("Drop a task here to start it")).to_be_visible()
    expect(finger.get_by_text("Nothing runs")).to_be_visible()
    expect(finger.get_by_text("Drop a task here to start it")).to_be_hidden()


def test_u3_a_tab_without_a_worker_lets_go_of_its_stream_while_nobody_looks(at_work, visit):
    here = visit()
    here.context.add_init_script("delete window.SharedWorker")
    page = here.page("board")
    wait_for(lambda: at_work.listeners() == 1, "one stream")

    hide = "Object.defineProperty(document, 'hidden', {configurable: true, value: %s});"
    page.evaluate(hide % "true" + "document.dispatchEvent(new Event('visibilitychange'))")
    wait_for(lambda: at_work.listeners() == 0, "no stream")
    page.evaluate(hide % "false" + "document.dispatchEvent(new Event('visibilitychange'))")

    wait_for(lambda: at_work.listeners() == 1, "one stream again")


def test_u5_the_page_goes_on_when_the_server_comes_back(at_work, visit):
    """A stream that broke off is taken up again, with what happened meanwhile."""
    here = visit()
    page = here.page("board")
    expect(page.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)
    here.complaints.clear()

    at_work.restart()
    at_work.add(("Written while nobody looked", "ui", "audit"))

    expect(page.get_by_text("Written while nobody looked")).to_be_visible(timeout=30_000)
    here.complaints.clear()


def test_u5_what_could_not_be_fetched_is_fetched_again_by_itself(at_work, visit):
    """Also while the stream is open: what it says comes on top of what was fetched."""
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
    expect(page.get_by_role("alert")).to_contain_text("not reachable")

    expect(page.get_by_role("region", name="Running").get_by_role("link")).to_have_count(2)
    assert len(lost) == 2
    here.complaints.clear()


def test_u5_a_page_that_can_not_be_loaded_says_so_and_comes_once_the_server_answers(at_work, visit):
    here = visit()
    page = here.page("home")
    away = re.compile(r"/assets/|/healthz")
    here.context.route(away, lambda route: route.abort())
    page.goto(f"{at_work.url}/#/settings")
    trouble = page.get_by_role("alert")
    expect(trouble).to_contain_text("This page could not be loaded.")

    trouble.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("The server is not reachable.")).to_be_visible()
    expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_visible()
    here.context.unroute(away)
    trouble.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    here.complaints.clear()


def test_u5_a_cut_stream_that_tabs_share_is_taken_up_again_for_all_of_them(at_work, visit):
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
