"""Token prices of the agents' models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.settings.model import Driver

if TYPE_CHECKING:
    from allstop.adapters.agents.api.token_prices import TokenPrice
    from allstop.app.project import Project

PRICED_AS = {
    Driver.OPENAI: "openai",
    Driver.CODEX: "openai",
    Driver.ANTHROPIC: "anthropic",
    Driver.CLAUDE_CODE: "anthropic",
    Driver.OLLAMA: "",
}
"""A driver's provider in the price list; "" for models on the person's own machine."""


def token_price(project: Project, provider: str, model: str, *, free: bool) -> TokenPrice:
    """`provider`: in the price list. `free`: a subscription; tokens are counted but cost nothing."""
    from allstop.adapters.agents.api.token_prices import PriceOverride, TokenPrice

    own = None
    if (given := project.settings.prices.get(model)) is not None:
        own = PriceOverride(
            input_mtok=given.input_mtok,
            output_mtok=given.output_mtok,
            cache_read_mtok=given.cache_read_mtok,
            cache_write_mtok=given.cache_write_mtok,
        )
    return TokenPrice(model, provider=provider, own=own, free=free)
