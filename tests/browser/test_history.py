"""U2, U5: going back restores the last selection and filter."""

import re

import pytest
from playwright.sync_api import expect

from browser.conftest import PHONE
from browser.test_board_order import card, titles

RUNNING = "Paginate the audit log"
LATER = "Warn before a trial ends"
LONG = "Schifffahrtsgesellschaftskapitän" * 4


@pytest.fixture
def board(visit):
    page = visit().page("board")
    expect(card(page, LATER)).to_be_visible()
    return page


def test_u5_back_on_the_board_the_last_card_is_selected(board):
    card(board, LATER).focus()
    board.keyboard.press("Enter")
    expect(board.get_by_role("heading", level=1, name=LATER)).to_be_focused()

    board.go_back()

    expect(card(board, LATER)).to_be_focused()


def test_u5_the_tab_title_names_the_page(board):
    card(board, LATER).click()

    expect(board).to_have_title(re.compile(rf"^\(\d+\) {LATER} · Task · allstop$"))


def test_u2_the_link_back_to_the_board_keeps_its_filter(scene, board):
    board.get_by_role("searchbox", name="Filter cards").fill("trial")
    expect(titles(board)).to_have_text([LATER])
    card(board, LATER).click()
    board.get_by_role("tab", name="About").wait_for()

    board.keyboard.press("Escape")

    expect(board).to_have_url(f"{scene.url}/#/board?text=trial")
    expect(titles(board)).to_have_text([LATER])


def test_u2_a_filter_shows_its_count_and_can_be_cleared(scene, board):
    everything = len(scene.tasks())
    board.get_by_role("searchbox", name="Filter cards").fill("no such thing")

    expect(board.get_by_text("No matches")).to_have_count(6)
    expect(board.get_by_text(f"0 of {everything}")).to_be_visible()
    board.get_by_role("button", name="Clear").click()
    expect(card(board, LATER)).to_be_visible()
    expect(board).to_have_url(f"{scene.url}/#/board")


def test_u2_on_a_phone_the_link_back_leads_to_the_same_column(visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("board")
    page.get_by_role("button", name="To do").tap()
    card(page, LATER).tap()
    expect(page.get_by_role("heading", level=1, name=LATER)).to_be_visible()

    page.go_back()

    expect(card(page, LATER)).to_be_visible()
    expect(card(page, RUNNING)).to_be_hidden()


def test_u5_a_long_word_in_a_title_is_not_cut(scene, visit):
    scene.add((LONG, "ui", "audit"))
    page = visit(viewport=PHONE).page(f"task/{scene.id_of(LONG)}")
    heading = page.get_by_role("heading", level=1, name=LONG)
    expect(heading).to_be_visible()

    box = heading.bounding_box()
    assert box["x"] + box["width"] <= PHONE["width"]
    assert heading.evaluate("it => it.scrollWidth <= it.clientWidth")
