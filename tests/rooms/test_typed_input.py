"""R7, R16: typed input is parsed as message, stop word or router command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.room_specs import TalkMode
from allstop.rooms.typed_input import InvalidInput, Message, StartRequest, StopWord, parse_input

COLLABORATE, AUTOPILOT = TalkMode.COLLABORATE, TalkMode.AUTOPILOT


@pytest.mark.parametrize(
    "text",
    ["Allstop", "ALLSTOP", "all stop", "All-Stop", "ALL-STOP!", " all  stop. ", "a l l s t o p",
     "@router allstop", "@router ALL STOP!", "\tAllstop\n", "«All-stop»", "all\u00a0stop"],
)  # fmt: skip
def test_r7_the_word_in_any_spelling(text):
    """R7: lower-cased and stripped of everything but letters."""
    assert parse_input(text) == StopWord()


@pytest.mark.parametrize(
    "text",
    [
        "fix the asphalt texture",
        "do not stop all tests",
        "say Allstop",
        "allstops",
        "stopall",
        "@gpt Allstop",
        "all stop now",
        "àllstop",
    ],
)
def test_r7_a_sentence_that_contains_the_word_is_words(text):
    """R7."""
    assert parse_input(text) == Message(text)


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("@router collaborate gpt claude: x", StartRequest(COLLABORATE, ("gpt", "claude"), "x")),
        ("@router autopilot gpt claude: x", StartRequest(AUTOPILOT, ("gpt", "claude"), "x")),
        (
            "  @Router AUTOPILOT a, b,c : x: y\nz ",
            StartRequest(AUTOPILOT, ("a", "b", "c"), "x: y\nz"),
        ),
        ("@router collaborate @gpt @claude: x", StartRequest(COLLABORATE, ("gpt", "claude"), "x")),
        ("@router collaborate: x", StartRequest(COLLABORATE, (), "x")),
        ("@router collaborate : x", StartRequest(COLLABORATE, (), "x")),
        ("@router\ncollaborate gpt claude:x", StartRequest(COLLABORATE, ("gpt", "claude"), "x")),
    ],
)
def test_r16_a_line_to_the_router(text, begin):
    """R16."""
    assert parse_input(text) == begin


@pytest.mark.parametrize(
    "text",
    ["@router", "@router hello", "@router sing gpt: x", "@router collaborate gpt claude",
     "@router collaborate gpt:  ", "@router : x", "@router collaborategpt: x"],
)  # fmt: skip
def test_r16_what_is_unclear_comes_with_an_example(text):
    """R16."""
    unclear = parse_input(text)

    assert isinstance(unclear, InvalidInput)
    assert unclear.problem
    assert unclear.hint.startswith("@router collaborate gpt claude: GOAL")


@pytest.mark.parametrize(
    "text", ["@routers hello", "@gpt hello", "mail me@router.example", "router: x"]
)
def test_what_is_not_for_the_router_is_words(text):
    assert parse_input(text) == Message(text)


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_nothing_is_nothing(text):
    assert isinstance(parse_input(text), InvalidInput)


@given(text=st.text(max_size=200))
def test_everything_means_something(text):
    """R7: only the stop word itself stops; other text stays as typed."""
    letters = "".join(letter for letter in text.lower() if letter.isalpha())
    meant = parse_input(text)

    assert (letters == "allstop") == isinstance(meant, StopWord) or "@router" in text.lower()
    if isinstance(meant, Message):
        assert meant.text == text.strip()


NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_.-]{0,8}", fullmatch=True), max_size=4)
GOALS = st.text(min_size=1, max_size=60).filter(lambda text: text.strip())


@given(names=NAMES, goal=GOALS, mode=st.sampled_from(["collaborate", "Autopilot"]))
def test_r16_any_names_and_any_goal(names, goal, mode):
    """R16: the goal may contain colons, line breaks and the stop word."""
    begin = parse_input(f"@router {mode} {' '.join(names)}: {goal}")

    assert begin == StartRequest(TalkMode(mode.lower()), tuple(names), goal.strip())
