"""Prompt caching of the models' providers: minimum length, duration and price factors."""

import re

from allstop.core.context_window import NO_CACHING, CachePricing
from allstop.settings.model import Agent, Driver

_OPENAI_FREE_WRITES = CachePricing(least=1024, write=1.0, write_hour=None, read=0.1, minutes=5)
_OPENAI_PAID_WRITES = CachePricing(least=1024, write=1.25, write_hour=None, read=0.1, minutes=30)
_ANTHROPIC = CachePricing(least=1024)
_ANTHROPIC_LONG = CachePricing(least=4096)
_LOCAL = CachePricing(least=0, write=1.0, write_hour=None, read=0.1, minutes=5)
"""A model on the person's own machine doesn't recompute a prompt prefix it has just seen."""

_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_LONG_MINIMUM = re.compile(r"haiku-4-5|opus-4-[567]")
"""Models that cache no prompt shorter than 4,096 tokens."""


def cache_pricing(agent: Agent) -> CachePricing:
    model = agent.model or ""
    match agent.driver:
        case Driver.OPENAI:
            return _OPENAI_PAID_WRITES if _bills_cache_writes(model) else _OPENAI_FREE_WRITES
        case Driver.ANTHROPIC:
            return _ANTHROPIC_LONG if _LONG_MINIMUM.search(model) else _ANTHROPIC
        case Driver.OLLAMA:
            return _LOCAL
        case _:
            return NO_CACHING


def _bills_cache_writes(model: str) -> bool:
    """Cache writes are billed since GPT-5.6, and by the default model."""
    found = _VERSION.match(model)
    if found is None:
        return not model
    return (int(found[1]), int(found[2] or 0)) >= (5, 6)
