"""The page of a task with a long log, a failed gate and a question."""

import re

import pytest
from playwright.sync_api import expect

from support.person import at_home, wait_for
from support.sample_board import SampleBoard

SCRIPT = """
[[turn]]
steps = [
  { say = "First I read the **store**.\\n\\nThe index is what is missing." },
  { write = "index.py", text = "A = 1\\n" },
  { signal = "COMPLETE" },
]

[[turn]]
steps = [
  { signal = "PROGRESS: 40% the index is there" },
]

[[turn]]
steps = [
  { question = "Which store is it?", options = ["SQLite", "Postgres"] },
  { ask = "rm -r build" },
  { sleep = 600 },
]
"""
SETTINGS = """
[loop]
stuck_threshold = 1

[[verification.commands]]
name = "Unit tests"
run = "sh check.sh"
"""
CHECK = "echo 'first of many lines'; echo 'E  assert 1 == 2'; exit 3\n"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("record")))
    scene.person.write("check.sh", CHECK)
    scene.person.script(SCRIPT, SETTINGS)
    scene.person.commit()
    scene.person.allstop("trust", "--yes")
    scene.open()
    scene.add(("Index the store", "api", "store"))
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: scene.ask("/inbox")["waiting"], "a question", 60)
    yield scene
    scene.person.close()


def test_u2_a_log_line_opens_its_full_text(scene, visit):
    page = visit().page(f"task/{scene.id_of('Index the store')}")

    page.get_by_role("log").get_by_role("button", name=re.compile("COMPLETE")).first.click()

    whole = page.get_by_role("dialog")
    expect(whole).to_contain_text("First I read the store.")
    expect(whole.locator("strong")).to_have_text("store")
    page.keyboard.press("Escape")
    expect(whole).to_have_count(0)


def test_u5_tab_reaches_the_log_and_arrows_its_lines(scene, visit):
    page = visit().page(f"task/{scene.id_of('Index the store')}")
    log = page.get_by_role("log").first
    expect(log.get_by_role("button")).not_to_have_count(0)
    log.focus()
    page.keyboard.press("Tab")
    assert not log.evaluate("it => it.contains(document.activeElement)")

    log.focus()
    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.innerText")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.innerText") != first
    page.keyboard.press("Enter")

    expect(page.get_by_role("dialog")).to_be_visible()


def test_u2_the_output_of_a_failed_check_is_on_the_tasks_page(scene, visit):
    page = visit().page(f"task/{scene.id_of('Index the store')}")
    gate = page.get_by_role("region", name="Verification", exact=True)

    expect(gate).to_contain_text(re.compile(r"exit code 3, after \d+s"))
    expect(gate.get_by_role("region", name="Output of Unit tests")).to_contain_text(
        "E  assert 1 == 2"
    )


def test_b9_a_task_that_commits_nothing_is_marked_on_its_page_and_its_card(scene, visit):
    page = visit().page(f"task/{scene.id_of('Index the store')}")
    expect(page.get_by_text("⚠ no commit for 1 iteration")).to_be_visible()

    page.get_by_role("link", name="Board", exact=True).last.click()

    card = page.get_by_role("link", name=re.compile("Index the store"))
    expect(card.get_by_role("img", name="no commit for 1 iteration")).to_be_visible()


def test_u2_a_question_of_a_task_is_answered_on_its_page(scene, visit):
    page = visit().page(f"task/{scene.id_of('Index the store')}")
    expect(page.get_by_role("status", name="Signal from the agent")).to_contain_text(
        re.compile(r"PROGRESS\s+40 %\s+the index is there")
    )
    asks = page.get_by_role("list", name="Questions")
    expect(asks).to_contain_text("Which store is it?")

    asks.get_by_role("button", name="SQLite").click()

    expect(asks).to_contain_text("rm -r build")
    asks.get_by_role("button", name=re.compile("^Allow: ")).click()
    expect(asks).to_have_count(0)
    assert scene.ask("/inbox")["waiting"] == []
