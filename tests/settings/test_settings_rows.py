"""The rows of `allstop config`, with secrets hidden."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from allstop.settings.origins import Default, RepositoryFile, UserFile
from allstop.settings.redaction import redacted
from allstop.settings.settings_rows import Row, rows


def row_of(loaded, key):
    return next(row for row in rows(loaded) if row.key == key)


def test_a_row_says_value_origin_purpose_and_default(world):
    loaded = world.project("[loop]\nmax_parallel = 3\n").load()

    assert row_of(loaded, "loop.max_parallel") == Row(
        key="loop.max_parallel",
        value=3,
        origin=RepositoryFile(path=world.project_file, line=2),
        description="Maximum number of agents working at the same time.",
        default=2,
    )
    assert row_of(loaded, "loop.agent") == Row(
        key="loop.agent",
        value=None,
        origin=Default(),
        description="The agent for tasks that name no agent.",
        default=None,
    )


def test_every_effective_key_has_one_row_and_one_origin(world):
    world.user("[prices.m]\ninput_mtok = 1\n")
    loaded = world.project("agents.a.driver = 'codex'\n").load()

    keys = [row.key for row in rows(loaded)]

    assert sorted(keys) == sorted(loaded.origins)
    assert len(set(keys)) == len(keys)
    assert {"agents.a.driver", "prices.m.input_mtok", "budget.day.turns", "sprint.target"} < set(
        keys
    )
    assert all(row.description for row in rows(loaded))


def test_an_agents_required_key_has_no_default(world):
    loaded = world.project("agents.a.driver = 'codex'\n").load()

    assert row_of(loaded, "agents.a.driver").default is UNSET


def test_a_name_that_needs_quotes_has_them(world):
    loaded = world.user("[prices.'gpt-4.1']\ninput_mtok = 1\n").load()

    assert row_of(loaded, 'prices."gpt-4.1".input_mtok').value == 1


def test_values_of_variables_are_hidden_and_their_names_are_not(world):
    world.user("[agents.a]\ndriver = 'openai'\napi_key_env = 'TEAM_KEY'\nenv = {A = 'b'}\n")

    loaded = world.load()

    assert row_of(loaded, "agents.a.api_key_env").value == "TEAM_KEY"
    assert row_of(loaded, "agents.a.env.A") == Row(
        key="agents.a.env.A",
        value="***",
        origin=UserFile(path=world.user_file, line=4),
        description="Environment variables and values set for this agent only.",
        default=UNSET,
    )


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        (("store", "url"), "postgresql://me:pw@host/db", "postgresql://***@host/db"),
        (("notify", "urls"), ("slack://TokenA/B", "odd"), ["slack://***", "***"]),
        (
            ("hooks", "on_error"),
            "curl -H 'Authorization: Bearer abc' x",
            "curl -H 'Authorization: Bearer ***' x",
        ),
        (("hooks", "on_error"), "notify --api-key=abc done", "notify --api-key=*** done"),
        (("hooks", "on_error"), "x sk-proj-abcdefgh12345678", "x ***"),
        (("agents", "a", "base_url"), "https://h/v1?token=abc&x=1", "https://h/v1?token=***&x=1"),
        (("agents", "a", "env"), {"A": "b"}, {"A": "***"}),
        (
            ("verification", "commands"),
            [{"run": "T=ghp_abcdefgh1234 make"}],
            [{"run": "T=*** make"}],
        ),
        (("loop", "max_parallel"), 3, 3),
        (("workspace", "setup"), "make token_test", "make token_test"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(path, value, shown):
    assert redacted(value, path) == shown
