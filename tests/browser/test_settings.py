"""Settings in a real browser: search, change, refusal and reset."""

import pytest
from playwright.sync_api import expect

from browser.conftest import PHONE
from support.person import at_home
from support.sample_board import SampleBoard

FILE = """\
# Ours: keep this.
[agents.demo]
driver = "scripted"
script = "script.toml"   # <img src=x onerror=alert(1)>

[loop]
max_parallel = 2   # enough
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("settings")))
    scene.person.script("")
    scene.open()
    yield scene
    scene.person.close()


@pytest.fixture
def file(scene):
    path = scene.person.repository / "allstop.toml"
    path.write_text(FILE)
    return path


def find(page, key):
    page.get_by_role("searchbox", name="Find a setting").fill(key)
    return page.get_by_role("listitem").filter(has_text=key)


def test_u2_a_setting_is_changed_in_the_file_by_keys_alone_and_reset(file, visit):
    page = visit().page("settings")
    page.keyboard.press("/")
    page.keyboard.type("max_parallel")
    row = find(page, "loop.max_parallel")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("allstop.toml:7")

    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("5")
    page.keyboard.press("Enter")

    expect(page.get_by_text("Saved: loop.max_parallel")).to_be_visible()
    expect(page.get_by_role("button", name="Change loop.max_parallel")).to_be_focused()
    assert file.read_text() == FILE.replace("= 2 ", "= 5 ")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Reset to default").click()
    expect(page.get_by_text("Reset: loop.max_parallel")).to_be_visible()
    assert file.read_text() == FILE.replace("max_parallel = 2   # enough\n", "")


def test_u2_an_invalid_value_is_refused_at_its_field(file, visit):
    page = visit().page("settings")
    find(page, "loop.max_parallel").get_by_role("button", name="Change").click()

    page.get_by_label("loop.max_parallel", exact=True).fill("many")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_contain_text("whole number from 1")
    expect(page.get_by_label("loop.max_parallel", exact=True)).to_have_value("many")
    assert file.read_text() == FILE


def test_u2_a_change_made_meanwhile_is_not_lost(file, visit):
    page = visit().page("settings")
    find(page, "loop.max_parallel").get_by_role("button", name="Change").click()
    file.write_text(FILE + "# hers\n")

    page.get_by_label("loop.max_parallel", exact=True).fill("4")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("was changed meanwhile")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved: loop.max_parallel")).to_be_visible()
    assert file.read_text() == FILE.replace("= 2 ", "= 4 ") + "# hers\n"


def test_u2_a_setting_that_needs_trust_says_so_before_and_after(file, visit):
    page = visit().page("settings")
    row = find(page, "sandbox.mode")
    row.get_by_role("button", name="Change").click()
    expect(row).to_contain_text("It may need allstop trust")

    page.get_by_label("sandbox.mode", exact=True).select_option("off")
    page.get_by_role("button", name="Save").click()

    expect(row).to_contain_text("In the file: off, not in effect yet: it needs allstop trust")


def test_u2_the_search_is_kept_in_the_address_and_can_show_only_changed_settings(file, visit):
    page = visit().page("settings")

    page.get_by_label("Only changed settings").check()
    find(page, "loop")
    page.reload()

    expect(page.get_by_role("searchbox", name="Find a setting")).to_have_value("loop")
    expect(page.get_by_role("listitem").filter(has_text="loop.max_parallel")).to_have_count(1)
    expect(page.get_by_role("listitem").filter(has_text="loop.idle_seconds")).to_have_count(0)


def test_u5_the_theme_is_chosen_on_a_phone_too(visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("settings")

    page.get_by_label("Theme").select_option("dark")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_label("Theme")).to_have_value("dark")
