"""The known secrets of a project.

They are keys of the environment and settings, values in files that are copied into workspaces, and
the server's token.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import unquote

from allstop.core.errors import AllstopError
from allstop.core.secrets import (
    RedactedStream,
    Secrets,
    assigned_secrets,
    is_opaque,
    is_secret_name,
    url_passwords,
)
from allstop.settings.model import Workspace
from allstop.settings.problems import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from allstop.settings.model import Settings
    from allstop.settings.sources.environment import Environment

T = TypeVar("T")


class ReadKey(NamedTuple):
    """A key that a command of the person printed, and when."""

    key: str
    at: datetime


def key_file(environment: Environment, path: str) -> Path:
    """The file of an agent's key; `~` is the person's home."""
    return environment.home / path[2:] if path.startswith("~/") else Path(path)


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


MAX_FILES, MAX_FILE_BYTES, MAX_FOLDERS = 100, 256 * 1024, 10_000
"""Limits on the copied files that are read for secrets."""
MAX_VALUES = 500
_NOT_SEARCHED = frozenset({".git", ".allstop", "node_modules", ".venv"})
_EXAMPLES = (".example", ".sample", ".template", ".dist")


def known_secrets(
    environment: Environment,
    settings: Callable[[], Settings],
    token: Path,
    copied: Iterable[str] = (),
) -> Secrets:
    """`copied` are the secrets in copied files, see `copied_secrets`."""
    return Secrets(
        [
            *_of_environment(environment),
            *_of_settings(environment, settings),
            *_in_file(token),
            *copied,
        ]
    )


def copied_secrets(root: Path, settings: Callable[[], Settings]) -> Iterator[str]:
    """The secrets in files that `[workspace] copy` copies into every workspace."""
    try:
        patterns = settings().workspace.copy
    except (AllstopError, SettingsError):
        patterns = Workspace().copy
    values = (
        value
        for file in islice(_copied_files(root, patterns), MAX_FILES)
        for value in assigned_secrets(_text(file))
    )
    return islice(values, MAX_VALUES)


def _copied_files(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        if "**" in pattern:
            tail = pattern.replace("**/", "").strip("/*") or "*"
            yield from _files_below(root, tail)
            continue
        for found in sorted(root.glob(pattern)):
            if found.is_dir() and not found.is_symlink():
                yield from _files_below(found, "*")
            elif _is_no_example(found):
                yield found


def _files_below(top: Path, pattern: str) -> Iterator[Path]:
    """The files below a folder whose path ends like the pattern; large folders are cut off."""
    for folder, folders, names in islice(os.walk(top), MAX_FOLDERS):
        folders[:] = sorted(set(folders) - _NOT_SEARCHED)
        paths = (Path(folder, name) for name in sorted(names))
        yield from (path for path in paths if path.match(pattern) and _is_no_example(path))


def _is_no_example(path: Path) -> bool:
    return not path.name.endswith(_EXAMPLES)


def _text(path: Path) -> str:
    """The text of a file; "" if it is too large or can't be read."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1) if path.is_file() else b""
    except OSError:
        return ""
    return content.decode(errors="replace") if len(content) <= MAX_FILE_BYTES else ""


def _of_environment(environment: Environment) -> Iterator[str]:
    for name, value in environment.variables.items():
        if is_secret_name(name):
            yield value
        for password in url_passwords(value):
            yield from (password, unquote(password))


def _of_settings(environment: Environment, settings: Callable[[], Settings]) -> Iterator[str]:
    """Secrets that the settings name; none if the settings can't be read."""
    try:
        found = settings()
    except (AllstopError, SettingsError):
        return
    variables = environment.variables
    yield from found.notify.urls
    yield from (variables.get(name, "") for name in found.verification.env)
    for password in url_passwords(found.store.url):
        yield from (password, unquote(password))
    for agent in found.agents.values():
        if agent.api_key_file:
            yield _text(key_file(environment, agent.api_key_file)).strip()
        if agent.api_key_env:
            yield variables.get(agent.api_key_env, "")
            own = (name for name in variables if name.startswith(f"{agent.api_key_env}_"))
            yield from (variables[name] for name in own if agent.accounts)
        yield from (variables.get(name, "") for name in agent.pass_env)
        values = agent.env.items()
        yield from (value for name, value in values if is_secret_name(name) or is_opaque(value))


def _in_file(token: Path) -> Iterator[str]:
    try:
        yield token.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return
