"""P7, P12, P13: plans in a real browser: written, steered, and their steps."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.person import at_home, wait_for
from support.sample_board import SampleBoard

SCRIPT = r"""
repeat = true
[[turn]]
when = "hopeless work"
steps = [{ fail = "bad_request", message = "the model refused the request" }]

[[turn]]
when = "ask a person first"
steps = [{ sleep = 0.5 }, { say = "<questions>\n1. Which folder?\n2. Which names?\n</questions>" }]

[[turn]]
when = "Answer: src"
steps = [{ say = '''<plan>
# Sort the files

Assumption: names are short.

## Sort

- Sort them by name
  - [ ] they are sorted
  - check: true
</plan>''' }]

[[turn]]
when = "Nothing good"
steps = [{ say = "<plan>\n# Bad\n</plan>" }]

[[turn]]
when = "Do only this step."
steps = [{ write = "done.txt", text = "done\n" }, { say = "Done." }]

[[turn]]
when = "slow work"
steps = [{ say = "I look around." }, { sleep = 600 }]
"""
SETTINGS = """
[loop]
max_parallel = 8
[retry]
base_ms = 10
step_delay_ms = 10
max_retries = 1
"""
SLOW = """# Split the ledger

## Preparation

- List what imports it
- Pin the behaviour
  - [ ] every caller is covered

## Implementation

- Do the slow work
  - check: true
- Take the old imports out
"""
YAML = "title: Tidy up\nphases:\n  - name: All\n    steps: [one, two]\n"
MANY = "# Many\n\n## All\n\n" + "".join(f"- step number {n}\n" for n in range(500))


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    person = at_home(tmp_path_factory.mktemp("plans"))
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    scene = SampleBoard(person)
    scene.open()
    yield scene
    person.close()


def plan(scene, text, **words):
    return scene.post("/runs", {"kind": "plan", "plan": text, **words})["run"]


def detail(scene, run):
    return scene.ask(f"/runs/{run}")["detail"]


def outcome(scene, run):
    return scene.ask(f"/runs/{run}")["run"]["outcome"]


def bar_of(page):
    return page.get_by_role("group", name="Autopilot")


@pytest.fixture(scope="module")
def slow(scene):
    """A plan at its third step, whose turn doesn't end."""
    run = plan(scene, SLOW, name="ledger")
    wait_for(lambda: detail(scene, run)["completedSteps"] == 2, "it reaches the slow step", 60)
    wait_for(lambda: detail(scene, run)["activeAgent"] == "demo", "its turn begins", 60)
    return run


def hopeless(scene):
    """A plan whose first step failed for good."""
    run = plan(scene, "# Hopes\n\n## Only\n\n- Do the hopeless work\n- And then this\n")
    wait_for(lambda: detail(scene, run)["pauseReason"] == "failed", "its step fails", 60)
    return run


@pytest.fixture(scope="module")
def failed(scene):
    return hopeless(scene)


def test_p12_the_control_bar_has_the_words_of_the_document(visit, slow):
    page = visit().page(f"plans/{slow}")
    bar = bar_of(page)

    expect(bar).to_contain_text(
        re.compile(
            r"▶\s*Autopilot Running\s*Step 3/4\s*Phase: Implementation\s*Agent: Demo\s*Retries: 0"
        )
    )
    expect(bar.get_by_role("button", name=re.compile(r"⏸\sPause"))).to_be_visible()
    expect(bar.get_by_role("button", name=re.compile(r"⏹\sStop"))).to_be_visible()
    steps = page.get_by_role("list", name="Steps")
    expect(steps.get_by_role("listitem")).to_have_count(6)
    expect(steps.locator("[aria-current=step]")).to_contain_text("Do the slow work")
    expect(steps).to_contain_text("2 of 2")
    expect(page.get_by_role("log")).to_contain_text("Done. · 1 commit, 1 file changed")
    expect(page.get_by_role("region", name="Step 2.1")).to_contain_text("true")
    page.keyboard.press("k")
    expect(page.get_by_role("region", name="Step 1.2")).to_contain_text("every caller is covered")


