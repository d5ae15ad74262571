"""R7: the word Allstop stops; a sentence that contains it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.commands import is_allstop


@pytest.mark.parametrize(
    "text",
    [
        "allstop",
        "Allstop",
        "ALLSTOP",
        "ALL-STOP",
        "all stop.",
        " All  Stop! ",
        "all\nstop",
        "¡allstop!",
    ],
)
def test_r7_the_word_is_a_stop_however_it_is_written(text):
    assert is_allstop(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "stop",
        "all",
        "stop all",
        "allstops",
        "allstop allstop",
        "please allstop",
        "allstop now",
        "do not stop all tests",
        "fix the asphalt texture",
        "never say allstop",
        "the all-stop button is red",
        "аllstop",  # noqa: RUF001 - the first letter is Cyrillic
        "alllstop",
    ],
)
def test_r7_a_sentence_that_merely_contains_it_is_not(text):
    assert not is_allstop(text)


@given(st.text())
def test_r7_only_the_seven_letters_in_order_are_the_word(text):
    letters = "".join(letter for letter in text if letter.isalpha()).lower()

    assert is_allstop(text) == (letters == "allstop")


@given(st.lists(st.text(alphabet=" .,-_!?*'\"\n0123456789", max_size=3), min_size=8, max_size=8))
def test_r7_signs_between_the_letters_do_not_save_anybody(signs):
    text = "".join(sign + letter for sign, letter in zip(signs, "aLlStOp", strict=False)) + signs[7]

    assert is_allstop(text)
