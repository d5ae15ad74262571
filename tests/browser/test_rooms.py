"""The page of a room in a real browser: hostile text, broken streams, keys. R19."""

import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.control_room import ControlRoom
from support.person import wait_for
from support.room_models import BEGUN, STOPPED, endless, says, to
from support.room_page import RoomBrowser, Tab

THINKS = "{ sleep = 0.3 }, "
FOREVER = "{ sleep = 600 }, "

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "[click](javascript:document.title='owned') <b>raw</b> \x1b[31mred\x1b[0m\x1b]0;owned\x07"
    "\x1b[2J safe\u202eesrever"
)


@pytest.fixture
def salon(tmp_path, browser):
    salon = RoomBrowser(tmp_path, browser)
    yield salon
    salon.close()


def turn_with_talk(salon, **more):
    """Two agents that reply without end, each after a short time."""
    return salon.opens_with(
        gpt=[THINKS + says("a line", **to("claude", "Go on."))],
        claude=[THINKS + says("another line", **to("gpt", "Go on."))],
        **more,
    )


def test_text_of_agents_is_harmless(salon):
    """R19: Markdown is rendered safely, without terminal codes."""
    salon.opens_with(
        gpt=[says(HOSTILE, **to("claude", HOSTILE))], claude=[says("**bold**", final=True)]
    )
    tab = salon.tab()

    tab.begin(HOSTILE.replace("\x1b", ""), "Collaborate")

    tab.ends()
    message = tab.messages.nth(1)
    expect(message).to_contain_text("<img src=x onerror=")
    expect(message).to_contain_text("red")
    expect(message).to_contain_text("⟨U+202E⟩")
    expect(tab.messages.nth(2).locator("strong")).to_have_text("bold")
    expect(tab.page.locator(".page img, .page script, .markdown b")).to_have_count(0)
    expect(tab.log.get_by_role("link")).to_have_count(0)
    assert "\x1b" not in tab.page.content()
    assert tab.page.title().startswith("<img src=x onerror=")
    assert tab.page.title().endswith(" · Rooms · allstop")


def test_a_thread_with_a_hostile_name_is_only_a_name(salon):
    """What stands in an address is shown as text, and refused in words."""
    turn_with_talk(salon)
    name = "<img src=x onerror=alert(1)>"
    visit = salon.visit()
    page = visit.page(f"rooms/{quote(name, safe='')}")

    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.get_by_label("Goal").fill("Talk.")
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_contain_text("is no name for a thread")
    expect(page.get_by_role("alert")).to_contain_text("letters, digits, dots")
    expect(page.get_by_label("Goal")).to_have_value("Talk.")
    expect(page.locator(".page img")).to_have_count(0)
    visit.ours.append("status of 4")


def test_two_tabs_see_the_same(salon):
    """U1: whoever looks, sees the same session, and can stop it."""
    one = turn_with_talk(salon).tab()
    two = salon.tab()

    one.begin("Talk.", "Autopilot")
    two.shows("another line")
    two.allstop.click()

    for tab in (one, two):
        tab.shows(STOPPED)
        expect(tab.chip).to_have_count(0)
    assert one.ends() == two.ends()
    assert one.log.inner_text() == two.log.inner_text()


def reopened(salon):
    """The control room, at the same address."""
    salon.room = ControlRoom(salon.person, "--port", str(salon.room.port))


def test_after_a_broken_stream_every_message_is_shown_once(salon):
    """R19: what was said meanwhile is there after it, in order, and nothing twice."""
    salon.opens_with(
        gpt=[says("a line", **to("claude", "Go on."))], claude=[says("the end", final=True)]
    )
    tab = salon.tab()
    tab.begin("First.", "Collaborate")
    tab.ends()

    salon.room.kill()
    salon.person.allstop("room", "Second.")
    reopened(salon)
    tab.shows("Second.", within_s=60)
    expect(tab.page.get_by_role("button", name="Start")).to_be_visible()
    tab.begin("Third.", "Collaborate")

    expect(tab.messages).to_have_count(9)
    said = [
        (message.locator(".head b").inner_text(), message.locator(".markdown").inner_text())
        for message in tab.messages.all()
    ]
    session = [("gpt", "a line"), ("claude", "the end")]
    assert said == [
        *(("you", "First."), *session),
        *(("you", "Second."), *session),
        *(("you", "Third."), *session),
    ]


