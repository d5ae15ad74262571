"""Words that people type: at once, not lost on the way, and kept where they were refused."""

import pytest
from playwright.sync_api import expect

from browser.test_board_order import card
from people import wait_for

RUNNING = "Paginate the audit log"
WAITING = "Move sessions to Redis"


@pytest.fixture
def board(visit):
    page = visit().page("board")
    expect(card(page, RUNNING)).to_be_visible()
    return page


def test_u5_a_box_takes_words_at_once_and_gives_the_focus_back(scene, board):
    board.keyboard.press("n")
    board.keyboard.type("Written with keys alone")
    board.keyboard.press("Enter")
    wait_for(lambda: "Written with keys alone" in scene.titles("pending"), "the new task")

    card(board, RUNNING).focus()
    board.keyboard.press("t")
    board.keyboard.type("Mind the cursor.")
    board.keyboard.press("Control+Enter")

    expect(board.get_by_role("dialog")).to_have_count(0)
    expect(card(board, RUNNING)).to_be_focused()


def test_u5_a_selection_that_ends_outside_a_box_does_not_close_it(board):
    board.keyboard.press("n")
    box = board.get_by_role("dialog", name="New task")
    title = box.get_by_label("Title").bounding_box()
    board.mouse.move(title["x"] + 20, title["y"] + 10)
    board.mouse.down()
    board.mouse.move(10, title["y"] + 10, steps=3)
    board.mouse.up()
    expect(box).to_be_visible()

    board.mouse.click(10, title["y"] + 10)

    expect(box).to_have_count(0)
