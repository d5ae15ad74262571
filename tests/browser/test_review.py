"""S4, S8, B21: the review queue, its keys, the second key, and the evidence on one page."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped, room_below
from browser.conftest import PHONE, Visit
from support.person import at_home, wait_for
from support.review_board import (
    ALSO_CLEAN,
    CLEAN,
    GUARDED,
    LOOK,
    ReviewBoard,
    disagree,
    in_review,
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Four tasks in review; the tests of this board decide nothing."""
    scene = in_review(tmp_path_factory.mktemp("review"))
    yield scene
    scene.person.close()


@pytest.fixture
def own(tmp_path, browser):
    """A board of the test's own, and its page."""
    made = []

    def make(*titles):
        scene = in_review(tmp_path, *titles)
        visit = Visit(browser, scene)
        made.append((scene, visit))
        return scene, visit.page("review")

    yield make
    for scene, visit in made:
        visit.close()
        scene.person.close()


def chosen(page):
    return page.get_by_role("region", name="Waiting for your decision").locator("[aria-current]")


def test_s8_the_queue_has_the_worst_first_and_the_evidence_stands_beside(scene, visit):
    page = visit().page("review")
    queue = page.get_by_role("region", name="Waiting for your decision")

    expect(queue.get_by_role("heading")).to_have_text(
        ["✗ Serious finding · 1", "! To look at · 1", "✓ Nothing found · 2"], use_inner_text=True
    )
    expect(chosen(page)).to_contain_text(GUARDED)
    expect(chosen(page)).to_contain_text("Guarded file changed: tests/test_webhooks.py")
    case = page.get_by_role("region", name=GUARDED)
    expect(case).to_contain_text("Try again up to 5 times")
    criteria = case.get_by_role("region", name="Acceptance criteria")
    expect(criteria).to_contain_text("1 of 2")
    expect(criteria).to_contain_text("tests/test_webhooks.py::test_waits_grow")
    expect(criteria).to_contain_text("unknown")
    expect(case.get_by_role("region", name="Checks")).to_contain_text("Unit tests passed")
    expect(case.get_by_role("region", name="Findings")).to_contain_text("✗ Serious")
    note = case.get_by_role("region", name="Findings").locator(".finding.note")
    expect(note).to_contain_text("Weaker assertion")
    expect(note.locator("code.before")).to_contain_text("assert next_wait(9) == 5.0")
    expect(note.locator("code.now")).to_contain_text("assert next_wait(1) <= next_wait(9)")
    expect(case.get_by_role("region", name="Checks")).to_contain_text("Receipt ")
    said = case.get_by_role("region", name="Said last, and cost")
    expect(said).to_contain_text("I simplified one brittle assertion.")
    expect(said).to_contain_text("$0.62")
    files = case.locator("summary")
    expect(files).to_have_count(3)
    assert [file.split()[0] for file in files.all_inner_texts()] == ["guarded", "product", "rest"]
    assert room_below(page) == 0


def test_s4_the_diff_has_syntax_colours_and_two_layouts(scene, visit):
    page = visit().page("review")
    case = page.get_by_role("region", name=GUARDED)

    expect(case.locator("td.text .keyword", has_text="def")).to_have_count(2)
    expect(case.locator("td.text .comment")).to_have_text("# Waits grow with every attempt.")
    wide = case.locator("table.wide")
    before = wide.count()
    page.keyboard.press("v")
    expect(wide).to_have_count(3 - before)
    page.keyboard.press("v")
    expect(wide).to_have_count(before)


def test_s4_keys_go_through_the_queue_and_through_files(scene, visit):
    page = visit().page("review")
    expect(chosen(page)).to_contain_text(GUARDED)

    page.keyboard.press("j")
    expect(chosen(page)).to_contain_text(LOOK)
    expect(page.get_by_role("region", name="Findings")).to_contain_text("Spelling")
    page.keyboard.press("k")
    expect(chosen(page)).to_contain_text(GUARDED)
    expect(page.locator("summary")).to_have_count(3)
    page.keyboard.press("]")
    expect(page.locator("summary").nth(0)).to_be_focused()
    page.keyboard.press("]")
    expect(page.locator("summary").nth(1)).to_be_focused()
    page.keyboard.press("[")
    expect(page.locator("summary").nth(0)).to_be_focused()


def test_s4_a_serious_finding_needs_a_second_key_and_the_first_again_does_nothing(own):
    scene, page = own(GUARDED)
    expect(page.get_by_role("button", name="Approve…")).to_be_visible()

    page.keyboard.press("a")
    dialog = page.get_by_role("alertdialog", name="A serious finding")
    expect(dialog).to_contain_text("Guarded file changed")
    expect(dialog.get_by_role("button", name="Go back")).to_be_focused()
    page.keyboard.press("a")
    expect(dialog).to_be_visible()
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    page.keyboard.press("y")
    assert scene.titles("review") == {GUARDED}
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("a")
    page.keyboard.press("y")

    wait_for(lambda: scene.titles("done") == {GUARDED}, "it to be merged", 60)
    expect(page.get_by_text("Nothing waits for your review.")).to_be_visible()
    assert scene.tasks()[0]["review_decision"] == "approved"


