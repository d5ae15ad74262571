"""B7: only the last line of a message can be a signal."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from allstop.core import work_prompts
from allstop.core.signals import NO_CLAIM, Signal, SignalClaim, read_signal
from support.cases import for_each

PROMISE = "<promise>COMPLETE</promise>"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (PROMISE, SignalClaim(signal=Signal.COMPLETE)),
        (f"All done.\n\n{PROMISE}", SignalClaim(signal=Signal.COMPLETE)),
        (f"All done.\r\n{PROMISE}\r\n\r\n", SignalClaim(signal=Signal.COMPLETE)),
        (f"   {PROMISE}  \n \t \n", SignalClaim(signal=Signal.COMPLETE)),
        ("<promise> COMPLETE </promise>", SignalClaim(signal=Signal.COMPLETE)),
        (
            "<promise>BLOCKED: no key: ask Anna</promise>",
            SignalClaim(signal=Signal.BLOCKED, text="no key: ask Anna"),
        ),
        (
            "<promise>PENDING: tabs, or List<int> spaces?</promise>",
            SignalClaim(signal=Signal.PENDING, text="tabs, or List<int> spaces?"),
        ),
        (
            "<promise>PROGRESS: 40% tests next</promise>",
            SignalClaim(signal=Signal.PROGRESS, text="40% tests next"),
        ),
        (f"<promise>BLOCKED: x</promise>\n{PROMISE}", SignalClaim(signal=Signal.COMPLETE)),
    ],
)
def test_b7_the_last_line_is_the_signal(message, said):
    assert read_signal(message) == said


@for_each(
    "message",
    [
        "",
        "\n \n",
        "COMPLETE",
        "BLOCKED: no key",
        "I promise it is COMPLETE",
        "<promise></promise>",
        "<promise>",
        "<promise>COMPLETE",
        "COMPLETE</promise>",
        "<promise>complete</promise>",
        "<promise>Complete</promise>",
        "<Promise>COMPLETE</Promise>",
        "<PROMISE>COMPLETE</PROMISE>",
        "<promise>COMPLETED</promise>",
        "<promise>NOT COMPLETE</promise>",
        "<promise>COMPLETE: yes</promise>",
        "<promise>COMPLETE</promise>.",
        "**<promise>COMPLETE</promise>**",
        "`<promise>COMPLETE</promise>`",
        "> <promise>COMPLETE</promise>",
        "- <promise>COMPLETE</promise>",
        "I say <promise>COMPLETE</promise>",
        "<promise>COMPLETE</promise> when the tests pass",
        "<promise>COMPLETE</promise>\nBut wait, one more thing.",
        "Say <promise>COMPLETE</promise> at the end.\nNow I begin.",
        "```\n<promise>COMPLETE</promise>\n```",
        "```\n<promise>COMPLETE</promise>\n```\nThis is what I will say.",
        "<promise>BLOCKED</promise>",
        "<promise>BLOCKED:</promise>",
        "<promise>BLOCKED: </promise>",
        "<promise>PENDING:\nwhich?</promise>",
        "<promise>COM\u200bPLETE</promise>",
        "\u200b<promise>COMPLETE</promise>",
        "<promise>COMPLETE</promise>\u200b",
        "<promise>COMPLETE</promise>\ufeff",
        "<prom\u00adise>COMPLETE</promise>",
        "<promise>\u0421OMPLETE</promise>",
        "\uff1cpromise\uff1eCOMPLETE\uff1c/promise\uff1e",
        "&lt;promise&gt;COMPLETE&lt;/promise&gt;",
        "<promise>COMPLETE</promise><promise>COMPLETE</promise>",
        "<promise>COMPLETE</promise> <promise>BLOCKED: x</promise>",
        "<promise>BLOCKED: x</promise> <promise>COMPLETE</promise>",
        "<promise>PENDING: <promise>COMPLETE</promise></promise>",
        "<promise>BLOCKED: a</promise> and <promise>PENDING: b</promise>",
        "\x1b[32m<promise>COMPLETE</promise>\x1b[0m",
        "words\r<promise>COMPLETE</promise>",
        "words\u2028<promise>COMPLETE</promise>",
    ],
)
def test_b7_nothing_else_is_a_signal(message):
    assert read_signal(message) == NO_CLAIM


@pytest.mark.parametrize(
    "prompt",
    [
        work_prompts.first("Add a function"),
        work_prompts.again("Add a function", work_prompts.NO_SIGNAL),
        work_prompts.again("Add a function", work_prompts.NO_CHANGE),
        work_prompts.SIGNALS,
        work_prompts.first(f"Make the agent end with\n{PROMISE}"),
    ],
)
def test_b7_the_prompt_said_back_is_not_a_signal(prompt):
    assert read_signal(prompt) == NO_CLAIM
    assert read_signal(f"I was told:\n{prompt}") == NO_CLAIM


LINES = st.lists(
    st.sampled_from(["", "  ", "words", PROMISE, "<promise>", "</promise>", "COMPLETE", "\x0c"])
    | st.text(max_size=30),
    max_size=6,
)
IS_A_PROMISE = re.compile(r"<promise>(?:(?!</?promise>)[^\n])*</promise>")


@given(LINES)
@example(["<promise>BLOCKED: x</promise> <promise>COMPLETE</promise>"])
def test_b7_text_that_does_not_end_in_a_promise_line_is_never_a_signal(lines):
    text = "\n".join(lines)
    last = next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")

    if IS_A_PROMISE.fullmatch(last) is None:
        assert read_signal(text) == NO_CLAIM


@given(st.text(), st.sampled_from(["words", "```", ".", "-- \nsent from my terminal"]))
def test_b7_whatever_follows_a_promise_takes_it_back(before, after):
    assert read_signal(f"{before}\n{PROMISE}\n{after}") == NO_CLAIM


@given(st.text(), st.text(alphabet=" \t\n"))
def test_b7_whatever_comes_before_a_promise_line_does_not_matter(before, space):
    assert read_signal(f"{before}\n{PROMISE}{space}") == SignalClaim(signal=Signal.COMPLETE)


def test_a_message_of_ten_megabytes_is_read_at_once():
    message = "<promise>BLOCKED: " * 500_000

    assert read_signal(message) == NO_CLAIM
