"""Every page in a real browser: both themes, a phone, the keyboard, and axe."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped, room_below
from browser.conftest import PHONE
from project import project_files

SOURCES = project_files.ROOT / "web" / "src"
PAGES = [
    name
    for file in (SOURCES / "pages" / "index.ts", *sorted((SOURCES / "kinds").glob("*.ts")))
    for name in re.findall(r"(?:\{ |^ +)name: '([\w-]+)'", project_files.text(file), re.MULTILINE)
]
TASK_TABS = ("log", "changes", "attempts", "about")


def addresses(scene):
    """Every page, and a task under each of its tabs."""
    waiting = scene.id_of("Move sessions to Redis")
    finished = scene.id_of("Answer 404 for unknown users")
    tasks = [f"task/{finished}?tab={tab}" for tab in TASK_TABS]
    return [*(name for name in PAGES if name != "task"), f"task/{waiting}", *tasks]


def turn_to(page, where):
    """Opens a page and waits until it is loaded and has faded in."""
    page.evaluate("where => { location.hash = `#/${where}` }", where)
    expect(page.get_by_text(re.compile(r"^Loading "))).to_have_count(0)
    page.wait_for_timeout(300)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_any_page(theme, scene, visit):
    here = visit(color_scheme=theme)
    found = {}
    page = here.page()
    for where in addresses(scene):
        turn_to(page, where)
        violations = Axe().run(page).response["violations"]
        found[where] = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]

    assert {where: rules for where, rules in found.items() if rules} == {}


def test_u5_no_page_is_wider_than_a_phone(scene, visit):
    here = visit(viewport=PHONE, is_mobile=True, has_touch=True)
    page = here.page()
    for where in addresses(scene):
        turn_to(page, where)
        assert clipped(page) == [], where
        assert room_below(page) == 0, where
        expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_in_viewport()
    pages = page.get_by_role("navigation", name="Pages")
    ways = pages.get_by_role("link")
    expect(ways).to_have_count(4)
    pages.get_by_role("button", name="More").click()
    assert ways.count() > 8
    for number in range(ways.count()):
        expect(ways.nth(number)).to_be_in_viewport(ratio=1)
    assert clipped(page) == []
    ways.filter(has_text="History").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("History")
    expect(ways).to_have_count(4)


def test_u1_the_header_shows_runs_inbox_and_usage(visit):
    page = visit().page()
    glance = page.get_by_role("list", name="At a glance")

    expect(glance).to_contain_text("2 running")
    expect(glance).to_contain_text(re.compile(r"\$0\.\d\d\sof\s\$5\.00"))
    expect(page.get_by_role("banner")).to_contain_text("project")


def test_k7_usage_is_shown_by_agent_and_by_task(visit):
    page = visit().page()
    page.get_by_role("link", name="Usage details").click()

    def line(name):
        return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))

    expect(line("demo")).to_contain_text("$0.")
    page.get_by_role("combobox", name="By").select_option("task")
    expect(line("Answer 404")).to_contain_text("$0.18")
    expect(line("total")).to_contain_text("$0.")
    expect(page.get_by_role("main")).to_contain_text("1 task merged: $0.18 per task")
    page.get_by_role("link", name="Answer 404").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Answer 404 for unknown users")


def test_u2_the_board_has_a_column_for_each_stage_and_cards_with_facts(visit):
    page = visit().page("board")

    def column(name):
        return page.get_by_role("region", name=name)

    expect(column("To do").get_by_role("link")).to_have_count(4)
    expect(column("Needs you").get_by_role("link")).to_have_count(3)
    expect(column("Review")).to_contain_text("Explain rate limits")
    running = column("Running").get_by_role("link", name="Paginate the audit log")
    expect(running).to_contain_text("demo")
    expect(running).to_contain_text("↻ 1")
    expect(running).to_contain_text("$0.23")


def test_u5_the_board_can_be_used_with_keys_alone(visit):
    page = visit().page("board")
    expect(page.get_by_role("region", name="To do").get_by_role("link")).to_have_count(4)

    for key in ("j", "j", "ArrowRight", "k"):
        page.keyboard.press(key)
    chosen = page.locator(".card.chosen")
    expect(chosen).to_be_focused()
    expect(page.get_by_role("region", name="Running").locator(".chosen")).to_have_count(1)
    title = chosen.locator(".title").inner_text()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_u5_keys_go_from_page_to_page_and_are_listed(visit):
    page = visit().page("home")

    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page.get_by_role("heading", level=1)).to_have_text("Board")
    page.keyboard.press("g")
    page.keyboard.press("u")
    expect(page.get_by_role("heading", level=1)).to_have_text("Usage")
    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page.get_by_role("heading", level=1)).to_have_text("Board")
    page.keyboard.press("?")

    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("ALLSTOP: stop everything now")
    expect(keys).to_contain_text("Roll back")
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)


def test_a_filter_shows_matching_cards_and_is_kept_in_the_address(visit):
    page = visit().page("board")
    box = page.get_by_role("searchbox", name="Filter cards")
    expect(page.locator(".card")).to_have_count(11)

    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("invoices")

    expect(page.locator(".card")).to_have_count(1)
    page.reload()
    expect(page.locator(".card")).to_have_count(1)
    expect(box).to_have_value("invoices")


def test_u2_a_task_shows_its_log_its_gate_and_its_diff(scene, visit):
    finished = scene.id_of("Answer 404 for unknown users")
    page = visit().page(f"task/{finished}")

    expect(page.get_by_role("log")).to_contain_text("task opened: Answer 404")
    gate = page.get_by_role("region", name="Verification")
    expect(gate.get_by_role("listitem")).to_have_count(2)
    expect(gate).to_contain_text(re.compile(r"✓\s*Unit tests\s*passed\s*\(\ds / 600s\)"))
    page.get_by_role("tab", name="Changes").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("users.py")
    expect(page.get_by_role("tabpanel")).to_contain_text("return 404")
    page.get_by_role("radio", name="side by side").check()
    expect(page.locator("table.wide")).to_have_count(1)


def test_u2_home_names_tasks_by_their_titles(visit):
    page = visit().page()
    feed = page.get_by_role("log", name="Log of all runs")

    expect(feed).to_contain_text("Move sessions to Redis")
    expect(feed).to_contain_text("waits: asks: How long")
    expect(feed).not_to_contain_text("board/T")
    offers = page.locator("article .options .button:first-child")
    assert len({round(offers.nth(n).bounding_box()["x"]) for n in range(offers.count())}) == 1
