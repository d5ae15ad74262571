"""S1, S2: sprints in a real browser: the form, the page of a sprint, its keys and its looks."""

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
when = "slow"
steps = [{ say = "I look around." }, { sleep = 600 }]

[[turn]]
when = "fail"
steps = [{ fail = "bad_request", message = "the model refused the request" }]

[[turn]]
steps = [{ write = "done.txt", text = "done" }, { say = "Done.\n<promise>COMPLETE</promise>" }]
"""
SETTINGS = """
[loop]
max_parallel = 1
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """An ended sprint, and a running one with a task at work that doesn't end."""
    person = at_home(tmp_path_factory.mktemp("sprints"))
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    scene = SampleBoard(person)
    scene.open()
    for title, tags in (
        ("Round VAT per line", ["billing"]),
        ("This one must fail", ["billing"]),
        ("Log in with a passkey", ["web"]),
    ):
        tell(scene, "add_task", title=title, operation="Payments", tags=tags)
    start(scene, {"type": "count", "value": 2}, filters={"include_tags": ["billing"]})
    wait_for(lambda: sprints(scene)[0]["endedAt"], "the end of the first", 60)
    tell(scene, "add_task", title="A slow one", tags=["other"])
    yield scene
    person.close()


def tell(scene, command, **words):
    return scene.post("/runs/board/commands", {"command": command, **words})


def start(scene, target, **words):
    return scene.post("/runs", {"kind": "sprint", "target": target, **words})


def sprints(scene):
    return scene.ask("/sprints")["sprints"]


@pytest.fixture
def at_work(scene):
    """A running sprint with a task that doesn't end."""
    tag = f"slow{len(sprints(scene))}"
    title = "A slow task with a rather long title for a phone"
    (task,) = tell(scene, "add_task", title=title, tags=[tag])["tasks"]
    start(scene, {"type": "count", "value": 2}, filters={"include_tags": [tag]})
    wait_for(lambda: sprints(scene)[0]["atWork"] == [task], "its task", 60)
    yield scene
    if sprints(scene)[0]["endedAt"] is None:
        tell(scene, "cancel_sprint")
    scene.post(f"/runs/{task}/commands", {"command": "abort"})
    wait_for(lambda: scene.ask(f"/tasks/{task}")["held"], "its end", 60)


def test_s1_the_form_counts_what_matches_and_starts_a_sprint(scene, visit):
    page = visit().page("sprints/new")
    expect(page.get_by_role("heading", name="New sprint")).to_be_visible()
    page.get_by_role("button", name="A number of tasks").click()
    start_button = page.get_by_role("button", name=re.compile("Start sprint"))
    expect(start_button).to_be_disabled()
    page.get_by_label("Tasks", exact=True).fill("1")
    chips = page.get_by_role("group", name="Tags, any of")
    chips.get_by_role("button", name=re.compile("^web")).click()
    expect(page.get_by_role("status").filter(has_text="match")).to_contain_text("1 of 2 match")
    would = page.get_by_role("region", name="What would run")
    expect(would).to_contain_text("Log in with a passkey")
    expect(would).not_to_contain_text("A slow one")

    page.keyboard.press("Control+Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Sprint 2")
    expect(page.get_by_text("its target is reached")).to_be_visible()
    expect(page.get_by_role("region", name="Finished", exact=True)).to_contain_text(
        "Log in with a passkey"
    )
    assert sprints(scene)[0]["filters"]["includeTags"] == ["web"]
    assert sprints(scene)[0]["target"] == {"type": "count", "value": 1}


def test_s6_a_refused_sprint_keeps_what_was_typed(visit):
    page = visit().page("sprints/new")
    page.get_by_role("button", name="All that is ready").click()
    page.get_by_role("group", name="Tags, any of").get_by_role("button").first.click()
    page.get_by_role("group", name="Never").get_by_role("button").first.click()
    page.get_by_role("button", name=re.compile("Start sprint")).click()

    expect(page.get_by_text("is both taken in and left out")).to_be_visible()
    expect(page.get_by_role("button", name="All that is ready")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("#/sprints$"))


def test_s2_a_sprint_is_paused_resumed_and_cancelled_on_its_page(at_work, visit):
    page = visit().page("sprints")
    expect(page.get_by_role("region", name="Now")).to_contain_text("slow task")
    expect(page.get_by_text("of 2")).to_be_visible()

    page.keyboard.press("p")
    expect(page.get_by_role("status").filter(has_text="Paused:")).to_contain_text("a person")
    page.get_by_role("button", name=re.compile("^Resume")).click()
    expect(page.get_by_role("button", name=re.compile("^Pause"))).to_be_visible()
    page.get_by_role("button", name="Cancel sprint").click()

    expect(page.get_by_role("link", name="New sprint")).to_be_visible()
    expect(page.get_by_text("a person cancelled it")).to_be_visible()


def test_s1_every_sprint_is_listed_and_has_its_address(visit):
    page = visit().page("sprints/sprint1")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sprint 1")
    finished = page.get_by_role("region", name="Finished", exact=True)
    expect(finished).to_contain_text("Round VAT per line")
    expect(finished).to_contain_text("not verified")
    table = page.get_by_role("region", name="All sprints")
    table.get_by_role("link", name="1", exact=True).focus()
    assert table.get_by_role("row").count() > 1
    page.goto(page.url.replace("sprint1", "sprint99"))
    expect(page.get_by_text("There is no sprint99.")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_sprints(theme, at_work, visit):
    seen = visit(color_scheme=theme)
    for where in ("sprints", "sprints/sprint1", "sprints/new"):
        page = seen.page(where)
        expect(page.get_by_text("Loading")).to_have_count(0)
        results = Axe().run(page)
        assert results.violations_count == 0, (where, results.generate_report())
        page.close()


def test_u5_sprints_fit_a_phone(at_work, visit):
    seen = visit(viewport=PHONE)
    for where in ("sprints", "sprints/sprint1", "sprints/new"):
        page = seen.page(where)
        expect(page.get_by_text("Loading")).to_have_count(0)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"], (where, width)
        assert clipped(page) == [], where
        page.close()
