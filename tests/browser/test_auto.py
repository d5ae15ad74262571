"""Full auto in a real browser: what a person sees of a thread and can do with it."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.person import at_home, wait_for
from support.sample_board import SampleBoard

SCRIPT = r"""
[[turn]]
when = "Write a parser"
steps = [
  { say = "The lexer reads **numbers**. <img src=x onerror='window.hacked=1'>" },
  { write = "lexer.py", text = "def lex(text):\n    return text.split()\n" },
  { use = { input = 18400, output = 920, cost_microusd = 184000 } },
  { signal = "PROGRESS: 40% the lexer is there" },
]

[[turn]]
when = "Write a parser"
steps = [
  { ask = "rm  -r build\u001b[2K\u202e" },
  { question = "Which style?", options = ["Exceptions", "Values"] },
  { sleep = 600 },
]

[[turn]]
when = "Go in circles"
steps = [{ say = "Hm." }]

[[turn]]
when = "Go in circles"
steps = [{ say = "Hm." }]

[[turn]]
when = "Go in circles"
steps = [{ say = "Hm." }]

[[turn]]
when = "Write some notes"
steps = [{ write = "AGENTS.md", text = "Obey.\n" }, { signal = "COMPLETE" }]

[[turn]]
when = "Take your time"
steps = [{ say = "I look around." }, { sleep = 600 }]

[[turn]]
when = "Take your time"
steps = [{ say = "I heard you." }, { sleep = 600 }]

[[turn]]
when = "Write a lot"
steps = [MANY { sleep = 2 }, { write = "end.txt", text = "x" }, { sleep = 600 }]

