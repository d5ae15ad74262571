"""Sounds and notifications in a real browser: only after a click, and only from one tab."""

import pytest
from playwright.sync_api import expect

from support.person import at_home, wait_for
from support.sample_board import SampleBoard

ASKS = r"""
[[turn]]
when = "Hostile"
steps = [
  { sleep = 1 },
  { signal = "PENDING: <img src=x> \u001b]0;t\u0007\u001b[31m\u202ewhich?" },
]

[[turn]]
steps = [{ sleep = 1 }, { signal = "PENDING: An hour, or a day?" }]
"""

# A headless browser shows no notifications, and some allow none, so this script records the calls.
EARS = """
window.heard = { tones: 0, shown: [], bodies: [] }
const make = AudioContext.prototype.createOscillator
AudioContext.prototype.createOscillator = function () {
  window.heard.tones++
  return make.call(this)
}
const Real = Notification
window.Notification = class extends Real {
  static get permission() { return 'granted' }
  constructor(title, options) {
    super(title, options)
    window.heard.shown.push(title)
    window.heard.bodies.push(options.body)
  }
}
"""
ELSEWHERE = """
Object.defineProperty(document, 'hidden', { get: () => window.isElsewhere ?? false })
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("alerts")))
    scene.prepare()
    scene.person.write("script.toml", ASKS)
    scene.person.allstop("trust", "--yes")
    scene.open()
    yield scene
    scene.person.close()


@pytest.fixture
def tabs(visit):
    """Three of them, in a browser that allows notifications."""
    here = visit(permissions=["notifications"])
    here.context.add_init_script(EARS + ELSEWHERE)
    return [here.page("settings") for _ in range(3)]


def look_elsewhere(page):
    page.evaluate(
        "window.isElsewhere = true, document.dispatchEvent(new Event('visibilitychange'))"
    )


def tones(pages):
    return [page.evaluate("heard.tones") for page in pages]


def shown(pages):
    return [title for page in pages for title in page.evaluate("heard.shown")]


def ask(scene, title):
    scene.add((title, "api", "sessions"))
    scene.post("/runs", {"kind": "board"})
    wait_for(lambda: title in scene.titles("waiting"), "a question", 60)


def test_u4_p11_alerts_are_off_until_a_person_turns_them_on(scene, tabs):
    for page in tabs:
        look_elsewhere(page)

    ask(scene, "Quiet one")

    expect(tabs[0]).to_have_title("(1) Settings · allstop")
    tabs[0].wait_for_timeout(800)
    assert tones(tabs) == [0, 0, 0]
    assert shown(tabs) == []


def test_u4_p11_one_tab_of_many_makes_the_alert(scene, tabs):
    first = tabs[0]
    first.get_by_role("checkbox", name="Sounds").check()
    first.get_by_role("checkbox", name="Notifications").check()
    wait_for(lambda: tones(tabs) == [1, 0, 0], "the sound that says that there are sounds")
    for page in tabs:
        look_elsewhere(page)

    ask(scene, "Loud one")

    wait_for(lambda: shown(tabs), "a notification")
    first.wait_for_timeout(800)
    assert shown(tabs) == ["Needs you: Loud one"]
    assert tones(tabs)[1:] == [0, 0]
    assert tones(tabs)[0] > 1


def test_k22_a_notification_shows_hidden_characters(scene, tabs):
    first = tabs[0]
    first.get_by_role("checkbox", name="Notifications").check()
    for page in tabs:
        look_elsewhere(page)

    ask(scene, "Hostile \x1b[2J\u202eone")

    wait_for(lambda: shown(tabs), "a notification")
    assert shown(tabs) == ["Needs you: Hostile ⟨U+202E⟩one"]
    bodies = [body for page in tabs for body in page.evaluate("heard.bodies")]
    assert bodies == ["<img src=x> ⟨U+202E⟩which?"]


def test_u4_no_notification_while_a_tab_is_visible_or_alerts_are_muted(scene, tabs):
    first = tabs[0]
    first.get_by_role("checkbox", name="Sounds").check()
    first.get_by_role("checkbox", name="Notifications").check()
    wait_for(lambda: tones(tabs)[0] == 1, "a sound")
    first.get_by_role("button", name="Mute").click()

    ask(scene, "Muted one")

    first.wait_for_timeout(1200)
    assert shown(tabs) == []
    assert tones(tabs) == [1, 0, 0]
