"""Which secrets are known in a house: keys of the environment, of the settings, and its token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from allstop.core.errors import AllstopError
from allstop.core.secrets import Secrets, is_secret_name
from allstop.settings import SettingsError

if TYPE_CHECKING:
    from allstop.app.house import House

T = TypeVar("T")


class Discretion:
    """Agents and checks may say what they were not to know: keys of this machine."""

    def __init__(self, house: House) -> None:
        self._house = house

    def __call__(self, value: T) -> T:
        return self._house.secrets.scrubbed_in(value)


def known_secrets(house: House) -> Secrets:
    return Secrets([*_of_environment(house), *_of_settings(house), *_token(house)])


def _of_environment(house: House) -> Iterator[str]:
    for name, value in house.environment.variables.items():
        if is_secret_name(name):
            yield value


def _of_settings(house: House) -> Iterator[str]:
    """What an agent is given by the settings; settings that can't be read give nothing."""
    try:
        agents = house.settings.agents.values()
    except (AllstopError, SettingsError):
        return
    variables = house.environment.variables
    for agent in agents:
        if agent.api_key_env:
            yield variables.get(agent.api_key_env, "")
        yield from (value for name, value in agent.env.items() if is_secret_name(name))


def _token(house: House) -> Iterator[str]:
    try:
        yield (house.folder / "token").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return
