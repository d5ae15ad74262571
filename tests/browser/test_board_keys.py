"""U2, U5: drags between columns, and the keys of a card."""

import pytest
from playwright.sync_api import expect

from browser.conftest import PHONE
from browser.test_board_order import card, middle, titles
from support.person import wait_for

REVIEW = "Explain rate limits in the documentation"
RUNNING = "Paginate the audit log"


def carry(page, title, column):
    """Presses on a card and moves it over a column, without releasing it."""
    page.mouse.move(*middle(card(page, title)))
    page.mouse.down()
    x, y = middle(page.locator(f"[data-column={column}]"))
    page.mouse.move(x, y - 30, steps=4)
    page.mouse.move(x, y, steps=4)


@pytest.fixture
def board(visit):
    page = visit().page("board")
    expect(titles(page)).not_to_have_count(0)
    return page


def test_u2_escape_cancels_a_drag(scene, board):
    title = titles(board).first.inner_text()
    carry(board, title, "running")
    expect(board.locator(".ghost")).to_have_text(title)
    expect(board.locator(".column.target h2")).to_contain_text("Running")

    board.keyboard.press("Escape")
    expect(board.locator(".ghost")).to_have_count(0)
    board.mouse.up()

    expect(board).to_have_url(f"{scene.url}/#/board")
    assert not scene.ask(f"/tasks/{scene.id_of(title)}")["assigned"]


def test_u2_a_card_dropped_in_an_unsuitable_column_stays(scene, board):
    carry(board, RUNNING, "done")
    board.mouse.up()

    expect(board.locator(".ghost")).to_have_count(0)
    expect(board.get_by_role("dialog")).to_have_count(0)
    assert scene.ask(f"/tasks/{scene.id_of(RUNNING)}")["status"] == "active"


def test_u2_touch_scrolls_and_does_not_drag(scene, visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("board")
    page.get_by_role("button", name="To do").tap()

    titles(page).first.tap()

    expect(page.get_by_role("tablist", name="Parts of this task")).to_be_visible()


def test_u5_keys_pin_and_start_a_task_and_message_its_agent(scene, board):
    task = scene.id_of(titles(board).last.inner_text())
    board.locator(f"#card-{task}").focus()

    board.keyboard.press("p")
    wait_for(lambda: scene.ask(f"/tasks/{task}")["pinned"], "its place in front")
    expect(titles(board).first.locator("xpath=..")).to_have_id(f"card-{task}")
    board.keyboard.press("p")
    wait_for(lambda: not scene.ask(f"/tasks/{task}")["pinned"], "its old place")
    board.keyboard.press("s")
    wait_for(lambda: scene.ask(f"/tasks/{task}")["assigned"], "it to be started")

    card(board, RUNNING).focus()
    board.keyboard.press("t")
    box = board.get_by_role("dialog", name=f"Tell agent: {RUNNING}")
    box.get_by_role("textbox").fill("Page by cursor.")
    board.keyboard.press("Control+Enter")
    expect(box).to_have_count(0)
    run = scene.ask(f"/tasks/{scene.id_of(RUNNING)}")["run"]
    wait_for(lambda: "Page by cursor." in str(scene.ask(f"/runs/{run}/events?limit=1000")), "it")


def test_u5_the_arrows_go_from_column_to_column(scene, board):
    titles(board).first.locator("xpath=..").focus()

    board.keyboard.press("ArrowRight")
    expect(board.get_by_role("region", name="Running").locator(".chosen")).to_have_count(1)
    board.keyboard.press("ArrowDown")
    board.keyboard.press("ArrowLeft")

    expect(board.get_by_role("region", name="To do").locator(".chosen")).to_have_count(1)


def test_u2_a_drag_from_review_to_merging_approves(scene, board):
    carry(board, REVIEW, "merging")
    board.mouse.up()

    wait_for(lambda: REVIEW in scene.titles("done"), "it to be merged", 60)