def test_r18_an_interrupted_session_says_so_and_can_be_resumed(salon):
    """R18: the process was killed in the second turn; it goes on there."""
    salon.opens_with(
        gpt=[says("a line", **to("claude", "Go on."))],
        claude=[FOREVER + says("too late", final=True)],
    )
    tab = salon.tab()
    tab.begin("Talk.", "Collaborate")
    expect(tab.chip).to_have_text("Collab: 1/6")

    salon.room.kill()
    salon.person.scripts(claude=[says("here I am", final=True)], gpt=[says("unused")])
    reopened(salon)
    expect(tab.banner).to_contain_text("Interrupted at turn 2", timeout=30_000)
    expect(tab.chip).to_have_text("interrupted at turn 2")
    expect(tab.live).to_have_count(0)
    tab.page.get_by_role("button", name="Resume session").click()

    assert tab.ends() == [("gpt", "a line"), ("claude", "here I am")]
    expect(tab.banner).to_have_count(0)


def test_r17_an_agent_that_fails_is_a_notice_with_the_reason(salon):
    failing = '{ fail = "bad_request", message = "the model refused the request" }'
    salon.opens_with(gpt=[failing], claude=[says("unused")])
    tab = salon.tab()

    tab.begin("Talk.", "Collaborate")

    assert tab.ends() == []
    tab.shows("the model refused the request")
    expect(tab.summary).to_contain_text("agent failed")


def test_a_refused_start_shows_the_reason_and_keeps_the_text(salon):
    """A room needs two; and the words are not lost."""
    visit = turn_with_talk(salon).visit()
    page = visit.page("rooms")
    page.get_by_role("button", name="Session:").click()
    page.get_by_role("checkbox", name="claude").uncheck()

    page.get_by_label("Goal").fill("Talk.")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("alert")).to_contain_text("a room needs 2 agents")
    expect(page.get_by_role("alert")).to_contain_text("configured: gpt, claude")
    expect(page.get_by_label("Goal")).to_have_value("Talk.")
    visit.ours.append("status of 4")


