"""Gateway presets: how each known program is given its model's address and key, and kept quiet.

With the gateway, the address is the box's own loopback and the key a placeholder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from allstop.metering.wire_formats import Provider
from allstop.settings.model import Agent, Driver


class Endpoint(NamedTuple):
    """What a program is given."""

    origin: str  # of the address, without a path
    key: str
    model: str  # without the provider's name; "": the program's default


class Configuration(Struct, frozen=True, kw_only=True):
    """The variables of a program, and files that are written in its box."""

    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}


class GatewayPreset(Struct, frozen=True, kw_only=True):
    provider: Provider
    key_env: str  # the variable from which the program reads its key
    base_url_env: str = ""  # and its address, if it has one
    path: str = ""  # of the address, behind its origin
    configure: Callable[[Endpoint], Configuration] = lambda at: Configuration()
    model: str = ""  # without the provider's name
    sets_model: bool = False  # by its configuration; else the driver tells the program its model
    is_guess: bool = False  # without a model, the program may choose another provider

    def configuration(self, origin: str, key: str) -> Configuration:
        """`key`: "" if the server needs none; many programs don't start without one."""
        made = self.configure(Endpoint(origin, key, self.model))
        address = {self.base_url_env: origin + self.path} if self.base_url_env else {}
        return Configuration(env={**made.env, **address, self.key_env: key}, files=made.files)


def find_gateway_preset(settings: Agent) -> GatewayPreset | None:
    """How the agent's program uses the gateway; None if that isn't known."""
    match settings.driver:
        case Driver.CODEX:
            return CODEX
        case Driver.CLAUDE_CODE:
            return CLAUDE
        case Driver.ACP | Driver.COMMAND:
            return _own(settings) or _known(settings)
        case _:
            return None


def uses_gateway_with(driver: Driver, command: tuple[str, ...]) -> str:
    """For people: whether a program can use the gateway, and what that takes."""
    bare = Agent(driver=driver, command=command)
    if find_gateway_preset(bare) is not None:
        return "yes"
    return "with a model such as openai/gpt-5.5" if needs_model(bare) else "no"


def needs_model(settings: Agent) -> bool:
    """Whether the program is known, but not which provider it uses without a `model`."""
    is_known = program_of(settings) in _PROGRAMS and settings.gateway is None
    return is_known and find_gateway_preset(settings) is None


def program_of(settings: Agent) -> str:
    return Path(settings.command[0]).name if settings.command else ""


def _own(settings: Agent) -> GatewayPreset | None:
    own = settings.gateway
    if own is None:
        return None
    return GatewayPreset(
        provider=Provider(own.speaks.value),
        key_env=own.key_env,
        base_url_env=own.base_url_env,
        path="/v1" if own.speaks.value == Provider.OPENAI else "",
    )


def _known(settings: Agent) -> GatewayPreset | None:
    find = _PROGRAMS.get(program_of(settings))
    return None if find is None else find(settings)


CODEX = GatewayPreset(provider=Provider.OPENAI, key_env="OPENAI_API_KEY", path="/v1")
CLAUDE = GatewayPreset(provider=Provider.ANTHROPIC, key_env="ANTHROPIC_API_KEY")
"""Their drivers know all else."""

QUIET_CLAUDE = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


def _claude_acp(settings: Agent) -> GatewayPreset:
    return GatewayPreset(
        provider=Provider.ANTHROPIC,
        key_env="ANTHROPIC_API_KEY",
        base_url_env="ANTHROPIC_BASE_URL",
        configure=lambda at: Configuration(env=QUIET_CLAUDE),
    )


SETTINGS_FILE = "/tmp/allstop-agent.json"  # noqa: S108 - the box has a /tmp of its own


def _gemini(settings: Agent) -> GatewayPreset:
    def configure(at: Endpoint) -> Configuration:
        quiet = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "maxAttempts": 2},
        }
        return Configuration(
            env={
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH": SETTINGS_FILE,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                **({"GEMINI_MODEL": at.model} if at.model else {}),
            },
            files={SETTINGS_FILE: json.dumps(quiet)},
        )

    return GatewayPreset(
        provider=Provider.GEMINI,
        key_env="GEMINI_API_KEY",
        base_url_env="GOOGLE_GEMINI_BASE_URL",
        configure=configure,
        model=settings.model or "",
        sets_model=True,
    )


