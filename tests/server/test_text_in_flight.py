"""R19, U3: the text of a running turn, for listeners that connect during it."""

from allstop.core.ids import RunId
from allstop.server.stream.text_in_flight import MAX_CHARS, LiveTexts, Source

RUN = RunId("t1")
TEXT = Source(RUN, "text", "")
OUTPUT = Source(RUN, "output", "")


def spans(words):
    return [(each.kind, each.start, each.end, each.text) for each in words]


def test_each_piece_says_where_it_belongs_and_the_whole_can_be_asked_for():
    live_texts = LiveTexts(lambda: 100)
    pieces = [
        live_texts.add(TEXT, "One "),
        live_texts.add(OUTPUT, "ls"),
        live_texts.add(TEXT, "two😀"),
    ]

    assert spans(pieces) == [
        ("text", 100, 104, "One "),
        ("output", 100, 102, "ls"),
        ("text", 104, 108, "two😀"),
    ]
    assert spans(live_texts.of(RUN)) == [
        ("text", 100, 108, "One two😀"),
        ("output", 100, 102, "ls"),
    ]
    assert live_texts.of(RunId("other")) == []


def test_what_is_over_is_forgotten_and_what_comes_then_has_higher_numbers():
    times = iter([100, 5_000])
    live_texts = LiveTexts(lambda: next(times))
    live_texts.add(TEXT, "before")
    live_texts.forget(RUN)

    assert live_texts.of(RUN) == []
    assert spans([live_texts.add(TEXT, "anew")]) == [("text", 5_000, 5_004, "anew")]


def test_of_very_much_only_the_end_is_kept():
    live_texts = LiveTexts(lambda: 0)
    live_texts.add(TEXT, "a" * MAX_CHARS)
    live_texts.add(TEXT, "bc")
    (kept,) = live_texts.of(RUN)

    assert (len(kept.text), kept.text[-3:], kept.start, kept.end) == (
        MAX_CHARS,
        "abc",
        2,
        MAX_CHARS + 2,
    )


def test_u3_of_what_an_agent_does_now_only_the_latest_is_kept():
    status = Source(RUN, "status", "")
    live_texts = LiveTexts(lambda: 0)
    live_texts.add(status, "Bash ls")

    assert spans([live_texts.add(status, "Edit a.py")]) == [("status", 7, 16, "Edit a.py")]
    assert spans(live_texts.of(RUN)) == [("status", 7, 16, "Edit a.py")]
