"""Text of agents and files is harmless everywhere on the page, even in floods."""

import re

import pytest
from playwright.sync_api import expect

from support.person import at_home, wait_for
from support.sample_board import SampleBoard

IMAGE = "<img src=x onerror=window.hacked=1>"
BIDI = "\u202e"
GOAL = f"Hostile goal {IMAGE}{BIDI}\x1b[31m"
ANSI = r"\u001b]0;t\u0007\u001b[31m\u202e"
HOSTILE = rf"""
[[turn]]
when = "Hostile goal"
steps = [
  {{ say = "Hostile words {IMAGE} {ANSI}" }},
  {{ write = "hostile.py", text = "A = '{IMAGE}'\n" }},
  {{ signal = "PROGRESS: 40% Hostile progress {IMAGE} {ANSI}" }},
]

[[turn]]
when = "Hostile goal"
steps = [{{ fail = "bad_request", message = "Hostile error {IMAGE} {ANSI}" }}]

[[turn]]
when = "Hostile goal"
steps = [{{ ask = "Hostile-command {IMAGE} {ANSI}" }}, {{ sleep = 600 }}]

[[turn]]
when = "Flood"
steps = [{{ say = "It begins." }}, {{ flood = 2000000000 }}]

[[turn]]
when = "Hostile"
steps = [
  {{ say = "Look: {IMAGE} <script>window.hacked=1</script> \u001b]0;t\u0007\u202eend" }},
  {{ write = "{IMAGE.replace("=x", "").replace("=window.hacked=1", "")}.py", text = "A = '{IMAGE}'\n" }},
  {{ signal = "COMPLETE" }},
]

[[turn]]
when = "Hostile"
steps = [
  {{ question = "{IMAGE}\u202ewhich?", options = ["{IMAGE}"] }},
  {{ sleep = 600 }},
]
"""
SETTINGS = """
[[verification.commands]]
name = "<b>Unit</b> tests"
run = "sh check.sh"

[auto]
cooldown_s = 0
review = "never"
policy = "model"
decision_agent = "judge"

[agents.judge]
driver = "scripted"
script = "judge.toml"
"""
JUDGE = rf"""
repeat = true
[[turn]]
steps = [{{ say = '{{"action": "continue", "reason": "Hostile reason {IMAGE} {ANSI.replace(chr(92), 2 * chr(92))}", "confidence": 0.9}}' }}]
"""
CHECK = (
    "printf '\\033]0;t\\007\\033[31mred\\033[0m <img src=x onerror=window.hacked=1>\\n'; exit 3\n"
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("hostile")))
    scene.person.write("check.sh", CHECK)
    scene.person.write("judge.toml", JUDGE)
    scene.person.script(HOSTILE, SETTINGS)
    scene.person.commit()
    scene.person.allstop("trust", "--yes")
    scene.open()
    scene.add((f"Hostile {IMAGE}{BIDI}", IMAGE, "store"))
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: scene.ask("/inbox")["waiting"], "a question", 60)
    scene.thread = scene.post("/runs", {"kind": "auto", "goal": GOAL, "agent": "demo"})["run"]
    wait_for(lambda: len(decisions(scene)) > 1, "decisions about a thread", 60)
    yield scene
    scene.person.close()


RUN_TABS = ("log", "receipts", "stops")


def decisions(scene):
    return scene.ask(f"/receipts/{scene.thread}")["decisions"]


def places(scene):
    task, thread = scene.tasks()[0], scene.thread
    return (
        "home",
        "board",
        "inbox",
        "history",
        *(f"history/{run}?tab={tab}" for run in (task["run"], thread) for tab in RUN_TABS),
        "auto",
        *(f"auto/{thread}?tab={tab}" for tab in ("log", "work", "decisions")),
        "usage",
        "usage?by=task",
        *(f"task/{task['id']}?tab={tab}" for tab in ("log", "changes", "attempts", "about")),
    )


def test_k22_text_of_agents_is_harmless_on_every_page(scene, visit):
    page = visit().page("inbox")
    expect(page.get_by_role("article")).to_contain_text("⟨U+202E⟩which?")
    for where in places(scene):
        page.evaluate("where => { location.hash = `#/${where}` }", where)
        expect(page.get_by_role("main")).to_contain_text(
            re.compile("Hostile|onerror|usage", re.IGNORECASE)
        )
        expect(page.get_by_text(re.compile(r"^Loading "))).to_have_count(0)
        assert page.locator("main img, main script").count() == 0, where
        shown = page.get_by_role("main").inner_html() + page.title()
        assert not {BIDI, "\x1b", "\x07"} & set(shown), where

    assert page.evaluate("window.hacked") is None


def test_k22_inputs_of_a_decision_are_text_with_visible_characters(scene, visit):
    page = visit().page(f"auto/{scene.thread}?tab=decisions")
    receipt = page.get_by_role("region", name="Receipt of decision")
    page.get_by_role("button", name="turn 1: continue").click()

    expect(receipt).to_contain_text(f"Hostile reason {IMAGE} ")
    expect(receipt).to_contain_text(f"Hostile progress {IMAGE} ⟨U+202E⟩")
    expect(receipt).to_contain_text(f"Hostile words {IMAGE} ⟨U+202E⟩")
    page.get_by_role("button", name=re.compile("turn 2: ")).click()
    expect(receipt).to_contain_text(f"Hostile error {IMAGE} ")
    expect(page.get_by_role("region", name="Plan")).to_contain_text(f"Hostile goal {IMAGE}⟨U+202E⟩")
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate("window.hacked") is None


def test_k22_output_of_a_check_and_full_messages_are_text(scene, visit):
    page = visit().page(f"task/{scene.tasks()[0]['id']}")
    gate = page.get_by_role("region", name="Verification", exact=True)
    expect(gate).to_contain_text("<b>Unit</b> tests")
    expect(gate).to_contain_text("red <img src=x")

    page.get_by_role("log").get_by_role("button", name=re.compile("COMPLETE")).first.click()

    whole = page.get_by_role("dialog")
    expect(whole).to_contain_text("<script>window.hacked=1</script>")
    expect(whole).to_contain_text("⟨U+202E⟩end")
    assert page.locator("dialog img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_u1_allstop_works_during_a_flood_of_output(scene, visit):
    scene.add(("Flood the page", "ui", "audit"))
    wait_for(lambda: "Flood the page" in scene.titles("active"), "the flood", 60)
    page = visit().page(f"task/{scene.id_of('Flood the page')}")
    expect(page.get_by_role("region", name="Text of the agent")).to_contain_text("xxxx")

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(re.compile(r"^Stopped in \d+ ms$"))).to_be_visible()
    assert scene.ask("/hold")["hold"] == "stopped"
