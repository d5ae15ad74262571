"""M1.1 §7, §8 and §11 where they speak of the page: the real server in a real browser. R16, R19."""

from playwright.sync_api import expect

from acceptance.test_m1_1 import FAIRY_TALE, FIRST, HIKING, SECOND, SUMMARIZE, fairy_tale, hiking
from allstop.testing.model_server import Say, envelope
from support.room_models import BEGUN, CANCELED, LATE, endless, in_files, taking_turns, to


def slowly(it):
    """A turn that takes long enough to be seen."""
    return Say(text=taking_turns(it), delay_s=0.4)


def test_m1_1_ui_mode_toggle(salon):
    """M1.1 §7: a Mode toggle; R19: the fields that belong to a mode come and go with it."""
    tab = salon.opens(taking_turns).tab()
    tab.setup.click()
    mode = tab.page.get_by_role("group", name="Mode")

    expect(mode.get_by_role("radio")).to_have_count(3)
    assert mode.locator("label").all_inner_texts() == ["Single", "Collaborate", "Autopilot"]
    expect(mode.get_by_role("radio", name="Collaborate")).to_be_checked()
    expect(tab.page.get_by_label("Max rounds")).to_have_value("6")
    tab.choose("Autopilot")
    expect(tab.page.get_by_label("Max rounds")).to_have_count(0)
    expect(tab.page.get_by_role("switch", name="Respect final")).not_to_be_checked()
    tab.choose("Single")
    expect(tab.page.get_by_role("switch")).to_have_count(0)
    expect(tab.page.get_by_label("Ask")).to_have_value("gpt")


def test_m1_1_ui_status_chip(salon):
    """M1.1 §7: "Collab: 0/6", incrementing each round."""
    tab = salon.opens(slowly).tab()
    tab.watch_chips()

    tab.begin("Talk.", "Collaborate")

    assert len(tab.ends()) == 6
    assert tab.chips() == [f"Collab: {turns}/6" for turns in range(6)]
    expect(tab.chip).to_have_count(0)
    tab.shows("Collaboration ended: cap reached (6 of 6 rounds).")


def test_m1_1_a_context_sharing_works_in_the_page(salon):
    """M1.1 §8 A: Claude drafts, GPT edits, no "Which story?"."""
    tab = salon.opens(fairy_tale).tab()

    tab.begin(FAIRY_TALE, "Collaborate", first="claude", max_rounds=4)

    assert tab.ends() == [
        ("claude", FIRST),
        ("gpt", f"[edited] {FIRST}"),
        ("claude", f"[edited] {FIRST}\n\n{SECOND}"),
        ("gpt", "Both paragraphs are fine."),
    ]
    expect(tab.summary).to_contain_text("final")
    expect(tab.messages.first).to_contain_text(FAIRY_TALE)


def test_m1_1_b_bounded_rounds_in_the_page(salon):
    """M1.1 §8 B: the field says 2; exactly 2 turns."""
    tab = salon.opens(taking_turns).tab()

    tab.begin("Do it in many steps.", "Collaborate", max_rounds=2)

    assert tab.ends() == [("gpt", "gpt says number 1"), ("claude", "claude says number 2")]
    tab.shows("cap reached (2 of 2 rounds)")
    assert salon.asked == 2


def test_m1_1_c_mixed_envelope_behavior_in_the_page(salon):
    """M1.1 §8 C: a message with a handoff is shown and goes on; one with final ends it."""

    def answer(it):
        return envelope("second", final=True) if it.items else envelope("first", **to(it.other))

    tab = salon.opens(answer).tab()

    tab.begin("Talk.", "Collaborate")

    assert tab.ends() == [("gpt", "first"), ("claude", "second")]
    tab.shows("to claude: Go on.")
    tab.shows("Collaboration ended: final (claude says it is done).")


def test_m1_1_d_malformed_json_handling_in_the_page(salon):
    """M1.1 §8 D: its words are shown, with a warning, and it is over."""
    tab = salon.opens(lambda it: "I would rather talk.").tab()

    tab.begin("Talk.", "Collaborate")

    assert tab.ends() == [("gpt", "I would rather talk.")]
    tab.shows("gpt didn't answer in the expected format")
    expect(tab.summary).to_contain_text("malformed")


def test_m1_1_e_manual_stop(salon):
    """M1.1 §7 and §8 E: the Stop button ends it at once; the reply in flight is marked as cut."""
    salon.opens(lambda it: endless() if it.items else envelope("first", **to(it.other)))
    tab = salon.tab()
    tab.begin("Talk.", "Collaborate")
    expect(tab.live).to_contain_text(BEGUN)

    tab.stop.click()  # the call would never end; how soon it is, bench/rooms.py measures
    tab.shows(CANCELED)

    assert tab.ends() == [("gpt", "first")]
    expect(tab.live).to_have_count(0)
    expect(tab.summary).to_contain_text("canceled by user")
    assert LATE not in tab.page.content()
    tab.shows("claude was cut off. Its unfinished text, which no agent gets:")
    assert in_files(salon.person.repository / ".allstop", LATE) == []


# --- §11: the prompts, exactly as they are written there ---


def test_m1_1_prompt_1_in_the_page(salon):
    """M1.1 §11, 1: alternation, and final within 6 rounds."""
    tab = salon.opens(hiking).tab()

    tab.begin(HIKING, "Collaborate")

    spoken = tab.ends()
    assert [who for who, _ in spoken] == ["gpt", "claude", "gpt", "claude", "gpt"]
    assert spoken[-1] == ("gpt", "Step 5")


def test_m1_1_prompt_3_typed_to_the_router(salon):
    """M1.1 §6 and §11, 3; R16: `@router collaborate gpt claude: <goal>`."""
    tab = salon.opens(lambda it: envelope("One sentence.", final=True)).tab()

    tab.type(f"@router collaborate gpt claude: {SUMMARIZE}")

    assert tab.ends() == [("gpt", "One sentence.")]
    expect(tab.messages.first).to_contain_text(SUMMARIZE)


def test_m1_1_prompt_4_two_requests_back_to_back(salon):
    """M1.1 §11, 4; R14: in two tabs of two threads; a second one in the same thread is refused."""

    def answer(it):
        return Say(text=envelope(f"{it.goal} {it.round}", **to(it.other)), delay_s=0.3)

    one, two = salon.opens(answer).tab("one"), salon.tab("two")
    one.begin("Zebras", "Collaborate", max_rounds=3)
    two.begin("Lions", "Collaborate", max_rounds=3)
    again = salon.room.post("/runs", {"kind": "room", "goal": "More", "thread": "one"})

    assert [text for _, text in one.ends()] == ["Zebras 1", "Zebras 2", "Zebras 3"]
    assert [text for _, text in two.ends()] == ["Lions 1", "Lions 2", "Lions 3"]
    assert again.json["error"]["message"] == "a session is active in the thread 'one'"


def test_m1_1_single_call(salon):
    """M1.1 §0: the person picks a target, and one handoff from it is followed."""
    tab = salon.opens(taking_turns).tab()

    tab.begin("@claude What is a monad?", "Single")

    assert [who for who, _ in tab.ends()] == ["claude", "gpt"]
