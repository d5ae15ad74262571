"""The order of agents for a run that names no agent."""

from allstop.settings.model import CHAT_DRIVERS, Settings


def roster(settings: Settings) -> tuple[str, ...]:
    """The first agent works; the others replace it while it is rate limited."""
    loop = settings.loop
    chosen = (loop.agent, loop.fallback, *loop.order)
    named = tuple(dict.fromkeys(name for name in chosen if name is not None))
    if not named:
        named = _first(settings)
    return (*named, "gpt") if named == ("claude",) and "gpt" in _workers(settings) else named


def fallbacks(settings: Settings) -> tuple[str, ...]:
    """The agents that replace an agent named by a task."""
    loop = settings.loop
    named = tuple(name for name in (loop.fallback, *loop.order) if name is not None)
    return named or roster(settings)[1:]


def _first(settings: Settings) -> tuple[str, ...]:
    workers = _workers(settings)
    return ("claude",) if "claude" in workers else workers[:1]


def _workers(settings: Settings) -> tuple[str, ...]:
    return tuple(
        name for name, agent in settings.agents.items() if agent.driver not in CHAT_DRIVERS
    )
