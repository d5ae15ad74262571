"""Text that people type: focus, drafts, and refused messages."""

import pytest
from playwright.sync_api import expect

from browser.test_board_order import card
from support.person import wait_for

RUNNING = "Paginate the audit log"
WAITING = "Move sessions to Redis"


@pytest.fixture
def board(visit):
    page = visit().page("board")
    expect(card(page, RUNNING)).to_be_visible()
    return page


def test_u5_a_dialog_focuses_its_field_and_returns_the_focus(scene, board):
    board.keyboard.press("n")
    board.keyboard.type("Written with keys alone")
    board.keyboard.press("Enter")
    wait_for(lambda: "Written with keys alone" in scene.titles("pending"), "the new task")
    expect(board.get_by_role("dialog")).to_have_count(0)

    card(board, RUNNING).focus()
    board.keyboard.press("t")
    board.keyboard.type("Mind the cursor.")
    board.keyboard.press("Control+Enter")

    expect(board.get_by_role("dialog")).to_have_count(0)
    expect(card(board, RUNNING)).to_be_focused()


def test_u5_a_selection_that_ends_outside_a_dialog_does_not_close_it(board):
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


def test_u4_drafts_survive_another_page_and_a_reload(scene, board):
    board.keyboard.press("n")
    board.get_by_label("Description").fill("Half a thought")
    board.keyboard.press("Escape")
    board.goto(f"{scene.url}/#/rooms")
    board.get_by_label("Goal").fill("Half a goal")
    board.goto(f"{scene.url}/#/inbox")
    board.get_by_role("article", name=WAITING).get_by_role("textbox").fill("An hour")

    board.reload()

    answer = board.get_by_role("article", name=WAITING).get_by_role("textbox")
    expect(answer).to_have_value("An hour")
    board.goto(f"{scene.url}/#/rooms")
    expect(board.get_by_label("Goal")).to_have_value("Half a goal")
    board.goto(f"{scene.url}/#/board")
    board.get_by_role("button", name="New task").click()
    expect(board.get_by_label("Description")).to_have_value("Half a thought")


def test_u4_a_message_that_could_not_be_sent_stays_in_its_dialog(scene, board):
    board.route("**/commands", lambda route: route.abort())
    card(board, RUNNING).focus()
    board.keyboard.press("t")
    box = board.get_by_role("dialog", name=f"Tell agent: {RUNNING}")
    box.get_by_role("textbox").fill("Not to be lost")
    board.keyboard.press("Control+Enter")
    expect(box.get_by_role("alert")).to_contain_text("can’t be reached")

    board.unroute("**/commands")
    box.get_by_role("button", name="Tell agent").click()

    expect(box).to_have_count(0)
    run = scene.ask(f"/tasks/{scene.id_of(RUNNING)}")["run"]
    wait_for(lambda: "Not to be lost" in str(scene.ask(f"/runs/{run}/events?limit=1000")), "it")


def test_u4_a_refused_new_task_stays_in_its_form(scene, board):
    board.keyboard.press("n")
    box = board.get_by_role("dialog", name="New task")
    box.get_by_label("Title").fill("Needs what is not there")
    box.get_by_label("Needs").fill("T999")
    board.keyboard.press("Enter")

    expect(box.get_by_role("alert")).to_contain_text("T999")
    expect(box.get_by_label("Title")).to_have_value("Needs what is not there")


def test_b19_the_agent_of_a_task_is_set_in_the_form(scene, board):
    board.keyboard.press("n")
    box = board.get_by_role("dialog", name="New task")
    box.get_by_label("Title").fill("For one of them")
    box.get_by_label("Agent").select_option("claude")
    box.get_by_label("Operation").fill("chores")
    board.keyboard.press("Enter")
    wait_for(lambda: "For one of them" in scene.titles("pending"), "the new task")
    task = scene.id_of("For one of them")
    made = scene.ask(f"/tasks/{task}")
    assert (made["agent"], made["operation"]) == ("claude", "chores")

    board.goto(f"{scene.url}/#/task/{task}")
    board.get_by_role("button", name="Edit").click()
    board.get_by_label("Agent").select_option("gpt")
    board.get_by_role("button", name="Save").click()

    wait_for(lambda: scene.ask(f"/tasks/{task}")["agent"] == "gpt", "the other agent")
    assert scene.ask(f"/tasks/{task}")["operation"] == "chores"
