"""What the providers of models remember of a prompt, and at which price."""

from __future__ import annotations

import re

from allstop.core.context_window import NO_CACHING, CachePricing
from allstop.settings.model import Agent, Driver

_OPENAI_FREE_WRITES = CachePricing(least=1024, write=1.0, write_hour=None, read=0.1, minutes=5)
_OPENAI_PAID_WRITES = CachePricing(least=1024, write=1.25, write_hour=None, read=0.1, minutes=30)
_ANTHROPIC = CachePricing(least=1024)
_ANTHROPIC_LONG = CachePricing(least=4096)
_LOCAL = CachePricing(least=0, write=1.0, write_hour=None, read=0.1, minutes=5)
"""A model on one's own machine does not compute again what it has just seen."""

_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_LONG_FRONT = re.compile(r"haiku-4-5|opus-4-[567]")
"""The models that remember nothing shorter than four thousand tokens."""


def memory_of(agent: Agent) -> CachePricing:
    model = agent.model or ""
    match agent.driver:
        case Driver.OPENAI:
            return _OPENAI_PAID_WRITES if _is_newer(model) else _OPENAI_FREE_WRITES
        case Driver.ANTHROPIC:
            return _ANTHROPIC_LONG if _LONG_FRONT.search(model) else _ANTHROPIC
        case Driver.OLLAMA:
            return _LOCAL
        case _:
            return NO_CACHING


def _is_newer(model: str) -> bool:
    """GPT-5.6 was the first that bills what it writes down; so does the one taken by default."""
    found = _VERSION.match(model)
    if found is None:
        return not model
    return (int(found[1]), int(found[2] or 0)) >= (5, 6)
