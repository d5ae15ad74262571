"""What agents and files say is text, wherever the page shows it; and a flood of it stops nothing."""

import re

import pytest
from playwright.sync_api import expect

from people import at_home, wait_for
from scenes import Scene

IMAGE = "<img src=x onerror=window.hacked=1>"
BIDI = "\u202e"
HOSTILE = rf"""
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
"""
CHECK = (
    "printf '\\033]0;t\\007\\033[31mred\\033[0m <img src=x onerror=window.hacked=1>\\n'; exit 3\n"
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = Scene(at_home(tmp_path_factory.mktemp("hostile")))
    scene.person.write("check.sh", CHECK)
    scene.person.script(HOSTILE, SETTINGS)
    scene.person.commit()
    scene.person.allstop("trust", "--yes")
    scene.open()
    scene.add((f"Hostile {IMAGE}{BIDI}", IMAGE, "store"))
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: scene.ask("/inbox")["waiting"], "a question", 60)
    yield scene
    scene.person.close()


def places(scene):
    task = scene.tasks()[0]
    return (
        "home",
        "board",
        "inbox",
        "history",
        f"history/{task['run']}",
        "usage",
        *(f"task/{task['id']}?tab={tab}" for tab in ("log", "changes", "attempts", "about")),
    )


def test_k22_nothing_that_an_agent_writes_does_anything_on_any_page(scene, visit):
    page = visit().page("inbox")
    expect(page.get_by_role("article")).to_contain_text("⟨U+202E⟩which?")
    for where in places(scene):
        page.evaluate("where => { location.hash = `#/${where}` }", where)
        expect(page.get_by_role("main")).to_contain_text(
            re.compile("Hostile|onerror|usage", re.IGNORECASE)
        )
        expect(page.get_by_text(re.compile(r"^Loading "))).to_have_count(0)
        assert page.locator("main img, main script").count() == 0, where
        assert BIDI not in page.get_by_role("main").inner_text(), where
        assert "\x1b" not in page.get_by_role("main").inner_text(), where

    assert page.evaluate("window.hacked") is None


def test_k22_output_of_a_check_and_the_whole_of_a_message_are_text(scene, visit):
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


def test_u1_allstop_is_heard_during_a_flood(scene, visit):
    scene.add(("Flood the page", "ui", "audit"))
    wait_for(lambda: "Flood the page" in scene.titles("active"), "the flood", 60)
    page = visit().page(f"task/{scene.id_of('Flood the page')}")
    expect(page.get_by_role("region", name="What its agent is saying")).to_contain_text("xxxx")

    page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(page.get_by_text(re.compile(r"^stopped in \d+ ms$"))).to_be_visible()
    assert scene.ask("/hold")["hold"] == "stopped"
