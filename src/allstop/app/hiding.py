"""What no message may hold: the secrets that this process knows, and what looks like one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from allstop.settings.redaction import HIDDEN, scrubbed

if TYPE_CHECKING:
    from allstop.app.house import House

SHORTEST = 8
"""A shorter value is a word that may stand anywhere."""

_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|credential")


def without_secrets(house: House) -> Callable[[str], str]:
    """Takes out what is a secret here, and what looks like one anywhere."""
    known = sorted(set(_secrets(house)), key=len, reverse=True)

    def clean(text: str) -> str:
        for secret in known:
            text = text.replace(secret, HIDDEN)
        return scrubbed(text)

    return clean


def _secrets(house: House) -> Iterator[str]:
    settings, variables = house.settings, house.environment.variables
    named = {name for name in variables if _SECRET_NAME.search(name)}
    for agent in settings.agents.values():
        named |= {*agent.pass_env, *([agent.api_key_env] if agent.api_key_env else [])}
        yield from (value for value in agent.env.values() if len(value) >= SHORTEST)
    yield from settings.notify.urls
    for name in named:
        if len(value := variables.get(name, "")) >= SHORTEST:
            yield value
