"""The TOML editor changes one setting and keeps every other byte."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.settings.files.toml_editor import NotEditableError, toml, with_value, without

FILE = """\
# Ours.  Keep   this spacing.

[loop]   # how it works
max_parallel = 2   # two is enough
  mode = 'semi'

[[verification.commands]]
name = "Unit tests"   # quick ones
run = '''
pytest -q
'''

[budget]
day.tokens = 1_000_000
task = { turns = 20, minutes = 30 }   # inline

[agents.demo]
driver = "scripted"
script = "a.toml"
"""


def test_u2_a_value_is_replaced_where_it_stands_and_its_comment_stays():
    edited = with_value(FILE, ("loop", "max_parallel"), 8)

    assert edited == FILE.replace("max_parallel = 2 ", "max_parallel = 8 ")


def test_u2_a_setting_that_is_not_there_yet_goes_to_the_others_of_its_table():
    edited = with_value(FILE, ("loop", "agent"), 'de"mo')

    assert edited == FILE.replace("'semi'\n", '\'semi\'\n  agent = "de\\"mo"\n')


def test_u2_a_table_that_is_not_there_yet_is_made_at_the_end():
    edited = with_value(FILE, ("notify", "sounds"), False)

    assert edited == FILE + "\n[notify]\nsounds = false\n"


def test_u2_a_table_without_keys_gets_its_first_one_under_its_head():
    edited = with_value("[loop]  # empty\n[room]\n", ("loop", "agent"), "demo")

    assert edited == '[loop]  # empty\nagent = "demo"\n[room]\n'


def test_u2_a_dotted_key_gets_another_one_of_its_kind():
    edited = with_value(FILE, ("budget", "day", "cost_usd"), 2.5)

    assert edited == FILE.replace("1_000_000\n", "1_000_000\nday.cost_usd = 2.5\n")


def test_u2_within_an_inline_table_only_that_table_is_written_again():
    edited = with_value(FILE, ("budget", "task", "turns"), 40)

    assert edited == FILE.replace("{ turns = 20, minutes", "{ turns = 40, minutes")


def test_u2_a_removed_setting_takes_its_line_with_it_and_nothing_else():
    assert without(FILE, ("loop", "mode")) == FILE.replace("  mode = 'semi'\n", "")
    assert without(FILE, ("loop", "agent")) == FILE


def test_u2_line_ends_of_another_system_and_a_missing_last_one_are_kept():
    text = "[loop]\r\nmode = 'semi'\r\n[room]"

    assert with_value(text, ("loop", "mode"), "autopilot") == text.replace("'semi'", '"autopilot"')
    assert (
        with_value(text, ("loop", "agent"), "a")
        == "[loop]\r\nmode = 'semi'\r\nagent = \"a\"\r\n[room]"
    )
    assert with_value(text, ("room", "max_rounds"), 3) == text + "\r\nmax_rounds = 3\r\n"


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        (
            "[verification]\nprotected = [\n  'a',  # why\n]\n",
            ("verification", "protected"),
            "comments",
        ),
        (FILE, ("verification", "commands"), "separate tables"),
        ("loop = 3\n", ("loop", "mode"), "isn't a table"),
    ],
)
def test_u2_what_could_not_be_changed_without_loss_is_left_to_a_person(text, path, why):
    with pytest.raises(NotEditableError, match=why) as raised:
        with_value(text, path, ["b"])

    assert raised.value.code == "setting_not_editable"


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@given(VALUES)
def test_any_value_can_be_written_and_read_again(value):
    assert tomllib.loads(f"value = {toml(value)}") == {"value": value}


@given(
    value=VALUES,
    path=st.sampled_from([("loop", "mode"), ("budget", "day", "tokens"), ("agents", "new", "x y")]),
)
def test_u2_whatever_is_put_in_only_its_lines_change(value, path):
    edited = with_value(FILE, path, value)

    left = [line for line in FILE.splitlines() if line in edited.splitlines()]
    assert len(left) >= len(FILE.splitlines()) - 1
    again = tomllib.loads(without(edited, path))
    again["agents"].pop("new", None)
    assert again == tomllib.loads(without(FILE, path))
