"""M1.2 §7 and §10 where they speak of the page: the real server in a real browser. R6 to R13, R19."""

import re

import pytest
from playwright.sync_api import expect

from acceptance.test_m1_2 import BAKERY, improvements
from allstop.testing.model_server import Say, envelope
from support.room_models import BEGUN, LATE, STOPPED, endless, in_files, taking_turns, to

SUGGESTS = "Agent suggests finish — press ALLSTOP to end or let them continue."


def unhurried(it):
    """An agent that takes a moment, so that a person can keep up."""
    return Say(text=taking_turns(it), delay_s=0.1)


def test_m1_2_ui_mode_toggle_has_three_choices(salon):
    """M1.2 §7: Single, Collaborate, Autopilot; each can be taken with the keyboard alone."""
    tab = salon.opens(taking_turns).tab()
    mode = tab.page.get_by_role("group", name="Mode")

    tab.setup.focus()
    tab.page.keyboard.press("Enter")
    mode.get_by_role("radio", name="Collaborate").focus()
    tab.page.keyboard.press("ArrowRight")

    expect(mode.get_by_role("radio", name="Autopilot")).to_be_checked()
    assert mode.locator("label").all_inner_texts() == ["Single", "Collaborate", "Autopilot"]


def test_m1_2_ui_status_chip(salon):
    """M1.2 §7: "Autopilot: running (turn 17)", counting up; tokens, cost and time beside it."""
    tab = salon.opens(unhurried).tab()
    tab.watch_chips()

    tab.begin("Talk.", "Autopilot")

    tab.shows("says number 17", within_s=60)
    seen = tab.chips()
    assert seen[0] == "Autopilot: running (turn 1)"
    assert "Autopilot: running (turn 17)" in seen
    expect(tab.used).to_have_text(re.compile(r"^\s*[\d.]+k? tokens\s*·\s*\S+\s*·\s*\d+s\s*$"))
    tab.allstop.click()
    tab.shows(STOPPED)
    expect(tab.chip).to_have_count(0)


def test_m1_2_a_autopilot_runs_past_former_bounds_in_the_page(salon):
    """M1.2 §10 A: more than 10 turns without stopping."""
    salon.opens(lambda it: Say(text=improvements(it), delay_s=0.1))  # a page shows the newest only
    tab = salon.tab()

    tab.begin(BAKERY, "Autopilot")

    tab.shows("Improvement 12")
    tab.allstop.click()
    spoken = tab.ends()
    assert [text for _, text in spoken[:12]] == [f"Improvement {n}" for n in range(1, 13)]
    assert [who for who, _ in spoken[:4]] == ["gpt", "claude", "gpt", "claude"]


def test_m1_2_b_alternation_in_the_page(salon):
    """M1.2 §10 B: without a handoff the other one is next."""
    salon.opens(lambda it: Say(text=envelope(f"number {it.round}"), delay_s=0.1))
    tab = salon.tab()

    tab.begin("Talk.", "Autopilot")

    tab.shows("number 4")
    tab.allstop.click()
    assert [who for who, _ in tab.ends()[:4]] == ["gpt", "claude", "gpt", "claude"]


def stopped_while_it_speaks(salon, stop):
    """Autopilot in its second turn, which never ends; then `stop`. What the page showed of it."""
    salon.opens(lambda it: endless() if it.items else envelope("first", **to(it.other)))
    tab = salon.tab()
    tab.begin("Talk.", "Autopilot")
    expect(tab.live).to_contain_text(BEGUN)

    stop(tab)  # the call would never end; how soon it is, bench/rooms.py measures
    tab.shows(STOPPED)
    assert tab.ends() == [("gpt", "first")]
    expect(tab.live).to_have_count(0)
    expect(tab.summary).to_contain_text("stopped by user")
    assert LATE not in tab.page.content()
    assert in_files(salon.person.repository / ".allstop", LATE) == []
    assert salon.disconnects == 1
    return [
        (event["type"], event["sender"], event["target"], event["kind"]) for event in salon.events()
    ]


STOPPED_EVENTS = [
    ("human_message", "you", "router", None),
    ("system", "router", "all", "notice"),
    ("agent_call", "router", "gpt", None),
    ("agent_response", "gpt", "all", None),
    ("agent_call", "router", "claude", None),
    ("system", "router", "all", "ended"),
    ("system", "router", "all", "summary"),
    ("system", "claude", "all", "cut"),  # for people: no agent gets the unfinished text
]