def test_p12_a_plan_is_paused_stopped_resumed_skipped_and_aborted(scene, visit):
    run = plan(scene, SLOW, name="ledger")
    page = visit().page(f"plans/{run}")
    bar = bar_of(page)
    expect(bar).to_contain_text("Step 3/4")
    bar.get_by_role("button", name=re.compile(r"⏸\sPause")).click()
    expect(bar).to_contain_text("Autopilot Pausing…")
    bar.get_by_role("button", name=re.compile(r"⏹\sStop")).click()
    expect(bar).to_contain_text(re.compile(r"⏸\sAutopilot Paused"))
    bar.get_by_role("button", name=re.compile(r"▶\sResume")).click()
    expect(bar).to_contain_text(re.compile(r"▶\sAutopilot Running"))
    assert detail(scene, run)["completedSteps"] == 2

    bar.get_by_role("button", name="Skip step").click()
    bar.get_by_role("button", name=re.compile(r"⏹\sStop")).click()
    expect(bar).to_contain_text("Step 4/4")
    expect(page.get_by_role("list", name="Steps")).to_contain_text("skipped")
    bar.get_by_role("button", name="Abort").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("can’t be resumed")
    dialog.get_by_role("button", name="Abort").click()
    expect(bar).to_contain_text("Autopilot Ended")
    assert outcome(scene, run) == "aborted"


def test_p12_each_step_is_approved(scene, visit):
    run = plan(scene, "# A\n\n- one\n- two\n", mode="step")
    page = visit().page(f"plans/{run}")
    approve = bar_of(page).get_by_role("button", name="Approve step")
    expect(page.get_by_text(re.compile("Step 1.1 waits for your approval"))).to_be_visible()
    approve.click()
    expect(page.get_by_text(re.compile("Step 1.2 waits for your approval"))).to_be_visible()
    approve.click()

    expect(bar_of(page)).to_contain_text("Autopilot Ended")
    assert outcome(scene, run) == "done"


def test_p12_a_failed_step_says_why_and_is_skipped(scene, visit):
    failed = hopeless(scene)
    page = visit().page(f"plans/{failed}")
    bar = bar_of(page)
    expect(bar).to_contain_text(re.compile(r"⏸\sAutopilot Paused"))
    banner = page.get_by_role("status").filter(has_text="Step 1.1 failed")
    expect(banner).to_contain_text("the model refused the request")
    expect(bar.get_by_role("button", name=re.compile(r"▶\sResume"))).to_be_enabled()
    bar.get_by_role("button", name="Skip step").click()
    expect(bar).to_contain_text("Autopilot Ended")
    assert detail(scene, failed)["skippedSteps"] == ["1.1"]


def test_p12_all_plans_are_listed_with_their_state(visit, slow, failed):
    page = visit().page("plans")
    plans = page.get_by_role("list", name="Plans")

    expect(plans.get_by_role("link", name=re.compile(rf"{failed}\b"))).to_contain_text(
        "step 1.1 failed"
    )
    entry = plans.get_by_role("link", name=re.compile(rf"{slow}\b"))
    expect(entry).to_contain_text("2 of 4 steps done")
    entry.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Split the ledger")


def test_p12_five_hundred_steps_are_a_virtual_list(scene, visit):
    run = plan(scene, MANY, mode="step")
    page = visit().page(f"plans/{run}")
    steps = page.get_by_role("list", name="Steps")

    expect(bar_of(page)).to_contain_text("Step 1/500")
    expect(steps).to_contain_text("step number 3")
    assert steps.get_by_role("listitem").count() < 100
    steps.evaluate("box => { box.scrollTop = box.scrollHeight }")
    expect(steps).to_contain_text("step number 499")


