"""M5: the page of the merge queue: the batch, its members, what runs, why one was thrown out."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.queue_board import BATCH, LEFT_OUT, OUT, WAITS, merging


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = merging(tmp_path_factory.mktemp("queue"))
    yield scene
    scene.person.close()


def part(page, name):
    return page.get_by_role("region", name=name)


def row(page, name, title):
    return part(page, name).get_by_role("listitem").filter(has_text=title)


def test_m5_the_page_shows_the_batch_and_what_runs(visit):
    page = visit().page("queue")

    now = part(page, "Merging")
    expect(now).to_contain_text("3 changes to main")
    expect(now.get_by_role("status")).to_contain_text("runs Unit tests")
    expect(now.get_by_role("list", name="Checks")).to_contain_text("Unit tests running")
    for title in BATCH:
        expect(row(page, "Merging", title)).to_contain_text("merged in")
    expect(row(page, "Merging", LEFT_OUT)).to_contain_text("the next batch begins with it")


def test_m5_it_shows_who_waits_and_how_large_a_batch_may_be(visit):
    page = visit().page("queue")

    expect(row(page, "Waiting", WAITS)).to_have_count(1)
    expect(part(page, "Waiting")).to_contain_text("main: at most")
    expect(part(page, "Waiting")).to_contain_text("1 of the last 2 failed")


def test_m5_it_says_why_a_change_was_thrown_out_and_what_became_of_it(visit):
    page = visit().page("queue")

    out = row(page, "Thrown out", OUT)
    expect(out).to_contain_text("merged with main, it fails: Unit tests")
    expect(out).to_contain_text("running now")


def test_m5_the_board_leads_to_the_queue_and_so_do_keys(visit):
    page = visit().page("board")
    part(page, "Merging").get_by_role("link", name="Queue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Merge queue")

    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page.get_by_role("heading", level=1)).to_have_text("Board")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", level=1)).to_have_text("Merge queue")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_m5_axe_finds_nothing_wrong_with_a_full_queue(theme, visit):
    page = visit(color_scheme=theme).page("queue")
    expect(row(page, "Thrown out", OUT)).to_have_count(1)

    assert Axe().run(page).response["violations"] == []


def test_m5_nothing_is_cut_on_a_phone(visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("queue")
    expect(row(page, "Thrown out", OUT)).to_have_count(1)

    assert clipped(page) == []


def test_m5_the_terminal_shows_the_same_queue(scene):
    said = scene.person.allstop("queue")

    assert "Merging: 3 changes to main; runs Unit tests" in said
    assert f"Waiting: 1, the next one first\n○ {scene.id_of(WAITS):<8} {WAITS}" in said
    assert "can't be merged with the changes before it; the next batch begins with it" in said
    assert "merged with main, it fails: Unit tests" in said
    assert json.loads(scene.person.allstop("queue", "--json"))["merge"]["checks"] == ["Unit tests"]
