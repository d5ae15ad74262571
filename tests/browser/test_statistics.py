"""S5, S7, U5: the page of statistics: charts with tables, the forecast, phone and keyboard."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped, room_below
from browser.conftest import PHONE
from support.history_board import with_history

CHARTS = ("Finished tasks", "Where the time went", "Throughput", "Cost of a merged task")


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = with_history(tmp_path_factory.mktemp("history"))
    yield scene
    scene.person.close()


def chart(page, title):
    return page.get_by_role("region", name=title, exact=True)


def test_s5_the_figures_are_those_of_the_terminal(scene, visit):
    page = visit().page("stats")
    told = scene.person.json("stats")

    main = page.get_by_role("main")
    expect(main).to_contain_text(f"{told['completed']} completed")
    expect(main).to_contain_text(f"{told['remaining']} remaining")
    expect(main).to_contain_text(f"{told['average']:g} on average")
    expect(main).to_contain_text(f"${told['cost_per_merged_usd']:.2f}")
    for title in CHARTS:
        expect(chart(page, title).get_by_role("img")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^slow"))).to_be_visible()
    page.get_by_role("combobox", name="By").select_option("tag")
    expect(page.get_by_role("row", name=re.compile("^docs"))).to_be_visible()


def test_s5_u5_each_chart_says_its_finding_and_shows_its_figures_by_keyboard(visit):
    page = visit().page("stats")

    for title in CHARTS:
        region = chart(page, title)
        label = region.get_by_role("img").get_attribute("aria-label")
        assert re.search(r"\d", label), f"{title} has a finding: {label}"
        button = region.get_by_role("button")
        expect(button).to_have_attribute("aria-expanded", "false")
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        assert region.get_by_role("row").count() > 1
        page.keyboard.press("Enter")
        expect(region.get_by_role("table")).to_have_count(0)


def test_s7_the_forecast_and_what_came_are_shown(scene, visit):
    page = visit().page("stats")
    told = scene.person.json("forecast")
    (latest,) = scene.person.json("stats")["forecasts"]["latest"]

    panel = page.get_by_role("region", name="Forecast", exact=True)
    expect(panel).to_contain_text(f"of {told['tasks']}")
    expect(panel).to_contain_text(f"from {told['attempts']} attempts on this board")
    expect(panel).to_contain_text("8 of 10 end inside the range")
    inside = "inside" if latest["late_s"] == 0 else "later" if latest["late_s"] > 0 else "earlier"
    expect(panel.get_by_role("listitem")).to_contain_text(inside)
    finding = chart(page, "Finished tasks").get_by_role("img")
    expect(finding).to_have_attribute("aria-label", re.compile("are expected between"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_charts_and_their_tables(theme, visit):
    seen = visit(color_scheme=theme)
    sprint = seen.page("sprints/sprint1")
    expect(chart(sprint, "Finished tasks")).to_be_visible()
    assert Axe().run(sprint).violations_count == 0
    page = seen.page("stats")
    for title in CHARTS:
        chart(page, title).get_by_role("button").click()
    page.wait_for_timeout(300)

    violations = Axe().run(page).response["violations"]

    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations] == []


def test_u5_charts_fit_a_phone(visit):
    seen = visit(viewport=PHONE, is_mobile=True, has_touch=True)
    sprint = seen.page("sprints/sprint1")
    expect(chart(sprint, "Finished tasks")).to_be_visible()
    assert clipped(sprint) == []
    page = seen.page("stats")
    for title in CHARTS:
        expect(chart(page, title).get_by_role("img")).to_be_visible()
        chart(page, title).get_by_role("button").click()

    assert clipped(page) == []
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]
    assert room_below(page) == 0


def test_s5_s7_a_sprint_has_its_charts_and_its_forecast_before_the_start(scene, visit):
    told = scene.person.json("stats", "--sprint", "1")
    page = visit().page("sprints/sprint1")

    finding = chart(page, "Finished tasks").get_by_role("img")
    expect(finding).to_have_attribute("aria-label", f"{told['finished']} tasks finished.")
    expect(chart(page, "Where the time went")).to_contain_text("Agents work")
    expect(chart(page, "Cost of each task").get_by_role("img")).to_be_visible()
    page.goto(page.url.replace("sprint1", "new"))
    page.get_by_role("button", name="A number of tasks").click()
    page.get_by_label("Tasks", exact=True).fill("3")
    forecast = page.get_by_role("region", name="Forecast", exact=True)
    expect(forecast).to_contain_text("3 of 12")
    expect(forecast).to_contain_text("of 1 ended inside the range")
    page.get_by_label("Tasks", exact=True).fill("5")
    expect(forecast).to_contain_text("5 of 12")


def test_u5_a_key_opens_the_page(visit):
    page = visit().page("home")
    page.keyboard.press("g")
    page.keyboard.press("t")

    expect(page.get_by_role("heading", level=1)).to_have_text("Statistics")


def test_v11_flaky_tests_and_what_the_gate_caught_are_listed(visit):
    page = visit().page("stats")

    flaky = page.get_by_role("region", name="Flaky tests")
    expect(flaky).to_contain_text("tests/test_webhooks.py::test_waits_grow")
    expect(flaky).to_contain_text("1 failed, 1 passed · both on 1 tree")
    caught = page.get_by_role("region", name="Caught by the gate")
    expect(caught).to_contain_text("runs,")
