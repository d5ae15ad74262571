"""Settings from environment variables and from flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from allstop.board.hook_events import Facts, Hook, variables
from allstop.core.board_specs import Mode
from allstop.settings.model import Check, SandboxMode, Settings, Target, TargetKind
from allstop.settings.origins import Variable
from allstop.settings.sources.variables import HOOK_VARIABLES

READ = [
    ("ALLSTOP_LOOP_MAX_PARALLEL", " 4 ", "loop.max_parallel", 4),
    ("ALLSTOP_SANDBOX_MODE", "off", "sandbox.mode", SandboxMode.OFF),
    ("ALLSTOP_MERGE_ENABLED", "No", "merge.enabled", False),
    ("ALLSTOP_MERGE_ENABLED", "1", "merge.enabled", True),
    ("ALLSTOP_RETRY_FACTOR", "1.5", "retry.factor", 1.5),
    ("ALLSTOP_RETRY_FACTOR", "3", "retry.factor", 3.0),
    ("ALLSTOP_PROJECT_TARGET", "main", "project.target", "main"),
    ("ALLSTOP_WORKSPACE_LINK", "a, b,", "workspace.link", ("a", "b")),
    ("ALLSTOP_WORKSPACE_LINK", '["a,b"]', "workspace.link", ("a,b",)),
    ("ALLSTOP_WORKSPACE_LINK", "[]", "workspace.link", ()),
    ("ALLSTOP_VERIFICATION_COMMANDS", "['a']", "verification.commands", (Check(run="a"),)),
    ("ALLSTOP_BUDGET_TURNS", "3", "budget.turns", 3),
    ("ALLSTOP_BUDGET_DAY_COST_USD", "2.50", "budget.day.cost_usd", 2.5),
    ("ALLSTOP_SPRINT_TARGET", "no_ready", "sprint.target", Target(type=TargetKind.NO_READY)),
    (
        "ALLSTOP_SPRINT_TARGET",
        "{type = 'count', value = 2}",
        "sprint.target",
        Target(type=TargetKind.COUNT, value=2),
    ),
    ("ALLSTOP_ROOM_MAX_TURNS_EMERGENCY", "9", "room.max_turns", 9),
    ("ALLSTOP_GUIDANCE_MODE", "demo", "auto.guidance", "demo"),
    ("ALLSTOP_GUIDANCE_MODEL", "ollama:x", "auto.guidance_model", "ollama:x"),
    ("ALLSTOP_AUTO_GUIDANCE", "demo", "auto.guidance", "demo"),
]


def value_of(settings, key):
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


@pytest.mark.parametrize(("variable", "text", "key", "value"), READ)
def test_a_variable_is_read_by_the_kind_of_its_key(world, variable, text, key, value):
    loaded = world.says({variable: text}).load()

    assert value_of(loaded.settings, key) == value
    assert loaded.origins[key] == Variable(name=variable)


def test_a_variable_reaches_one_agent_however_its_name_is_spelled(world):
    world.project("[agents.My-Agent]\ndriver = 'codex'\n")
    world.says(
        {"ALLSTOP_AGENTS_MY_AGENT_API_KEY_ENV": "TEAM_KEY", "ALLSTOP_AGENTS_X_DRIVER": "codex"}
    )

    agents = world.load().settings.agents

    assert {name: agent.api_key_env for name, agent in agents.items()} == {
        "My-Agent": "TEAM_KEY",
        "x": None,
    }


@pytest.mark.parametrize(
    "variable",
    ["ALLSTOP_PORT", "ALLSTOP_WEB", "ALLSTOP_CHROMIUM", "ALLSTOP_HOME", "OTHER", "ALLSTOPPED"],
)
def test_a_variable_that_means_something_else_is_left_alone(world, variable):
    assert world.says({variable: "anything"}).load() == world.load()


def test_an_empty_variable_counts_as_unset(world):
    world.project("[loop]\nmax_parallel = 3\n").says({"ALLSTOP_LOOP_MAX_PARALLEL": " "})

    assert world.load().settings.loop.max_parallel == 3


WRONG = [
    ({"ALLSTOP_LOOP_AGENT": "\udcff"}, "environment: ALLSTOP_LOOP_AGENT: not UTF-8 text"),
    ({"ALLSTOP_\udcff": "x"}, "environment: ALLSTOP_\\udcff: not UTF-8 text"),
    (
        {"ALLSTOP_LOOP_MAX_PARALEL": "4"},
        (
            "environment: ALLSTOP_LOOP_MAX_PARALEL: unknown setting"
            " (did you mean ALLSTOP_LOOP_MAX_PARALLEL?)"
        ),
    ),
    ({"ALLSTOP_X": "4"}, "environment: ALLSTOP_X: unknown setting"),
    (
        {"ALLSTOP_AGENTS_A_X": "4"},
        "environment: ALLSTOP_AGENTS_A_X: unknown setting (did you mean ALLSTOP_AGENTS?)",
    ),
    (
        {"ALLSTOP_MERGE_ENABLED": "maybe"},
        'environment: ALLSTOP_MERGE_ENABLED: expected true or false, got "maybe"',
    ),
    (
        {"ALLSTOP_SANDBOX_READ": "[1"},
        'environment: ALLSTOP_SANDBOX_READ: expected a list of strings, got "[1" (use a list: [ … ])',
    ),
    (
        {"ALLSTOP_GUIDANCE_MODE": "dmo"},
        (
            "environment: ALLSTOP_GUIDANCE_MODE: expected one of off, demo,"
            ' got "dmo" (did you mean demo?)'
        ),
    ),
    (
        {"ALLSTOP_GUIDANCE_MODE": "demo", "ALLSTOP_AUTO_GUIDANCE": "off"},
        (
            "environment: ALLSTOP_GUIDANCE_MODE: duplicates ALLSTOP_AUTO_GUIDANCE;"
            " remove one of them"
        ),
    ),
    (
        {"ALLSTOP_AGENTS_A_MODEL": "x"},
        (
            "environment: ALLSTOP_AGENTS_A_MODEL: has no driver"
            " (set one of openai, anthropic, ollama, codex, claude-code, acp, command, scripted)"
        ),
    ),
    (
        {
            "ALLSTOP_AGENTS_A_API_KEY_ENV": "sk-very-secret-value",
            "ALLSTOP_AGENTS_A_DRIVER": "codex",
        },
        (
            "environment: ALLSTOP_AGENTS_A_API_KEY_ENV: expected the name of an environment"
            " variable, never the key itself, got another value"
        ),
    ),
]


@pytest.mark.parametrize(("variables", "shown"), WRONG, ids=[each[1][:70] for each in WRONG])
def test_a_mistake_in_a_variable_is_told_by_its_name(world, variables, shown):
    assert world.says(variables).problems() == [shown]


def test_a_misspelled_key_of_a_known_agent_is_recognised(world):
    world.project("agents.gpt.driver = 'openai'\n").says({"ALLSTOP_AGENTS_GPT_MODL": "x"})

    assert world.problems() == [
        (
            "environment: ALLSTOP_AGENTS_GPT_MODL: unknown setting"
            " (did you mean ALLSTOP_AGENTS_GPT_MODEL?)"
        )
    ]


def test_flags_are_values_or_text_and_none_means_not_given(world):
    world.flag(
        {
            "loop.mode": Mode.SEMI,
            "loop.max_parallel": "3",
            "sandbox.read": (Path("/opt"),),
            "agents.'a.b'.driver": "codex",
            "room.max_turns_emergency": 5,
            "server.port": None,
        }
    )

    settings = world.load().settings

    assert settings.loop.mode is Mode.SEMI
    assert settings.loop.max_parallel == 3
    assert settings.sandbox.read == ("/opt",)
    assert list(settings.agents) == ["a.b"]
    assert settings.room.max_turns == 5
    assert settings.server.port == 7373


@pytest.mark.parametrize(
    ("flag", "value", "shown"),
    [
        ("loop.mod", 1, "command line: loop.mod: unknown key (did you mean loop.mode?)"),
        ("", 1, "command line: : unknown key"),
        ("loop..mode", 1, "command line: loop..mode: unknown key (did you mean loop.mode?)"),
        ("loop", 3, "command line: loop: expected a table, got 3"),
        (
            "budget.turns",
            "x",
            'command line: budget.turns: expected a whole number from 1 to 1,000,000,000,000, got "x"',
        ),
    ],
)
def test_a_mistake_in_a_flag_is_told_by_its_key(world, flag, value, shown):
    assert world.flag({flag: value}).problems() == [shown]


def test_b22_a_hook_can_call_this_program_itself(world):
    told = variables(Facts(hook=Hook.POST_MERGE, task="t1", note="merged"))

    assert world.says(told).load().settings == Settings()
    assert told.keys() == HOOK_VARIABLES
