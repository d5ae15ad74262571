"""Z9, Z8: the page of machines: slots, load, what runs where, last sign of life, drain."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.fleet_workers import fleet_at_work
from support.person import wait_for
from support.postgres_fixtures import postgres

__all__ = ["postgres"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory, postgres):
    fleet = fleet_at_work(tmp_path_factory.mktemp("fleet"), postgres)
    yield fleet
    fleet.close()


def test_z9_each_machine_shows_its_slots_load_work_and_last_sign_of_life(visit):
    page = visit().page("machines")

    first = page.get_by_role("region", name="build-1")
    expect(first).to_contain_text("online")
    expect(first).to_contain_text("gpu")
    expect(first).to_contain_text("4 slots free")
    expect(first).to_contain_text("14 G of 32 G")
    expect(first).to_contain_text(re.compile(r"heard \d+s ago"))
    expect(page.get_by_role("region", name="build-2")).to_contain_text("93 %")
    lost = page.get_by_role("region", name="office-mini")
    expect(lost).to_contain_text("lost")
    expect(lost.get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("Search invoices by customer")).to_be_visible()
    expect(page.get_by_text("of 6 on 2 machines")).to_be_visible()
    nav = page.get_by_role("navigation", name="Pages")
    expect(nav.get_by_role("link", name="Machines")).to_have_attribute("aria-current", "page")


def test_z8_a_worker_is_drained_by_button_and_by_key(scene, visit):
    page = visit().page("machines")
    first = page.get_by_role("region", name="build-1")

    first.get_by_role("button", name="Drain").click()
    expect(first).to_contain_text("draining")
    expect(first).to_contain_text("4 slots closed")
    wait_for(lambda: scene.busy.drained_by == "the control room", "the worker to hear of it")
    page.keyboard.press("d")
    expect(first).to_contain_text("online")
    wait_for(lambda: scene.busy.drained_by == "", "the worker to hear of it")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_z9_axe_finds_nothing_wrong_with_the_page_of_machines(theme, visit):
    page = visit(color_scheme=theme).page("machines")
    expect(page.get_by_role("region", name="build-1")).to_be_visible()
    page.wait_for_timeout(300)

    violations = Axe().run(page).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations] == []


def test_z9_the_page_of_machines_fits_a_phone(visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("machines")
    expect(page.get_by_role("region", name="build-1")).to_be_visible()

    assert clipped(page) == []
