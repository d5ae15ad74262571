"""Repetition in a room is detected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.rooms.repetition import REMEMBERED, REPEATS, fingerprint, repetition_reason


def circles(*messages):
    return repetition_reason(tuple(map(fingerprint, messages))[-REMEMBERED:])


def test_the_same_said_three_times_is_a_circle():
    assert circles("a", "b", "a", "b") == ""
    assert circles("a", "b", "a", "b", "a") == "the same message 3 times"


def test_case_spaces_and_punctuation_make_no_difference():
    assert circles("Let us do it!", "x", "let us  do it", "y", "LET US DO IT…") != ""


def test_four_messages_of_nothing_but_politeness_are_a_circle():
    polite = ["Thank you!", "You're welcome.", "Great work, thanks.", "Glad to help!"]

    assert circles(*polite[:3]) == ""
    assert circles(*polite) == "the last 4 messages are only courtesies"
    assert circles(*polite, "The next step is to bake the bread at 220 degrees.") == ""


@pytest.mark.parametrize(
    "message",
    [
        "Thanks. " + "The oven must be preheated to 220 degrees for forty minutes before use. " * 4,
        "The next step is the crust.",
        "",
        "1. Flour 2. Water 3. Salt",
        "+1 for the crust",
    ],
)
def test_what_says_something_is_not_mere_politeness(message):
    assert not fingerprint(message).startswith("+")


def test_work_that_goes_on_is_no_circle():
    steps = [f"Step {number}: add ingredient number {number}." for number in range(50)]

    assert all(circles(*steps[: end + 1]) == "" for end in range(50))


def test_what_was_said_long_ago_is_forgotten():
    said = ["same"] + [f"other {n}" for n in range(REMEMBERED)]

    assert circles(*said, "same", "x", "same") == ""


def test_no_prints_no_circle():
    assert repetition_reason(()) == ""


@given(messages=st.lists(st.text(max_size=30), max_size=REMEMBERED))
def test_a_circle_is_never_seen_in_fewer_messages_than_it_takes(messages):
    found = circles(*messages)

    assert found == "" or len(messages) >= REPEATS


@given(message=st.text(max_size=3000), times=st.integers(REPEATS, REMEMBERED))
def test_whatever_is_repeated_is_found(message, times):
    assert circles(*[message] * times) != ""


@given(message=st.text(max_size=5000))
def test_a_fingerprint_is_short_and_one_line(message):
    found = fingerprint(message)

    assert len(found) <= 4001
    assert "\n" not in found
