"""The model has the keys, defaults and descriptions of the specification."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from allstop.board.hook_events import Hook
from allstop.settings.model import (
    Agent,
    Check,
    Hooks,
    Settings,
    Target,
    TargetKind,
)
from allstop.settings.schema import default_at, description_at, fixed_keys, kind_at, root
from support.cases import for_each

SECTIONS = (
    "project agents loop verification workspace merge review room auto retry budget sprint"
    " approvals limits prices sandbox server notify traces hooks store fleet"
)

DEFAULTS = {
    "loop": {
        "max_parallel": 2,
        "mode": "autopilot",
        "auto_execute": True,
        "idle_seconds": 600,
        "compact_at_tokens": None,
        "max_iterations": 50,
        "timeout_minutes": 30,
        "stuck_threshold": 5,
        "no_progress_turns": 3,
        "max_consecutive_errors": 3,
        "agent": None,
        "fallback": None,
        "order": [],
    },
    "verification": {
        "commands": [],
        "default_timeout": 300,
        "required": False,
        "env": [],
        "keep_going": False,
        "protected": [
            "tests/**",
            "test/**",
            "spec/**",
            "**/__tests__/**",
            ".github/**",
            ".gitlab-ci.yml",
            ".circleci/**",
            "allstop.toml",
            "**/conftest.py",
            "**/pytest.ini",
            "**/.pytest.ini",
            "**/tox.ini",
            "**/noxfile.py",
            "**/.coveragerc",
            "pytest.py",
            "sitecustomize.py",
            "**/jest.config.*",
            "**/vitest.config.*",
            "**/vitest.workspace.*",
            "**/.mocharc*",
            "**/karma.conf.*",
            "**/playwright.config.*",
            "**/cypress.config.*",
            "**/.rspec",
            "**/phpunit.xml*",
            "**/pyproject.toml#tests",
            "**/setup.cfg#tests",
            "**/package.json#tests",
            "**/Makefile#tests",
        ],
        "integrity": "ask",
        "protection": None,
        "network": None,
        "hosts": [],
        "mutation": False,
        "quarantine": [],
        "held_out": [],
    },
    "workspace": {
        "copy": [".env*"],
        "link": [".venv", "node_modules"],
        "history": "full",
        "setup": None,
        "setup_timeout": 600,
        "network": None,
        "hosts": [],
        "keep_days": 7,
    },
    "merge": {"enabled": True, "max_batch": 8, "max_conflict_attempts": 2},
    "review": {"mode": "batch", "rules": {}, "second": None, "second_rounds": 2},
    "room": {
        "max_rounds": 6,
        "window": "elastic",
        "window_items": 8,
        "window_items_max": 24,
        "window_tokens": 3000,
        "window_tokens_max": 9000,
        "respect_final": False,
        "soft_turns": 25,
        "soft_tokens": 50_000,
        "max_turns": 200,
        "max_tokens": 200_000,
        "max_minutes": 20,
        "cost_usd": None,
        "pause_in_circles": False,
    },
    "auto": {
        "policy": "rules",
        "decision_agent": None,
        "guidance": "off",
        "guidance_model": None,
        "cooldown_s": 1,
        "review": "end",
        "min_confidence": 0.6,
        "no_progress_turns": 3,
        "repeated_errors": 3,
        "max_compactions": 3,
        "compaction_turns": 10,
        "guarded_files": "pause",
        "approvals": "policy",
        "approval_timeout_s": 600,
    },
    "retry": {
        "error_strategy": "retry",
        "max_retries": 2,
        "base_ms": 2000,
        "factor": 2,
        "jitter": 0.1,
        "rate_limit_patterns": [],
        "max_rate_limit_retries": 3,
        "max_rate_limit_hours": 24,
        "step_delay_ms": 500,
        "recover_primary": True,
        "auto_commit": False,
    },
    "limits": {"processes": None, "memory_mb": None, "file_mb": None, "disk_mb": None},
    "hooks": {
        "pre_start": None,
        "post_complete": None,
        "pre_merge": None,
        "post_merge": None,
        "on_conflict": None,
        "on_pause": None,
        "on_error": None,
    },
    "sandbox": {"mode": "auto", "read": [], "network": None, "hosts": []},
    "server": {
        "host": "127.0.0.1",
        "port": 7373,
        "hosts": [],
        "tls_cert": None,
        "tls_key": None,
        "behind_proxy": False,
    },
    "notify": {
        "sounds": True,
        "desktop": True,
        "urls": [],
        "private": False,
        "quiet": None,
        "zone": None,
    },
    "traces": {"on": False, "endpoint": None, "content": False},
    "store": {"url": "sqlite", "lease_s": 30.0},
}


def test_the_sections_are_those_of_the_file():
    assert list(Settings.__struct_fields__) == SECTIONS.split()


@for_each("section", DEFAULTS)
def test_a_section_has_its_documented_defaults(section):
    values = msgspec.json.decode(msgspec.json.encode(getattr(Settings(), section)))

    assert values == DEFAULTS[section]


@for_each("key", list(fixed_keys()), ids=".".join)
def test_every_key_has_a_description_of_one_line(key):
    description = description_at(key)

    assert description.endswith(".")
    assert len(description) <= 100
    assert "\n" not in description


@for_each("key", Agent.__struct_fields__)
def test_every_key_of_an_agent_has_a_description_of_its_own(key):
    assert description_at(("agents", "x", key)) != description_at(("agents", "x"))


def test_b22_every_hook_there_is_has_a_setting():
    assert Hooks.__struct_fields__ == tuple(hook.value for hook in Hook)


def test_settings_can_not_be_changed():
    with pytest.raises(AttributeError):
        Settings().loop.max_parallel = 3


def test_a_default_is_known_by_its_key():
    keys = [("loop", "max_parallel"), ("budget", "day", "turns"), ("agents", "x", "prompt")]

    assert [default_at(key) for key in keys] == [2, None, "stdin"]


def test_a_key_that_must_be_given_or_has_a_free_name_has_no_default():
    keys = [("agents", "x", "driver"), ("agents", "x", "env", "A"), ("nothing",), ("loop", "x")]

    assert [default_at(key) for key in keys] == [UNSET] * 4


def test_there_is_no_kind_where_there_is_no_key():
    assert [kind_at(("loop", "x")), kind_at(("x", "y", "z")), kind_at((0,))] == [None, None, None]


def test_a_json_schema_can_be_made_of_the_model():
    schema = msgspec.json.schema(Settings)

    assert schema["$defs"]["Loop"]["properties"]["max_parallel"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 1000,
        "description": "Maximum number of agents working at the same time.",
        "default": 2,
    }


def test_an_empty_document_is_the_defaults():
    assert msgspec.convert({}, Settings) == Settings()
    assert root().cls is Settings


def test_a_plain_string_is_a_whole_entry(world):
    world.project(
        "[verification]\ncommands = ['a', {run = 'b', required = false}]\n[sprint]\ntarget = 'no_ready'"
    )

    settings = world.load().settings

    assert settings.verification.commands == (Check(run="a"), Check(run="b", required=False))
    assert settings.sprint.target == Target(type=TargetKind.NO_READY)