def test_p12_a_new_plan_is_checked_while_it_is_typed_and_started(scene, visit):
    page = visit(viewport=PHONE).page("plans")
    page.get_by_role("button", name="New plan").click()
    form = page.get_by_role("dialog", name="New plan")
    form.get_by_label("Plan", exact=True).fill("- early\n\n# A\n\n- one\n")
    problems = form.get_by_role("list", name="Problems")
    expect(problems).to_contain_text("Line 1: the step stands before the first heading")
    expect(form.get_by_role("button", name="Start")).to_be_disabled()
    assert clipped(page) == []
    assert Axe().run(page).response["violations"] == []

    upload = {"name": "tidy.yaml", "mimeType": "text/yaml", "buffer": YAML.encode()}
    form.get_by_label("Or a file").set_input_files(upload)
    expect(form.get_by_label("Format")).to_have_value("yaml")
    expect(form.get_by_label("Name", exact=True)).to_have_value("tidy")
    expect(form).to_contain_text("Understood: 1 phase, 2 steps")
    form.get_by_label("Mode").select_option("step")
    form.get_by_role("button", name="Start").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Tidy up")
    run = page.url.rpartition("/")[2]
    found = detail(scene, run)
    assert (found["planId"], found["config"]["mode"]) == ("tidy", "step")


def test_p13_an_agent_asks_and_writes_a_plan_in_the_form(scene, visit):
    page = visit(viewport=PHONE).page("plans")
    page.get_by_role("button", name="New plan").click()
    dialog = page.get_by_role("dialog", name="New plan")
    dialog.get_by_role("button", name="Let an agent write it").click()
    agent = dialog.get_by_role("region", name="A plan by an agent")
    agent.get_by_label("Goal").fill("Sort the files")
    agent.get_by_role("button", name="Let it write").click()

    expect(agent).to_contain_text("The agent asks 2 questions.")
    agent.get_by_label("Which folder?").fill("src")
    assert clipped(page) == []
    assert Axe().run(page).response["violations"] == []
    agent.get_by_role("button", name="Answer").click()

    expect(agent).to_contain_text("The agent has written a plan.")
    expect(agent.get_by_role("list", name="Assumptions")).to_contain_text("names are short")
    text = dialog.get_by_label("Plan", exact=True)
    expect(text).to_have_value(re.compile("# Sort the files"))
    expect(dialog).to_contain_text("Understood: 1 phase, 1 step")
    run = page.url.rpartition("draft=")[2]
    assert [each["answer"] for each in detail(scene, run)["questions"]] == ["src", ""]

    text.fill(text.input_value().replace("by name", "by size"))
    page.reload()
    expect(text).to_have_value(re.compile("Sort them by size"))
    dialog.get_by_label("Mode").select_option("step")
    dialog.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sort the files")
    (phase,) = scene.ask(f"/plans/{page.url.rpartition('/')[2]}")["phases"]
    assert phase["steps"][0]["text"] == "Sort them by size"


