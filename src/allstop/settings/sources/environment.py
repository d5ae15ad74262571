"""What the settings need to know about the person and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class Environment(Struct, frozen=True, kw_only=True):
    home: Path
    variables: Mapping[str, str] = {}

    @property
    def user_file(self) -> Path:
        """The person's own settings, for all repositories."""
        return self._base("XDG_CONFIG_HOME", ".config") / "allstop" / "config.toml"

    @property
    def trust_file(self) -> Path:
        """Which repositories' settings the person has accepted."""
        return self._base("XDG_STATE_HOME", ".local/state") / "allstop" / "trust.json"

    def _base(self, variable: str, default: str) -> Path:
        """A relative path is not valid there and is to be ignored, says the XDG specification."""
        given = Path(self.variables.get(variable, ""))
        return given if given.is_absolute() else self.home / default


def this_environment() -> Environment:
    """That of the running process."""
    import os

    return Environment(home=Path.home(), variables=dict(os.environ))