def test_u4_without_agents_the_page_says_how_to_add_some(salon):
    page = salon.opens_with().visit().page("rooms")

    expect(page.get_by_text("No agents yet.")).to_be_visible()
    expect(page.get_by_text("[agents.gpt]")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    page.set_viewport_size(PHONE)
    wait_for(lambda: clipped(page) == [], "the text to fit")


def test_u5_a_session_is_started_and_stopped_with_keys_alone(salon):
    """R19, U5: no mouse; and the words in flight are not read out, finished messages are."""
    tab = turn_with_talk(salon).tab()
    page = tab.page
    goal = page.get_by_label("Goal")
    for _ in range(40):
        if goal.evaluate("it => it === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(goal).to_be_focused()

    page.keyboard.type("Talk.")
    page.keyboard.press("Enter")
    tab.shows("another line")
    expect(tab.live).to_have_attribute("aria-live", "off")
    expect(tab.log.locator(".live")).to_have_count(0)
    page.keyboard.press("Control+.")

    tab.shows(STOPPED)


def test_u3_new_messages_do_not_move_the_text_that_is_read(salon):
    """U3: who has scrolled up stays there; a button goes back to the newest."""
    salon.opens_with(
        gpt=[THINKS + says("a long line\n\n" * 30, **to("claude", "Go on."))],
        claude=[THINKS + says("another line", **to("gpt", "Go on."))],
    )
    tab = salon.tab()
    box = tab.page.get_by_role("region", name="Transcript")
    tab.begin("Talk.", "Autopilot")
    expect(tab.messages.nth(3)).to_be_attached()
    at_the_end = "it => it.scrollHeight - it.scrollTop - it.clientHeight < 40"
    wait_for(lambda: box.evaluate(at_the_end), "the newest")

    box.evaluate("it => it.addEventListener('wheel', () => (window.from = it.scrollTop))")
    box.hover()
    tab.page.mouse.wheel(0, -300)
    expect(tab.page.get_by_role("button", name="↓ Newest")).to_be_visible()
    wait_for(lambda: box.evaluate("it => it.scrollTop === window.from - 300"), "it to move")
    before = box.evaluate("it => it.scrollTop")
    expect(tab.messages.nth(tab.messages.count() + 3)).to_be_attached()

    assert box.evaluate("it => it.scrollTop") == before
    tab.page.get_by_role("button", name="↓ Newest").click()
    wait_for(lambda: box.evaluate(at_the_end), "the newest again")
    tab.allstop.click()
    tab.shows(STOPPED)


def test_r20_threads_are_listed_by_goal_and_a_new_one_is_on_top(salon):
    tab = turn_with_talk(salon).tab()
    tab.begin("Talk **first**.", "Collaborate", max_rounds=1)
    tab.ends()
    threads = tab.page.get_by_role("navigation", name="Threads")
    expect(threads.get_by_role("link", name="Talk first.")).to_contain_text("cap reached")

    tab.page.get_by_role("button", name="New thread").click()

    expect(tab.page.get_by_role("heading", level=1)).to_have_text("New thread")
    tab.page.get_by_text("No messages yet.").wait_for()
    tab.begin("@claude Hello?", "Single")
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("@claude Hello?")
    expect(threads.get_by_role("link").first).to_contain_text("@claude Hello?")
    assert tab.ends()[0] == ("claude", "another line")
    tab.begin("Again?")
    expect(tab.log.get_by_role("heading")).to_have_count(2)
    expect(tab.log.get_by_role("heading").last).to_contain_text("Session 2 · Single")


def test_u5_many_threads_are_a_readable_list_on_a_phone(salon):
    """Each entry shows its goal in full width; a tap opens the thread and a link leads back."""
    salon.opens_with(gpt=[says("yes", final=True)], claude=[says("unused")])
    for number in range(12):
        salon.room.post(
            "/runs",
            {"kind": "room", "goal": f"Goal number {number}", "thread": f"t{number}"},
        )
    visit = salon.visit(viewport=PHONE, is_mobile=True, has_touch=True)
    page = visit.page("rooms")
    links = page.get_by_role("navigation", name="Threads").get_by_role("link")
    expect(links).to_have_count(12)
    expect(links.first).to_contain_text("Goal number 11")
    for number in range(12):
        assert links.nth(number).bounding_box()["width"] > 300
    assert clipped(page) == []

    links.first.tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Goal number 11")
    page.get_by_role("link", name="All threads").tap()
    expect(links).to_have_count(12)


def test_r13_a_suggestion_stays_with_its_turn_until_it_is_dismissed(salon):
    """R13: later replies and a reload don't take it away; a person does."""
    salon.opens_with(
        gpt=[
            says("done", final=True, **to("claude")),
            THINKS + says("more", **to("claude")),
            FOREVER + says("never"),
        ],
        claude=[THINKS + says("another", **to("gpt"))],
    )
    tab = salon.tab()
    tab.begin("Talk.", "Autopilot")
    tab.shows("more")
    tab.shows("another")

    expect(tab.banner).to_contain_text("gpt at turn 1")
    tab.page.reload()
    expect(tab.banner).to_contain_text("gpt at turn 1")
    tab.page.get_by_role("button", name="Show turn 1").click()
    expect(tab.messages.nth(1)).to_be_in_viewport()
    tab.page.get_by_role("button", name="Let them continue").click()
    expect(tab.banner).to_have_count(0)
    tab.page.reload()
    tab.shows("more")
    expect(tab.banner).to_have_count(0)


def test_r19_what_is_wrong_with_a_message_is_said_in_the_page(salon):
    """No rounds, an unknown agent, and a start while Allstop is in force."""
    tab = turn_with_talk(salon).tab()

    tab.begin("Talk.", "Collaborate", max_rounds=0)
    expect(tab.refused).to_contain_text("1 to 1,000 rounds")
    tab.choose(max_rounds=2)
    tab.type("@bob Talk.")
    expect(tab.refused).to_contain_text("No agent named bob takes part")
    expect(tab.page.get_by_label("Goal")).to_have_value("@bob Talk.")
    salon.room.post("/allstop")
    tab.type("Talk.")
    expect(tab.refused).to_contain_text("Allstop", ignore_case=True)
    salon.room.do("all", "resume")
    tab.type("Talk.")
    tab.ends()


def test_r18_an_interrupted_session_says_that_allstop_is_in_force(salon):
    salon.opens_with(gpt=[FOREVER + says("late")], claude=[says("unused")])
    tab = salon.tab()
    tab.begin("Talk.")
    expect(tab.chip).to_have_text("Collab: 0/6")
    salon.room.kill()
    reopened(salon)
    expect(tab.banner).to_contain_text("Interrupted at turn 1", timeout=60_000)

    resume = tab.page.get_by_role("button", name="Resume session")
    expect(resume).to_be_enabled()
    tab.page.get_by_role("button", name="ALLSTOP", exact=True).click()

    expect(tab.page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    expect(resume.and_(tab.page.locator(":enabled"))).to_have_count(0)


def test_r19_the_setup_survives_a_reload_and_is_one_pill(salon):
    tab = turn_with_talk(salon).tab()
    tab.choose("Collaborate", first="claude", max_rounds=3)
    expect(tab.setup).to_contain_text("claude → gpt · 3 rounds")
    tab.page.keyboard.press("Escape")
    expect(tab.setup).to_be_focused()
    expect(tab.page.get_by_role("group", name="Mode")).to_have_count(0)
    tab.page.keyboard.press("Control+m")
    expect(tab.setup).to_contain_text("Autopilot")

    tab.page.reload()

    expect(tab.setup).to_contain_text("Autopilot")
    tab.page.keyboard.press("Control+m")
    tab.page.keyboard.press("Control+m")
    expect(tab.setup).to_contain_text("claude → gpt · 3 rounds")


def test_one_stop_is_solid_red_and_only_while_something_runs(salon):
    """U1: ALLSTOP is always there; while nothing runs it is quiet."""
    salon.opens_with(gpt=[FOREVER + says("late")], claude=[says("unused")])
    tab = salon.tab()
    header = tab.page.get_by_role("button", name="ALLSTOP", exact=True)
    expect(header).to_have_class(re.compile("quiet"))

    tab.begin("Talk.", "Autopilot")

    expect(header).not_to_have_class(re.compile("quiet"))
    expect(tab.allstop).to_have_class(re.compile("one"))
    tab.allstop.click()
    tab.ends()
    expect(header).to_have_class(re.compile("quiet"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_u5_axe_finds_nothing_wrong_with_a_room_at_any_time(theme, salon):
    salon.opens_with(
        gpt=[THINKS + says("| a | b |\n| - | - |\n| `1` | **2** |", final=True, **to("claude"))],
        claude=[FOREVER + says("never")],
    )
    tab = salon.tab(color_scheme=theme)
    found = {"empty": _violations(tab.page)}
    tab.choose("Autopilot")
    found["setup"] = _violations(tab.page)
    tab.begin("Talk.")
    expect(tab.banner).to_be_visible()
    found["running"] = _violations(tab.page)
    tab.allstop.click()
    tab.ends()
    found["ended"] = _violations(tab.page)

    assert {at: rules for at, rules in found.items() if rules} == {}


def _violations(page):
    page.wait_for_timeout(300)
    rules = Axe().run(page).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in rules]


def test_u5_a_room_fits_a_phone_at_any_time(salon):
    """R19, U5: also with words that have no end, and the brakes are in sight."""
    salon.opens_with(
        gpt=[says("x" * 500 + "\n\n```\n" + "y" * 500 + "\n```", final=True, **to("claude"))],
        claude=[FOREVER + says("never")],
    )
    tab = salon.tab("a" * 64, viewport=PHONE, is_mobile=True, has_touch=True)
    lost = [clipped(tab.page)]
    tab.begin("z" * 300, "Autopilot")
    expect(tab.banner).to_be_visible()
    lost.append(clipped(tab.page))
    expect(tab.allstop).to_be_in_viewport()
    expect(tab.page.get_by_role("button", name="ALLSTOP", exact=True)).to_be_in_viewport()
    tab.allstop.tap()
    tab.ends()
    lost.append(clipped(tab.page))

    assert lost == [[]] * 3


def test_r19_a_page_opened_during_a_reply_shows_it_from_its_start(salon):
    """A tab that shares the stream of another, and one that has its own."""
    salon.opens(lambda it: endless())
    visit = salon.visit()
    first = Tab(visit.page("rooms/default"))
    first.begin("Talk.", "Autopilot")
    expect(first.live).to_contain_text(f"{BEGUN} and on and on")

    for late in (Tab(visit.page("rooms/default")), salon.tab()):
        expect(late.live).to_contain_text(f"{BEGUN} and on and on")
        said = late.live.locator(".markdown").inner_text()
        assert re.fullmatch(rf"{BEGUN}( and on)+", said.strip())
