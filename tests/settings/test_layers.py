"""Which layer decides a setting's value, and the origin that is reported."""

from __future__ import annotations

import pytest

from allstop.core.board_specs import ReviewMode
from allstop.settings.loader import load
from allstop.settings.model import Check, Driver, TargetKind
from allstop.settings.origins import (
    Default,
    Flag,
    RepositoryFile,
    UserFile,
    Variable,
    describe_origin,
)

LAYERS = ["user", "project", "variable", "flag"]


def say(world, layer, number):
    match layer:
        case "user":
            world.user(f"[loop]\nmax_parallel = {number}\n")
        case "project":
            world.project(f"\n[loop]\nmax_parallel = {number}\n")
        case "variable":
            world.says({"ALLSTOP_LOOP_MAX_PARALLEL": str(number)})
        case "flag":
            world.flag({"loop.max_parallel": number})


@pytest.mark.parametrize("strongest", range(1, 5))
def test_the_strongest_layer_that_speaks_is_heard_and_named(world, strongest):
    for number, layer in enumerate(LAYERS[:strongest]):
        say(world, layer, number + 10)

    loaded = world.load()

    origins = [
        UserFile(path=world.user_file, line=2),
        RepositoryFile(path=world.project_file, line=3),
        Variable(name="ALLSTOP_LOOP_MAX_PARALLEL"),
        Flag(),
    ]
    assert loaded.settings.loop.max_parallel == strongest + 9
    assert loaded.origins["loop.max_parallel"] == origins[strongest - 1]
    assert loaded.origins["loop.mode"] == Default()


def test_origins_are_told_in_a_word(world):
    origins = [
        Default(),
        UserFile(path=world.user_file, line=2),
        RepositoryFile(path=world.project_file, line=3),
        Variable(name="ALLSTOP_LOOP_MODE"),
        Flag(),
    ]

    assert [describe_origin(origin) for origin in origins] == [
        "default",
        f"{world.user_file}:2",
        "allstop.toml:3",
        "ALLSTOP_LOOP_MODE",
        "command line",
    ]


def test_without_any_file_everything_is_the_default(world):
    loaded = world.load()

    assert set(loaded.origins.values()) == {Default()}
    assert (loaded.notes, loaded.untrusted, loaded.sensitive) == ((), (), {})


def test_without_a_repository_the_persons_file_still_counts(world):
    world.user("[loop]\nmax_parallel = 9\n").project("[loop]\nmax_parallel = 3\n")

    assert load(world.environment).settings.loop.max_parallel == 9


def test_the_persons_file_is_where_xdg_says(world, tmp_path):
    folder = tmp_path / "elsewhere" / "allstop"
    folder.mkdir(parents=True)
    folder.joinpath("config.toml").write_text("[loop]\nmax_parallel = 9\n")
    world.says({"XDG_CONFIG_HOME": str(tmp_path / "elsewhere")})

    assert world.load().settings.loop.max_parallel == 9


def test_a_relative_xdg_folder_is_ignored(world):
    world.says({"XDG_CONFIG_HOME": "elsewhere", "XDG_STATE_HOME": "x"})

    assert world.environment.user_file == world.user_file
    assert world.environment.trust_file == world.home / ".local/state/allstop/trust.json"


def test_tables_merge_key_by_key_and_agents_one_by_one(world):
    world.user("[agents.a]\ndriver = 'codex'\nmodel = 'x'\n[agents.b]\ndriver = 'ollama'\n")
    world.project("[agents.a]\nmodel = 'y'\n[agents.c]\ndriver = 'claude-code'\n")

    agents = world.load().settings.agents

    assert {name: (agent.driver, agent.model) for name, agent in agents.items()} == {
        "a": (Driver.CODEX, "y"),
        "b": (Driver.OLLAMA, None),
        "c": (Driver.CLAUDE_CODE, None),
    }


