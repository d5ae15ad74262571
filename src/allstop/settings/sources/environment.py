"""The environment of the settings: home folder and environment variables."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class Environment(Struct, frozen=True, kw_only=True):
    home: Path
    variables: Mapping[str, str] = {}

    @property
    def user_file(self) -> Path:
        """The user's own settings, for all repositories."""
        return self._base("XDG_CONFIG_HOME", ".config") / "allstop" / "config.toml"

    @property
    def trust_file(self) -> Path:
        """The accepted settings of repositories."""
        return self._base("XDG_STATE_HOME", ".local/state") / "allstop" / "trust.json"

    def _base(self, variable: str, default: str) -> Path:
        """The XDG specification says to ignore relative paths."""
        given = Path(self.variables.get(variable, ""))
        return given if given.is_absolute() else self.home / default


def this_environment() -> Environment:
    import os

    return Environment(home=Path.home(), variables=dict(os.environ))
