"""Any settings are either loaded or refused with SettingsError."""

from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allstop.settings.consistency import inconsistencies
from allstop.settings.key_path import dotted, split_dotted
from allstop.settings.loader import load
from allstop.settings.model import Settings
from allstop.settings.problems import SettingsError
from allstop.settings.schema import fixed_keys
from allstop.settings.settings_rows import rows
from allstop.settings.sources.environment import Environment
from allstop.settings.validation import check

KEYS = sorted({part for key in fixed_keys() for part in key} | {"claude", "driver", "zzz", "run"})
WORDS = ["codex", "off", "full", "retry", "count", "auto", "", "x", "http://a", ".git", "(", "\x00"]
SCALARS = st.one_of(
    st.sampled_from(WORDS),
    st.booleans(),
    st.integers(-3, 300),
    st.integers(),
    st.floats(),
    st.dates(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=10,
)
DOTTED = [dotted(key) for key in fixed_keys()]
NAMES = st.sampled_from(DOTTED) | st.sampled_from(KEYS)


def toml(value):
    match value:
        case bool():
            return str(value).lower()
        case str():
            return msgspec.json.encode(value).decode()
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + "}"
        case _:
            return str(value)


@st.composite
def documents(draw):
    lines = draw(st.lists(st.tuples(NAMES, VALUES), max_size=6))
    return "".join(f"{name} = {toml(value)}\n" for name, value in lines)


def outcome(data, variables=None, **more):
    """Settings, or the problems with them; any other exception fails the test."""
    environment = Environment(home=Path("/nonexistent"), variables=variables or {})
    try:
        return load(environment, repository=Path("/nonexistent/r"), committed=data, **more)
    except SettingsError as error:
        return error.problems


@settings(deadline=None, max_examples=300)
@given(documents())
def test_any_document_loads_or_gives_problems_each_with_a_line(text):
    match outcome(text.encode()):
        case tuple() as problems:
            assert problems
            assert all(problem.file == "allstop.toml" for problem in problems)
            assert all(1 <= problem.line <= text.count("\n") + 1 for problem in problems)
            assert all("\n" not in str(problem) for problem in problems)
        case loaded:
            assert sorted(row.key for row in rows(loaded)) == sorted(loaded.origins)


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text("[]{}=.,'\"#\n\\ loopmde1", max_size=80).map(str.encode))
def test_any_bytes_load_or_give_problems(data):
    assert outcome(data) is not None


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_flags_load_or_give_problems(flags):
    assert outcome(b"", flags=flags) is not None


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([f"ALLSTOP_{key.replace('.', '_').upper()}" for key in DOTTED]),
        st.sampled_from(WORDS) | st.text(max_size=8) | VALUES.map(toml),
        max_size=4,
    )
)
def test_any_variables_load_or_give_problems(variables):
    match outcome(b"", variables=variables):
        case tuple() as problems:
            assert all(problem.key in variables for problem in problems)


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(sorted(Settings.__struct_fields__)), VALUES, max_size=3))
def test_what_the_check_lets_pass_the_model_takes(document):
    checked = check(document)

    if not checked.faults and not list(inconsistencies(checked.document)):
        assert isinstance(msgspec.convert(checked.document, Settings), Settings)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4).map(tuple))
def test_a_dotted_key_can_be_read_back(path):
    assert split_dotted(dotted(path)) == path
