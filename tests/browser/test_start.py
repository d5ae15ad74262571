"""The guided start in a real browser, from nothing to a running task."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.person import at_home, wait_for
from support.sample_board import SampleBoard


@pytest.fixture
def scene(tmp_path):
    scene = SampleBoard(at_home(tmp_path))
    (scene.person.repository / "allstop.toml").unlink(missing_ok=True)
    scene.open()
    yield scene
    scene.person.close()


def test_u4_the_guided_start_ends_with_a_first_task_on_the_scripted_agent(scene, visit):
    page = visit().page("home")

    expect(page.get_by_role("heading", level=1)).to_have_text("Start")
    here = page.get_by_role("region", name="Requirements")
    expect(here).to_contain_text("git")
    expect(here).to_contain_text("sandbox")
    expect(page.get_by_role("radio", name="scripted")).to_be_checked()
    page.get_by_role("button", name="Write allstop.toml").click()
    expect(page.get_by_role("region", name="Agent")).to_contain_text("allstop.toml exists")
    page.get_by_label("What should be done?").fill("Greet <b>whoever</b> reads this")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Greet <b>whoever</b> reads this")
    expect(page.get_by_role("log")).to_contain_text("did: wrote hello-from-allstop.md")
    wait_for(lambda: scene.titles("review"), "its review", 60)
    assert "[agents.scripted]" in (scene.person.repository / "allstop.toml").read_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_the_guided_start(theme, visit):
    page = visit(viewport=PHONE, color_scheme=theme).page("start")
    page.get_by_role("button", name="Write allstop.toml").wait_for()

    assert [rule["id"] for rule in Axe().run(page).response["violations"]] == []
    assert clipped(page) == []
