"""P5, B8: finding a limit in the output of a failed program."""

import pytest

from allstop.adapters.agents.limit_patterns import find_limit_line
from allstop.core.moves import FailureKind
from support.cases import for_each


@for_each(
    "line",
    [
        "Error: 429",
        "error: 429 Too Many Requests",
        "HTTP error 429: too many requests",
        "HTTP/1.1 429 Too Many Requests",
        'API Error: 429 {"type":"error"}',
        "API Error: Request rejected (429)",
        "Error code: 429 - {'error': {}}",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "openai.RateLimitError: slow down",
        '{"type":"overloaded_error","message":"Overloaded"}',
        "Rate limit exceeded. Try again later.",
        "fatal: rate limit reached for gpt-5",
        "my-agent: rate limited, try again in 20 minutes",
        "Overloaded",
        "error: the model is currently overloaded.",
        "You exceeded your current quota, please check your plan",
        "Claude AI usage limit reached|1754020800",
        "5-hour limit reached ∙ resets 12:50am",
        "You've hit your session limit · resets 12:50am",
    ],
)
def test_p5_an_error_of_a_limit_is_one(line):
    for out, err in ((f"starting\n{line}\n\n", "what it did"), ("", f"what it did\n{line}\n")):
        message = find_limit_line(out, err).fault.message
        assert message
        assert message in line


@pytest.mark.parametrize(
    "line",
    [
        "I added a rate limit to the login form, build broken",
        "I added the rate limit and the overloaded methods; the build is broken.",
        "The endpoint now answers 429 when there are too many requests, but tests fail.",
        "test_x.py:429: rate is wrong",
        "429 passed, 1 failed in 3.20s",
        "1 failed, 429 passed in 3.20s",
        "FAILED tests/test_rate_limit.py::test_exceeded - assert 1 == 2",
        "main.cc:7: error: call of overloaded 'f(int)' is ambiguous",
        "Writing tests for what happens once the usage limit reached state is shown",
        "line 429",
    ],
)
def test_b8_words_about_limits_are_none(line):
    assert find_limit_line(line, "") is None
    assert find_limit_line("", line) is None


def test_b8_only_the_end_of_what_it_says_counts():
    early = "Error: 429\n" + "a line\n" * 3

    assert find_limit_line(early, "") is None
    assert find_limit_line("", "Error: 429\nwent on\n") is None
    assert find_limit_line("a crash", "Error: 429") is None, "it has said what was wrong elsewhere"


def test_p5_patterns_of_ones_own_count_too():
    assert find_limit_line("come back tomorrow", "", ["come back"]).kind is FailureKind.RATE_LIMITED
