"""B19: remedies for a failed task, by the keys of the board and the buttons of its page."""

import pytest
from playwright.sync_api import expect

from support.person import wait_for

FAILED = "Cache avatars at the edge"
BLOCKED = "Drop Python 3.9"


@pytest.fixture
def at_card(scene, visit):
    """The board, with the card of this task selected."""

    def go(title):
        page = visit().page("board")
        page.locator(f"#card-{scene.id_of(title)}").focus()
        return page

    return go


def confirm(page, label):
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=label).click()
    expect(dialog).to_have_count(0)


def test_b19_remedies_depend_on_the_failure(scene, visit):
    """The model refused the request: neither a higher limit nor a retry helps."""
    page = visit().page("inbox")
    failed = page.get_by_role("article", name=FAILED)

    expect(failed).to_contain_text("A retry would fail in the same way")
    for label, count in (("Edit", 1), ("Retry", 1), ("Raise the limit", 0)):
        expect(failed.get_by_role("button", name=f"{label}: {FAILED}")).to_have_count(count)
    page.evaluate("where => { location.hash = where }", f"#/task/{scene.id_of(FAILED)}")
    tools = page.get_by_role("toolbar", name="Actions")
    expect(tools.locator(".first")).to_contain_text("Edit")
    expect(tools.get_by_role("button", name="Raise the limit")).to_have_count(0)


def test_b19_limits_are_raised_and_the_workspace_is_cleaned_up_by_keys(scene, at_card):
    task = scene.id_of(FAILED)
    workspace = scene.person.repository / ".allstop" / "workspaces" / task
    assert workspace.is_dir()
    page = at_card(FAILED)

    page.keyboard.press("+")
    wait_for(lambda: scene.ask(f"/tasks/{task}")["iterations"] == 75, "more iterations")
    page.keyboard.press("X")
    expect(page.get_by_role("dialog")).to_contain_text("a git ref keeps")
    assert workspace.is_dir(), "it asks first"
    confirm(page, "Clean up")

    wait_for(lambda: not workspace.exists(), "the workspace to go")
    found = scene.ask(f"/tasks/{task}")
    assert (found["status"], found["minutes"]) == ("failed", 45.0)


def test_b19_a_task_is_rolled_back_and_then_skipped_by_keys(scene, at_card):
    task = scene.id_of(BLOCKED)
    page = at_card(BLOCKED)

    page.keyboard.press("R")
    confirm(page, "Roll back")
    wait_for(lambda: scene.ask(f"/tasks/{task}")["status"] == "pending", "it to be pending")
    assert scene.ask(f"/tasks/{task}")["held"]
    page.locator(f"#card-{task}").focus()
    page.keyboard.press("x")

    wait_for(lambda: scene.ask(f"/tasks/{task}")["status"] == "skipped", "it to be skipped")


def test_b19_a_task_is_edited_and_retried_and_split_by_keys(scene, at_card):
    """There is no free slot: the task waits with its new text and can be split."""
    task = scene.id_of(FAILED)
    page = at_card(FAILED)

    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name=f"Edit {task}")
    dialog.get_by_label("Description").fill("Only the small ones.")
    dialog.get_by_role("button", name="Save and retry").click()
    wait_for(lambda: scene.ask(f"/tasks/{task}")["status"] == "pending", "it to be tried again")
    found = scene.ask(f"/tasks/{task}")
    assert (found["body"], found["retries"], found["held"]) == ("Only the small ones.", 1, False)
    page.locator(f"#card-{task}").focus()
    page.keyboard.press("S")
    page.get_by_role("dialog").get_by_role("textbox").fill("Small avatars\nLarge avatars")
    confirm(page, "Split")

    wait_for(lambda: scene.titles("cancelled") == {FAILED}, "the parts to take its place")
    assert {"Small avatars", "Large avatars"} <= scene.titles("pending")


def test_b19_a_task_page_has_the_same_keys(scene, visit):
    page = visit().page(f"task/{scene.id_of('Move sessions to Redis')}")

    page.keyboard.press("?")

    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    for does in ("Clean up its workspace", "Raise its limits by half", "Skip or reject"):
        expect(keys).to_contain_text(does)