def test_s4_comments_on_lines_go_back_as_one_message_and_the_next_task_opens(own):
    scene, page = own(GUARDED, CLEAN)
    expect(chosen(page)).to_contain_text(GUARDED)
    expect(page.locator("td.text .keyword").first).to_be_visible()

    for words in ("Put the old assertion back.", "Why five?"):
        page.keyboard.press("]")
        page.keyboard.press("c")
        page.keyboard.press("c")
        page.get_by_role("textbox", name="Comment on line").fill(words)
        page.get_by_role("button", name="Done", exact=True).click()
    page.get_by_role("button", name="Redo with 2 comments").click()

    expect(chosen(page)).to_contain_text(CLEAN)
    task = scene.id_of(GUARDED)
    wait_for(lambda: len(scene.ask(f"/tasks/{task}")["attempts"]) == 2, "a second attempt", 60)
    assert scene.ask(f"/tasks/{task}")["review_decision"] == "redo"
    [review] = scene.ask(f"/tasks/{task}/remarks")["reviews"]
    assert [remark["text"] for remark in review["remarks"]] == [
        "Put the old assertion back.",
        "Why five?",
    ]


def test_s4_redo_and_reject_ask_for_a_word_first(own):
    scene, page = own(CLEAN, ALSO_CLEAN)
    expect(page.get_by_role("region", name=CLEAN).locator("summary")).to_have_count(1)

    page.keyboard.press("r")
    page.get_by_label("What should change?").fill("Use UTC.")
    page.get_by_role("dialog").get_by_role("button", name="Redo").click()
    expect(page.get_by_role("region", name=ALSO_CLEAN).locator("summary")).to_have_count(1)
    page.keyboard.press("x")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()

    wait_for(lambda: scene.titles("cancelled") == {ALSO_CLEAN}, "it to be rejected", 60)
    assert scene.ask(f"/tasks/{scene.id_of(ALSO_CLEAN)}")["review_decision"] == "rejected"


def test_b21_those_in_which_nothing_was_found_are_approved_together(own):
    scene, page = own(GUARDED, CLEAN, ALSO_CLEAN)

    expect(page.get_by_role("button", name="Approve these 2")).to_be_visible()
    page.keyboard.press("A")

    wait_for(lambda: scene.titles("done") == {CLEAN, ALSO_CLEAN}, "both to be merged", 60)
    assert scene.titles("review") == {GUARDED}
    expect(page.get_by_role("button", name="Approve these")).to_have_count(0)


def test_s9_a_stalemate_shows_both_views_and_the_finding_at_its_line(tmp_path, browser):
    scene = ReviewBoard(at_home(tmp_path))
    disagree(scene.person)
    scene.open()
    scene.tell("board", "add_task", title=CLEAN, agent="demo")
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: scene.titles("review") == {CLEAN}, "work to review", 90)
    visit = Visit(browser, scene)
    page = visit.page("review")

    both = page.get_by_role("region", name="Second review")
    expect(both).to_contain_text("The agents disagree")
    expect(both.get_by_role("listitem")).to_have_count(2)
    expect(both).to_contain_text("demo The next task sets it.")
    expect(both).to_contain_text("judge 1 finding. It stands.")
    finding = page.get_by_role("region", name="Findings")
    expect(finding).to_contain_text("judge: Nobody sets it keys.py:1")
    expect(finding).to_contain_text("To check: grep USED_AT")
    expect(page.locator("tr .finding")).to_contain_text("Nobody sets it")
    expect(page.get_by_role("button", name="Approve…")).to_be_visible()
    assert Axe().run(page).response["violations"] == []
    visit.close()
    scene.person.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_s4_axe_finds_nothing_wrong_with_the_page_nor_with_the_second_key(theme, scene, visit):
    page = visit(color_scheme=theme).page("review")
    expect(page.locator("td.text .keyword").first).to_be_visible()

    for key in ("", "a"):
        if key:
            page.keyboard.press(key)
            expect(page.get_by_role("alertdialog")).to_be_visible()
        violations = Axe().run(page).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations] == []


def test_s4_on_a_phone_the_queue_and_the_task_are_two_screens(scene, visit):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("review")

    page.get_by_role("link", name=GUARDED).click()
    approve = page.get_by_role("button", name="Approve…")
    expect(approve).to_be_in_viewport(ratio=1)
    assert clipped(page) == []
    approve.click()
    expect(page.get_by_role("button", name="Merge anyway")).to_be_in_viewport(ratio=1)
    assert clipped(page) == []
    page.get_by_role("button", name="Go back").click()
    page.get_by_role("link", name="Queue").click()

    expect(page.get_by_role("region", name="Waiting for your decision")).to_be_visible()
    expect(page.get_by_role("button", name="Approve…")).to_have_count(0)