def test_p13_a_plan_that_cannot_be_used_is_there_to_correct(scene, visit):
    run = scene.post("/runs", {"kind": "draft", "goal": "Nothing good", "asks": False})["run"]
    wait_for(lambda: detail(scene, run)["outcome"] == "failed", "it gives up", 60)
    page = visit().page(f"plans?draft={run}")
    dialog = page.get_by_role("dialog", name="New plan")

    expect(dialog).to_contain_text("The agent’s text can’t be used yet. Correct it below.")
    expect(dialog.get_by_label("Plan", exact=True)).to_have_value("# Bad\n")
    expect(dialog.get_by_role("list", name="Problems")).to_contain_text("has no steps")
    expect(dialog.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    dialog.get_by_role("button", name="Close").click()
    expect(page).to_have_url(re.compile("#/plans$"))


def test_p12_the_settings_have_a_group_for_autopilot(visit):
    page = visit().page("settings")
    page.get_by_text("Autopilot: the settings of plans").click()
    group = page.get_by_role("region", name="Autopilot")

    for key in ("error_strategy", "max_retries", "base_ms", "step_delay_ms", "recover_primary"):
        expect(group.get_by_text(f"retry.{key}", exact=True)).to_be_visible()
    expect(group.get_by_text("loop.fallback", exact=True)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_plans(theme, visit, slow, failed):
    page = visit(color_scheme=theme).page("plans")
    found = {}
    for where in ("plans", f"plans/{slow}", f"plans/{failed}", f"plans/{slow}?tab=changes"):
        page.goto(page.url.partition("#")[0] + f"#/{where}")
        expect(page.get_by_text(re.compile(r"^Loading "))).to_have_count(0)
        page.wait_for_timeout(300)
        violations = Axe().run(page).response["violations"]
        found[where] = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]

    assert {where: rules for where, rules in found.items() if rules} == {}


def test_u5_plans_fit_a_phone(visit, slow, failed):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("plans")
    for where in ("plans", f"plans/{slow}", f"plans/{failed}"):
        page.goto(page.url.partition("#")[0] + f"#/{where}")
        page.wait_for_timeout(300)
        assert clipped(page) == [], where
        expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_in_viewport()
    steps = page.get_by_role("region", name="Steps of the plan").bounding_box()
    assert page.get_by_role("log").bounding_box()["y"] > steps["y"] + steps["height"]
    expect(bar_of(page).get_by_role("button", name=re.compile(r"▶\sResume"))).to_be_in_viewport()


def test_p7_after_a_crash_the_page_offers_to_resume_the_plan(scene, visit, slow):
    """Last in this file: the control room starts again."""
    scene.restart()
    page = visit().page("home")
    item = page.get_by_role("article", name="Split the ledger").filter(
        has_text="Resume interrupted session?"
    )
    item.get_by_role("button", name="Continue").click()
    wait_for(lambda: scene.ask(f"/runs/{slow}")["run"]["status"] == "running", "it goes on", 60)

    page.goto(page.url.partition("#")[0] + f"#/plans/{slow}")
    expect(bar_of(page)).to_contain_text("Autopilot Running")
    assert detail(scene, slow)["completedSteps"] == 2


def test_u2_the_current_step_of_a_long_plan_has_steps_before_and_after_it(scene, visit):
    """Not at the edge of the list, where nobody sees what comes next."""
    steps = "".join(f"- step {n}\n" for n in range(24))
    run = plan(scene, f"# Long\n\n## One\n\n{steps}- Do the slow work\n{steps}")
    wait_for(lambda: detail(scene, run)["completedSteps"] == 24, "it reaches the slow step", 120)
    page = visit().page(f"plans/{run}")
    box = page.get_by_role("list", name="Steps")
    current = box.locator("[aria-current=step]")
    expect(current).to_contain_text("Do the slow work")

    place, around = current.bounding_box(), box.bounding_box()
    assert place["y"] - around["y"] > 3 * place["height"]
    assert around["y"] + around["height"] - place["y"] > 4 * place["height"]
    page.set_viewport_size({"width": 1280, "height": 820})
    assert bar_of(page).bounding_box()["height"] < 60, "the control bar has one row"


def test_u2_a_plan_that_cannot_be_loaded_says_so_and_can_be_tried_again(visit, slow):
    page = visit().page("plans")
    page.route(re.compile(r"/plans/plan"), lambda route: route.abort())
    page.get_by_role("link").filter(has_text="Split the ledger").last.click()
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()

    page.unroute_all()
    again.click()
    expect(bar_of(page)).to_contain_text("Autopilot")


def test_u2_a_pause_says_since_when(visit, failed):
    page = visit().page(f"plans/{failed}")

    expect(page.get_by_role("status").filter(has_text="Step 1.1 failed")).to_contain_text(
        re.compile(r"since \d\d:\d\d")
    )
