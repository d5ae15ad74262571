"""Rooms in a real browser: begin, read along, say something, end it."""

import re

import pytest
from playwright.sync_api import expect

from people import at_home
from scenes import Scene

ENVELOPE = '{{"message": "{}", "handoff": {{"to": "{}", "task": "Go on."}}{}}}'
SLOW = "[[turn]]\nsteps = [{{ sleep = {} }}, {{ say = '{}' }}, {{ use = {{ input = 900, output = 100 }} }}]\n"
PAYLOAD = "<img src=x onerror=alert(1)> [here](javascript:alert(2)) **bold**\\u202e"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = Scene(at_home(tmp_path_factory.mktemp("room")))
    scene.prepare()
    person = scene.person
    turns = [ENVELOPE.format(PAYLOAD, "claude", "")] + [
        ENVELOPE.format(f"Line {n} of gpt.", "claude", ', "final": true' if n == 3 else "")
        for n in range(2, 30)
    ]
    person.write("gpt.toml", "".join(SLOW.format(0.2, turn) for turn in turns))
    person.write(
        "claude.toml",
        "".join(SLOW.format(0.2, ENVELOPE.format(f"Line {n}.", "gpt", "")) for n in range(1, 30)),
    )
    person.allstop("trust", "--yes")
    scene.open()
    yield scene
    person.close()


def begin(page, goal, mode, **more):
    page.get_by_role("radio", name=mode).check()
    if "max_rounds" in more:
        page.get_by_label("max_rounds").fill(more["max_rounds"])
    page.get_by_label("The goal").fill(goal)
    page.get_by_role("button", name="Begin").click()


def test_r19_collaborate_counts_up_and_ends_at_max_rounds(visit):
    page = visit().page("rooms/bounded")
    expect(page.get_by_role("radio")).to_have_count(3)

    begin(page, "Write a slogan.", "Collaborate", max_rounds="2")

    talk = page.get_by_role("log", name="What was said")
    expect(talk).to_contain_text("Write a slogan.")
    expect(page.get_by_text("Collab: 2/2")).to_be_visible()
    expect(talk.get_by_role("article")).to_have_count(3)
    expect(page.get_by_text(re.compile(r"2\.0k tokens"))).to_be_visible()


def test_r19_what_agents_write_is_shown_and_can_do_nothing(visit):
    """Raw HTML is text, a script is no link, and letters that hide others are visible."""
    here = visit()
    page = here.page("rooms/hostile")
    alerts = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))

    begin(page, "Say something nasty.", "Collaborate", max_rounds="1")

    said = page.get_by_role("article").filter(has_text="gpt")
    expect(said).to_contain_text("<img src=x onerror=alert(1)> here bold⟨U+202E⟩")
    expect(said.locator("strong")).to_have_text("bold")
    expect(said.locator("img, a")).to_have_count(0)
    assert alerts == []


def test_r19_stop_ends_a_collaboration_and_says_so(visit):
    page = visit().page("rooms/cancelled")
    begin(page, "Go on for long.", "Collaborate", max_rounds="25")
    expect(page.get_by_text(re.compile(r"Collab: [1-9]\d*/25"))).to_be_visible()

    page.get_by_role("button", name="Stop", exact=True).click()

    expect(page.get_by_text("Collaboration canceled by user.")).to_be_visible()
    expect(page.get_by_label("The goal")).to_be_visible()


def test_r19_autopilot_shows_its_turn_the_suggestion_and_ends_by_allstop(visit):
    page = visit().page("rooms/endless")
    begin(page, "Never end.", "Autopilot")

    expect(page.get_by_text(re.compile(r"Autopilot: running \(turn \d+\)"))).to_be_visible()
    suggestion = "Agent suggests finish — press ALLSTOP to end or let them continue."
    expect(page.get_by_role("log").get_by_text(suggestion)).to_be_visible()
    page.get_by_label("Say something").fill("Allstop")
    page.keyboard.press("Enter")

    expect(page.get_by_label("The goal")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Autopilot: ended"))).to_be_visible()