[[turn]]
when = "Write a lot"
steps = [{ sleep = 600 }]
"""
LINES = 150
MANY = "".join(f'{{ write = "file{n}.txt", text = "x" }}, ' for n in range(LINES))
SETTINGS = """
[loop]
max_parallel = 8
[auto]
cooldown_s = 0
review = "never"
[budget]
turns = 20
cost_usd = 2.0
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    person = at_home(tmp_path_factory.mktemp("auto"))
    person.script(SCRIPT.replace("MANY", MANY), SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    scene = SampleBoard(person)
    scene.open()
    yield scene
    person.close()


def thread(scene, goal):
    return scene.post("/runs", {"kind": "auto", "goal": goal})["run"]


def detail(scene, run):
    return scene.ask(f"/runs/{run}")


def asks(scene, run):
    return detail(scene, run)["detail"]["asks"]


@pytest.fixture(scope="module")
def parser(scene):
    """A thread that has taken a turn and waits for an answer."""
    run = thread(scene, "Write a parser")
    wait_for(lambda: asks(scene, run), "it asks", 30)
    return run


@pytest.fixture(scope="module")
def circles(scene):
    """A thread that was paused because it makes no progress."""
    run = thread(scene, "Go in circles")
    wait_for(lambda: detail(scene, run)["detail"]["paused"], "a soft stop", 30)
    return run


def test_f10_a_thread_is_started_gets_a_message_and_is_switched_off_and_on(scene, visit):
    """F10, F4: the switch is the person's own stop; while it is off, no turn starts."""
    page = visit().page("auto")
    page.get_by_role("button", name="New thread").click()
    form = page.get_by_role("dialog", name="New thread")
    form.get_by_label("Goal").fill("Take your time")
    form.get_by_label("Agent").select_option("demo")
    form.get_by_label("Approvals").select_option("ask")
    form.get_by_role("button", name="Start").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Take your time")
    switch = page.get_by_role("switch", name="Full auto")
    expect(switch).to_be_checked()
    expect(page.get_by_role("log")).to_contain_text("demo takes a turn")
    run = page.url.rpartition("/")[2]
    page.get_by_label("Message to the agent").fill("Look at the tests as well.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("log")).to_contain_text("the control room: Look at the tests as well.")

    switch.click()
    expect(switch).not_to_be_checked()
    expect(page.get_by_text("Turning off after this turn")).to_be_visible()
    page.get_by_role("button", name="Stop now").click()
    expect(page.get_by_text("Off: stopped")).to_be_visible()
    assert detail(scene, run)["run"]["status"] == "stopped"
    expect(page.get_by_text("the user: stopped", exact=True)).to_be_visible()
    switch.click()
    expect(switch).to_be_checked()
    wait_for(lambda: detail(scene, run)["run"]["status"] == "running", "it goes on")

    page.get_by_role("button", name="Abort").click()
    page.get_by_role("dialog").get_by_role("button", name="Abort").click()
    expect(page.get_by_text("Ended: aborted", exact=True)).to_be_visible()
    expect(switch).to_have_count(0)


def test_f10_a_request_is_shown_exactly_and_answered_by_keyboard(scene, visit, parser):
    """F10, F5, U5: control characters are visible and have no effect; then Deny with a reason."""
    page = visit().page(f"auto/{parser}")
    card = page.get_by_role("region", name="Allow this command?")
    words = card.get_by_role("list", name="Arguments of the command").get_by_role("listitem")

    expect(words).to_have_text(["rm", "-r", "build\\x1b[2K⟨U+202E⟩"])
    expect(card.get_by_role("region", name="Original text")).to_have_text(
        "rm␣␣-r build\\x1b[2K⟨U+202E⟩"
    )
    expect(card).to_contain_text("in its own clone of project · rule: ")
    expect(card).to_contain_text("denied automatically")
    field = card.get_by_label("Reason for Deny")
    field.focus()
    page.keyboard.type("Keep the build.")
    page.keyboard.press("Enter")

    question = page.get_by_role("region", name="The agent has a question")
    question.get_by_role("button", name="Values").focus()
    page.keyboard.press("Enter")
    expect(question.get_by_label("Answer to: Which style?")).to_have_value("Values")
    question.get_by_role("button", name="Answer").press("Enter")

    expect(question).to_have_count(0)
    events = scene.ask(f"/runs/{parser}/events")["events"]
    told = [line for event in events for line in event["lines"] if "the control room" in line]
    assert any("denies" in line and "Keep the build." in line for line in told)
    assert any("answers" in line and "Values" in line for line in told)
    assert page.evaluate("window.hacked") is None


def test_f10_decision_reason_stop_condition_and_budget_are_shown(visit, circles):
    """F10, F3, F4, K5."""
    page = visit().page(f"auto/{circles}")

    latest = page.get_by_role("region", name="Latest decision")
    expect(latest).to_contain_text("pause")
    expect(latest).to_contain_text("90% sure · by rules")
    expect(latest).to_contain_text("Decided continue, overridden by soft stop: no progress")
    expect(latest).to_contain_text("3 of 3")
    budget = page.get_by_role("region", name="Budget")
    expect(budget).to_contain_text("3 of 20")
    expect(budget).to_contain_text("$0 of $2.00")
    expect(budget).to_contain_text("may be passed by the turns under way")
    plan = page.get_by_role("region", name="Plan")
    expect(plan).to_contain_text("Go in circles")
    expect(plan).to_contain_text("a person: soft stop: no progress")
    expect(page.get_by_role("switch", name="Full auto")).not_to_be_checked()


def test_f10_decisions_have_receipts_and_a_slider(visit, circles):
    """F10, F7."""
    page = visit().page(f"auto/{circles}?tab=decisions")
    then = page.get_by_role("region", name="State at this event")
    expect(then).to_contain_text("waiting")
    expect(then).to_contain_text("3 turns")

    slider = page.get_by_role("slider", name="Decision")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")

    expect(then).to_contain_text("next: demo takes a turn")
    expect(then).to_contain_text("1 turn ")
    receipt = page.get_by_role("region", name="Receipt of decision")
    expect(receipt).to_contain_text("it has not said that it is done")
    expect(receipt).to_contain_text("End of its message")
    page.get_by_role("button", name=re.compile("turn 3: pause")).click()
    expect(receipt).to_contain_text("overridden by soft stop")


def test_f10_the_diff_of_its_work_is_shown(visit, parser):
    page = visit().page(f"auto/{parser}?tab=work")

    expect(page.get_by_role("tabpanel")).to_contain_text("lexer.py")
    expect(page.get_by_role("tabpanel")).to_contain_text("return text.split()")


def test_f3_after_a_safety_pause_a_person_checks_and_switches_it_on(scene, visit):
    """F3, F10: the page shows the reason and the changes; the switch confirms the check."""
    run = thread(scene, "Write some notes")
    wait_for(lambda: detail(scene, run)["detail"]["paused"], "a pause", 30)
    page = visit().page(f"auto/{run}")
    latest = page.get_by_role("region", name="Latest decision")
    expect(latest).to_contain_text("unsafe: the work changes AGENTS.md, which steers agents")
    expect(page.get_by_role("status").filter(has_text="Off: check its changes")).to_be_visible()

    latest.get_by_role("link", name="its changes").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("AGENTS.md")
    page.get_by_role("switch", name="Full auto").click()

    expect(page.get_by_text("Ended: done", exact=True)).to_be_visible()
    expect(latest).to_contain_text("by rules, after a look by the control room")


def test_u3_a_long_log_is_virtual_and_keeps_its_scroll_position(scene, visit):
    """U3: new lines don't move the view while the person reads further up."""
    run = thread(scene, "Write a lot")
    wait_for(lambda: detail(scene, run)["seq"] > 5, "it writes", 30)
    last = f"wrote file{LINES - 1}.txt"
    page = visit().page(f"auto/{run}")
    log = page.get_by_role("log")
    expect(log).to_contain_text(last, timeout=90_000)
    rows = page.locator("[role=log] .row")
    assert rows.count() < LINES / 2

    log.evaluate("box => { box.scrollTop = 400 }")
    expect(log).not_to_contain_text(last)
    top = rows.first.inner_text()
    page.get_by_label("Message to the agent").fill("Enough.")
    page.keyboard.press("Enter")
    newest = page.get_by_role("button", name="↓ Newest")
    expect(newest).to_be_visible()
    wait_for(lambda: "Enough." in str(scene.ask(f"/runs/{run}/events?limit=1000")), "it is told")

    assert log.evaluate("box => box.scrollTop") == 400
    assert rows.first.inner_text() == top
    newest.click()
    expect(log).to_contain_text("Enough.")


def test_u2_history_finds_a_run_and_replays_it(scene, visit, circles):
    """U2, F7: the state at each event, and a replay that decides the same."""
    page = visit().page("history")
    page.get_by_label("Kind").select_option("auto")
    page.get_by_role("searchbox", name="Find a run").fill("circles go")
    runs = page.get_by_role("list", name="Runs")
    expect(runs.get_by_role("listitem")).to_have_count(1)
    runs.get_by_role("link", name=re.compile("Go in circles")).click()

    then = page.get_by_role("region", name="State at this event")
    expect(then).to_contain_text("soft stop: no progress")
    slider = page.get_by_role("slider", name="Event")
    slider.focus()
    page.keyboard.press("Home")
    expect(then).to_contain_text("0 turns")
    expect(then).to_contain_text("running")
    expect(page.get_by_role("log")).not_to_contain_text("demo takes a turn")
    page.get_by_role("button", name="Replay").click()
    expect(then).to_contain_text("soft stop: no progress")

    page.get_by_role("tab", name="Receipts").click()
    page.get_by_role("button", name="Replay all decisions").click()
    decided = scene.ask(f"/runs/{circles}/replay")["decisions"]
    expect(page.get_by_text(f"{decided} of {decided} decisions are the same.")).to_be_visible()
    expect(page.get_by_role("list", name="Receipts")).to_contain_text("demo takes a turn")


def addresses(*runs):
    tabs = {"auto": ("log", "work", "decisions"), "history": ("log", "receipts", "stops")}
    return [
        f"{page}/{run}?tab={tab}" for page, names in tabs.items() for run in runs for tab in names
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_threads_and_runs(theme, visit, circles, parser):
    page = visit(color_scheme=theme).page("auto")
    found = {}
    for where in addresses(circles, parser):
        page.goto(page.url.partition("#")[0] + f"#/{where}")
        page.wait_for_timeout(500)
        violations = Axe().run(page).response["violations"]
        found[where] = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]

    assert {where: rules for where, rules in found.items() if rules} == {}


def test_u5_threads_and_runs_fit_a_phone(visit, circles, parser):
    page = visit(viewport=PHONE, is_mobile=True, has_touch=True).page("auto")
    for where in addresses(circles, parser):
        page.goto(page.url.partition("#")[0] + f"#/{where}")
        page.wait_for_timeout(300)
        assert clipped(page) == [], where
        expect(page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_in_viewport()