def _qwen(settings: Agent) -> GatewayPreset:
    def configure(at: Endpoint) -> Configuration:
        quiet = {
            "security": {"auth": {"selectedType": "openai"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        }
        model = {"OPENAI_MODEL": at.model} if at.model else {}
        return Configuration(
            env={"QWEN_CODE_SYSTEM_SETTINGS_PATH": SETTINGS_FILE, **model},
            files={SETTINGS_FILE: json.dumps(quiet)},
        )

    return GatewayPreset(
        provider=Provider.OPENAI,
        key_env="OPENAI_API_KEY",
        base_url_env="OPENAI_BASE_URL",
        path="/v1",
        configure=configure,
        model=settings.model or "",
        sets_model=True,
    )


class _Choice(NamedTuple):
    """One provider of a program that knows several."""

    provider: Provider
    key_env: str
    path: str


_PROVIDERS = {
    "openai": _Choice(Provider.OPENAI, "OPENAI_API_KEY", "/v1"),
    "anthropic": _Choice(Provider.ANTHROPIC, "ANTHROPIC_API_KEY", "/v1"),
    "google": _Choice(Provider.GEMINI, "GEMINI_API_KEY", "/v1beta"),
}


def _chosen(settings: Agent) -> tuple[str, str] | None:
    """The provider and the model that `model` names, as in "anthropic/claude-sonnet-5-5"."""
    provider, _, model = (settings.model or "").partition("/")
    if provider in _PROVIDERS and model:
        return provider, model
    return ("", settings.model) if settings.model and settings.base_url else None


def _opencode(settings: Agent) -> GatewayPreset | None:
    """Any other provider speaks as OpenAI's chat completions; `base_url` has its address."""
    if (chosen := _chosen(settings)) is None:
        return None
    name, model = chosen
    at = _PROVIDERS.get(name, _PROVIDERS["openai"])
    other, _, plain = (settings.model or "").rpartition("/")
    own, model = (name, model) if name else (other or "gateway", plain)

    def configure(end: Endpoint) -> Configuration:
        options = {"baseURL": end.origin + at.path, "apiKey": end.key or "none"}
        provider: dict[str, object] = {"options": options, "models": {model: {}}}
        if not name:
            provider["npm"] = "@ai-sdk/openai-compatible"
        quiet = {
            "model": f"{own}/{model}",
            "small_model": f"{own}/{model}",
            "enabled_providers": [own],
            "provider": {own: provider},
            "autoupdate": False,
            "share": "disabled",
        }
        names = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        switches = {f"OPENCODE_DISABLE_{each}": "1" for each in names}
        return Configuration(env={"OPENCODE_CONFIG_CONTENT": json.dumps(quiet), **switches})

    return GatewayPreset(
        provider=at.provider,
        key_env=at.key_env,
        configure=configure,
        model=model,
        sets_model=True,
    )


def _aider(settings: Agent) -> GatewayPreset | None:
    provider, model = _chosen(settings) or ("openai", settings.model or "")
    provider = provider or "openai"
    if provider == "google":
        return None
    at = _PROVIDERS[provider]
    variables = {Provider.OPENAI: "OPENAI_API_BASE", Provider.ANTHROPIC: "ANTHROPIC_API_BASE"}
    quiet = {
        "AIDER_ANALYTICS_DISABLE": "true",
        "AIDER_CHECK_UPDATE": "false",
        "AIDER_SHOW_MODEL_WARNINGS": "false",
        "AIDER_SHOW_RELEASE_NOTES": "false",
        "AIDER_MAP_TOKENS": "0",
        "AIDER_GITIGNORE": "false",  # its own files would be part of the work
        "AIDER_CHAT_HISTORY_FILE": "/tmp/aider.chat.md",  # noqa: S108 - the box's own /tmp
        "AIDER_INPUT_HISTORY_FILE": "/tmp/aider.input.txt",  # noqa: S108
        "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    }
    named = {"AIDER_MODEL": f"{provider}/{model}"} if model else {}
    if model and settings.base_url:  # that server may have no other model
        named["AIDER_WEAK_MODEL"] = named["AIDER_MODEL"]
    return GatewayPreset(
        provider=at.provider,
        key_env=at.key_env,
        base_url_env=variables[at.provider],
        path="/v1" if at.provider is Provider.OPENAI else "",
        configure=lambda end: Configuration(env={**quiet, **named}),
        model=model,
        sets_model=True,
        is_guess=not model,
    )


def _goose(settings: Agent) -> GatewayPreset | None:
    if (chosen := _chosen(settings)) is None:
        return None
    name, model = chosen[0] or "openai", chosen[1]
    at = _PROVIDERS[name]
    hosts = {"openai": "OPENAI_HOST", "anthropic": "ANTHROPIC_HOST", "google": "GOOGLE_HOST"}
    quiet = {
        "GOOSE_DISABLE_KEYRING": "true",
        "GOOSE_DISABLE_SESSION_NAMING": "true",
        "GOOSE_PROVIDER_SKIP_BACKOFF": "true",
        "GOOSE_TELEMETRY_ENABLED": "false",
        "GOOSE_PROVIDER": name,
        "GOOSE_MODEL": model,
    }
    return GatewayPreset(
        provider=at.provider,
        key_env="GOOGLE_API_KEY" if name == "google" else at.key_env,
        base_url_env=hosts[name],
        configure=lambda end: Configuration(env=quiet),
        model=model,
        sets_model=True,
    )


_PROGRAMS: Mapping[str, Callable[[Agent], GatewayPreset | None]] = {
    "claude-agent-acp": _claude_acp,
    "gemini": _gemini,
    "qwen": _qwen,
    "opencode": _opencode,
    "aider": _aider,
    "goose": _goose,
}
