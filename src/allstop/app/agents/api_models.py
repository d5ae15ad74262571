"""Agents that are models behind an API: where they are, which key they are given, what they cost."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from msgspec import Struct

from allstop.app.agents.prices import tariff as tariff_of
from allstop.core.errors import AllstopError
from allstop.ports import Agent as AgentPort
from allstop.settings.model import STANDARD_KEY, Agent, Driver

if TYPE_CHECKING:
    from allstop.app.project import Project


class AgentSetupError(AllstopError):
    """An agent that can't be used as it is configured."""


class Provider(Struct, frozen=True, kw_only=True):
    """What holds for a driver where the settings say nothing else."""

    base_url: str
    model: str


PROVIDERS = {
    Driver.OPENAI: Provider(base_url="https://api.openai.com/v1", model="gpt-6.1-sol"),
    Driver.ANTHROPIC: Provider(base_url="https://api.anthropic.com", model="claude-sonnet-5-5"),
    Driver.OLLAMA: Provider(base_url="http://127.0.0.1:11434/v1", model="llama3.2"),
}


_MODULES = {
    Driver.OPENAI: "allstop.adapters.agents.api.openai_responses",
    Driver.OLLAMA: "allstop.adapters.agents.api.openai_responses",
    Driver.ANTHROPIC: "allstop.adapters.agents.api.anthropic_messages",
}


async def load_sdks(drivers: Iterable[Driver]) -> None:
    """Beside the event loop, where they would hold up a stop for seconds."""
    modules = {_MODULES[driver] for driver in drivers if driver in _MODULES}
    for name in sorted(modules - sys.modules.keys()):
        await anyio.to_thread.run_sync(importlib.import_module, name)


def hire_model(project: Project, name: str, settings: Agent) -> AgentPort:
    """The SDKs are imported here, before anything runs: that takes a second or two."""
    key = key_for(project, name, settings)
    from allstop.adapters.agents.api.http_client import NO_KEY, Endpoint

    provider = PROVIDERS[settings.driver]
    endpoint = Endpoint(
        base_url=settings.base_url or provider.base_url,
        model=settings.model or provider.model,
        key=key or NO_KEY,
        key_name=key_name(settings),
        is_vendors=settings.base_url is None,
    )
    tariff = tariff_of(project, settings.driver, endpoint.model, free=settings.flat_rate)
    match settings.driver:
        case Driver.ANTHROPIC:
            from allstop.adapters.agents.api.anthropic_messages import anthropic_agent

            return anthropic_agent(endpoint, name=name, price=tariff, clock=project.clock)
        case Driver.OPENAI:
            from allstop.adapters.agents.api.openai_responses import openai_agent

            return openai_agent(endpoint, name=name, price=tariff, clock=project.clock)
        case _:
            from allstop.adapters.agents.api.openai_responses import ollama_agent

            return ollama_agent(endpoint, name=name, price=tariff, clock=project.clock)


def where(settings: Agent) -> str:
    """What is asked, and where, for people."""
    provider = PROVIDERS[settings.driver]
    with_key = f", {key_name(settings)} is set" if key_name(settings) else ""
    model, url = settings.model or provider.model, settings.base_url or provider.base_url
    return f"{model} at {re.sub('//[^/@]*@', '//', url)}{with_key}"


def key_name(settings: Agent) -> str:
    """The variable that holds the key; empty where none is needed."""
    if settings.api_key_env is not None:
        return settings.api_key_env
    return STANDARD_KEY.get(settings.driver, "")


def key_for(project: Project, name: str, settings: Agent) -> str:
    if not (variable := key_name(settings)):
        return ""
    key = project.environment.variables.get(variable, "").strip()
    if not key:
        raise AgentSetupError(
            f"agent {name!r} has no key: the variable {variable} is not set",
            f"export {variable}=…, name another variable with api_key_env, "
            'or set api_key_env = "" for an endpoint without keys',
        )
    if not key.isascii() or not key.isprintable():
        raise AgentSetupError(f"agent {name!r}: what the variable {variable} holds can't be a key")
    return key
