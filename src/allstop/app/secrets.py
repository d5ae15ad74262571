"""The known secrets of a project: keys of the environment and settings, and the server's token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from allstop.core.errors import AllstopError
from allstop.core.secrets import RedactedStream, Secrets, is_secret_name
from allstop.settings.problems import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allstop.settings.model import Settings
    from allstop.settings.sources.environment import Environment

T = TypeVar("T")


class SecretFilter:
    """Redacts secrets in the output of agents and checks."""

    def __init__(self, secrets: Callable[[], Secrets]) -> None:
        self._secrets = secrets

    def __call__(self, value: T) -> T:
        return self._secrets().redact_all_in(value)


class SecretStream:
    """Redacts secrets in text that arrives in pieces."""

    def __init__(self, secrets: Callable[[], Secrets]) -> None:
        self._secrets = secrets
        self._stream = RedactedStream()

    def feed(self, text: str) -> str:
        return self._stream.feed(text, self._secrets())

    def end(self) -> str:
        return self._stream.end()


def known_secrets(
    environment: Environment, settings: Callable[[], Settings], token: Path
) -> Secrets:
    return Secrets(
        [*_of_environment(environment), *_of_settings(environment, settings), *_in_file(token)]
    )


def _of_environment(environment: Environment) -> Iterator[str]:
    for name, value in environment.variables.items():
        if is_secret_name(name):
            yield value


def _of_settings(environment: Environment, settings: Callable[[], Settings]) -> Iterator[str]:
    """Secrets that the settings name; none if the settings can't be read."""
    try:
        found = settings()
    except (AllstopError, SettingsError):
        return
    variables = environment.variables
    yield from found.notify.urls
    for agent in found.agents.values():
        if agent.api_key_env:
            yield variables.get(agent.api_key_env, "")
        yield from (variables.get(name, "") for name in agent.pass_env)
        yield from (value for name, value in agent.env.items() if is_secret_name(name))


def _in_file(token: Path) -> Iterator[str]:
    try:
        yield token.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return