@pytest.mark.parametrize("word", ["Allstop", "all stop", "ALL-STOP!"])
def test_m1_2_c_allstop_command_typed_in_the_page(salon, word):
    """M1.2 §10 C; R7, R8: any case, with or without space; within 1 s; the reply is ignored."""
    assert stopped_while_it_speaks(salon, lambda tab: tab.type(word)) == STOPPED_EVENTS


def test_m1_2_d_allstop_button_in_the_page(salon):
    """M1.2 §7 and §10 D: one click, no dialog; the very same as the typed word."""
    assert stopped_while_it_speaks(salon, lambda tab: tab.allstop.click()) == STOPPED_EVENTS


def test_m1_2_d_allstop_button_by_its_key(salon):
    """R19: the same with a shortcut, while somebody types."""

    def press(tab):
        tab.page.get_by_label("Message", exact=True).fill("I was about to say")
        tab.page.keyboard.press("Control+.")

    assert stopped_while_it_speaks(salon, press) == STOPPED_EVENTS


def test_m1_2_e_final_ignored_by_default_in_the_page(salon):
    """M1.2 §7 and §10 E; R13: it goes on, and a subtle banner says that one may stop."""

    def answer(it):
        return Say(text=envelope(f"number {it.round}", final=True, **to(it.other)), delay_s=0.5)

    tab = salon.opens(answer).tab()
    tab.begin("Talk.", "Autopilot")

    expect(tab.banner).to_contain_text(SUGGESTS)
    tab.shows("number 3")
    expect(tab.banner).to_contain_text(SUGGESTS)
    expect(tab.messages.nth(1)).to_contain_text("suggests finish")
    tab.allstop.click()
    tab.shows(STOPPED)
    expect(tab.banner).to_have_count(0)
    expect(tab.summary).to_contain_text("An agent had suggested to finish.")


def test_m1_2_e_respect_final_is_a_switch(salon):
    """M1.2 §2.2: with it, final ends Autopilot too."""
    tab = salon.opens(lambda it: envelope("done", final=True)).tab()

    tab.begin("Talk.", "Autopilot", respect_final=True)

    assert tab.ends() == [("gpt", "done")]
    expect(tab.summary).to_contain_text("final")


def test_m1_2_f_emergency_cutoff_in_the_page(own_salon):
    """M1.2 §6 and §10 F; R12: the notice says which guard tripped."""
    tab = own_salon.opens(taking_turns, "[room]\nmax_turns_emergency = 3\n").tab()

    tab.begin("Talk.", "Autopilot")

    assert len(tab.ends()) == 3
    tab.shows("Collaboration stopped: emergency cap (room.max_turns = 3).")


def test_m1_2_f_soft_guard_in_the_page(own_salon):
    """M1.2 §6; R11: a small note that stops nothing."""
    tab = own_salon.opens(unhurried, "[room]\nsoft_turns = 2\n").tab()

    tab.begin("Talk.", "Autopilot")

    tab.shows("Autopilot running. Say ‘Allstop’ to end.")
    tab.shows("says number 4")
    tab.type("Allstop")
    tab.shows(STOPPED)


def test_m1_2_g_no_active_session_in_the_page(salon):
    """M1.2 §10 G; R9: no crash, no notice of a stop; it is noted as a no-op."""
    tab = salon.opens(lambda it: envelope("done", final=True)).tab()

    tab.type("Allstop")

    tab.shows("no-op")
    expect(tab.refused).to_have_count(0)
    tab.begin("Talk.", "Collaborate")
    assert tab.ends() == [("gpt", "done")]
    assert STOPPED not in tab.page.content()


def test_r6_a_person_is_heard_at_the_next_turn_and_picks_who_speaks(salon):
    """R6: typed while they run, without restarting anything."""

    def answer(it):
        heard = it.said("you")
        text = f"heard: {heard[-1]}" if heard else f"number {it.round}"
        return Say(text=envelope(text, **to(it.other)), delay_s=0.3)

    tab = salon.opens(answer).tab()
    tab.begin("Talk.", "Autopilot")
    tab.shows("number 1")

    tab.type("@gpt Make it *rhyme*.")

    tab.shows("heard: @gpt Make it")
    said = salon.events()
    at = next(n for n, event in enumerate(said) if event["text"].startswith("@gpt"))
    calls = [event for event in said[at:] if event["type"] == "agent_call"]
    assert calls[0]["target"] == "gpt"
    assert len({event["session_id"] for event in said}) == 1
    tab.allstop.click()
    tab.shows(STOPPED)