def test_tables_of_free_names_merge_too(world):
    world.user("[review.rules]\ncritical = 'per-task'\ndocs = 'batch'\n")
    world.project("[review.rules]\ndocs = 'skip'\n")

    loaded = world.load()

    assert loaded.settings.review.rules == {
        "critical": ReviewMode.PER_TASK,
        "docs": ReviewMode.SKIP,
    }
    assert loaded.origins["review.rules.docs"] == RepositoryFile(path=world.project_file, line=2)


def test_lists_are_replaced(world):
    world.user("[verification]\ncommands = ['a', 'b']\n")
    world.project("[[verification.commands]]\nrun = 'c'\n")

    assert world.load().settings.verification.commands == (Check(run="c"),)


def test_an_entry_is_replaced_as_a_whole(world):
    world.user("[sprint]\ntarget = {type = 'count', value = 3}\n")
    world.project("[sprint]\ntarget = {type = 'no_ready'}\n")

    loaded = world.load()

    assert loaded.settings.sprint.target.type is TargetKind.NO_READY
    assert loaded.settings.sprint.target.value is None
    assert "sprint.target.type" not in loaded.origins
    assert loaded.origins["sprint.target"] == RepositoryFile(path=world.project_file, line=2)


def test_flat_budget_keys_hold_for_a_run_and_tables_for_the_rest(world):
    world.project(
        "[budget]\nturns = 1\nat_limit = 'stop'\n[budget.task]\ntokens = 2\n"
        "[budget.sprint]\ncost_usd = 3\n[budget.day]\nminutes = 4\n"
    )

    budget = world.load().settings.budget

    assert (budget.turns, budget.task.tokens, budget.sprint.cost_usd, budget.day.minutes) == (
        1,
        2,
        3,
        4,
    )
    assert (budget.tokens, budget.task.turns, budget.at_limit) == (None, None, "stop")


ALIASES = [
    ("room.max_turns_emergency", 7, "room.max_turns"),
    ("room.max_tokens_emergency", 7, "room.max_tokens"),
    ("room.max_elapsed_minutes", 7, "room.max_minutes"),
    ("budget.run.turns", 7, "budget.turns"),
    ("retry.step_delay", 7, "retry.step_delay_ms"),
    *(
        (f"{section}.{name}", value, key)
        for section in ("loop", "retry")
        for name, value, key in [
            ("primaryAgent", "a", "loop.agent"),
            ("fallbackAgent", "a", "loop.fallback"),
            ("errorStrategy", "skip", "retry.error_strategy"),
            ("maxRetries", 7, "retry.max_retries"),
            ("retryBaseMs", 7, "retry.base_ms"),
            ("maxRateLimitRetries", 7, "retry.max_rate_limit_retries"),
            ("stepDelay", 7, "retry.step_delay_ms"),
            ("recoverPrimary", False, "retry.recover_primary"),
            ("autoCommit", True, "retry.auto_commit"),
        ]
    ),
]


def value_of(settings, key):
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def as_toml(value):
    return str(value).lower() if isinstance(value, bool) else repr(value)


@pytest.mark.parametrize(("alias", "value", "key"), ALIASES, ids=[each[0] for each in ALIASES])
def test_a_setting_is_known_by_its_other_name(world, alias, value, key):
    world.project(f"agents.a.driver = 'codex'\n{alias} = {as_toml(value)}\n")

    loaded = world.load()

    assert value_of(loaded.settings, key) == value
    assert loaded.origins[key] == RepositoryFile(path=world.project_file, line=2)


def test_a_stronger_layer_may_use_the_other_name(world):
    world.user("[room]\nmax_turns = 5\n").project("[room]\nmax_turns_emergency = 6\n")

    assert world.load().settings.room.max_turns == 6


def test_a_fallback_to_itself_is_noted(world):
    world.project("agents.a.driver = 'codex'\nloop = {agent = 'a', fallback = 'a'}\n")

    assert world.load().notes == (
        "loop.fallback is the same agent as loop.agent, so there is no fallback.",
    )


def test_k20_what_of_the_gate_nothing_reads_yet_is_noted(world):
    world.project("[verification]\ncommands = [{run = 'make', report = 'junit.xml'}]\n")

    assert world.load().notes == (
        "Reports aren't implemented: `report` has no effect, exit codes decide.",
    )
