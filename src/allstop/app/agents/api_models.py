"""Agents that are models behind an API: their address, key and prices."""

from __future__ import annotations

import importlib
import re
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from msgspec import Struct

from allstop.app.agents.keys import describe_key, key_for, key_name
from allstop.app.agents.prices import PRICED_AS, token_price
from allstop.ports import Agent as AgentPort
from allstop.settings.model import Agent, Driver

if TYPE_CHECKING:
    from allstop.app.project import Project


class Provider(Struct, frozen=True, kw_only=True):
    """A driver's defaults."""

    base_url: str
    model: str


PROVIDERS = {
    Driver.OPENAI: Provider(base_url="https://api.openai.com/v1", model="gpt-6.1-sol"),
    Driver.ANTHROPIC: Provider(base_url="https://api.anthropic.com", model="claude-sonnet-5-5"),
    Driver.OLLAMA: Provider(base_url="http://127.0.0.1:11434/v1", model="llama3.2"),
}


HTTP_CLIENT = "allstop.adapters.agents.api.http_client"


async def load_http_client() -> None:
    """Import the client in a thread: on the event loop that could delay a stop."""
    if HTTP_CLIENT not in sys.modules:
        await anyio.to_thread.run_sync(importlib.import_module, HTTP_CLIENT)


def make_model_agent(project: Project, name: str, settings: Agent) -> AgentPort:
    key = key_for(project, name, settings)
    from allstop.adapters.agents.api.http_client import NO_KEY, Endpoint

    provider = PROVIDERS[settings.driver]
    endpoint = Endpoint(
        base_url=settings.base_url or provider.base_url,
        model=settings.model or provider.model,
        key=key or NO_KEY,
        key_name=key_name(settings),
        is_vendors=settings.base_url is None,
        provider=_name_of_provider(settings),
    )
    listed = PRICED_AS[settings.driver]
    price = token_price(project, listed, endpoint.model, free=settings.flat_rate)
    match settings.driver:
        case Driver.ANTHROPIC:
            from allstop.adapters.agents.api.anthropic_messages import anthropic_agent

            return anthropic_agent(endpoint, name=name, price=price, clock=project.clock)
        case Driver.OPENAI:
            from allstop.adapters.agents.api.openai_responses import openai_agent

            return openai_agent(endpoint, name=name, price=price, clock=project.clock)
        case _:
            from allstop.adapters.agents.api.openai_responses import ollama_agent

            return ollama_agent(endpoint, name=name, price=price, clock=project.clock)


def _name_of_provider(settings: Agent) -> str:
    """Its name, or the host of a compatible server."""
    if settings.base_url is None:
        return settings.driver.value
    return urlsplit(settings.base_url).hostname or ""


def describe_model(settings: Agent) -> str:
    """The model, its address and the key's variable, for people."""
    provider = PROVIDERS[settings.driver]
    with_key = f", {source}" if (source := describe_key(settings)) else ""
    model, url = settings.model or provider.model, settings.base_url or provider.base_url
    return f"{model} at {re.sub('//[^/@]*@', '//', url)}{with_key}"
