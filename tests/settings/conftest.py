"""Fixtures: a user's home and a repository with settings files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from allstop.settings.loader import Loaded, load
from allstop.settings.problems import SettingsError
from allstop.settings.sources.environment import Environment


class SettingsWorld:
    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.repository = root / "home" / "code" / "repository"
        self.repository.mkdir(parents=True)
        self.variables: dict[str, str] = {}
        self.flags: dict[str, object] = {}

    @property
    def environment(self) -> Environment:
        return Environment(home=self.home, variables=self.variables)

    @property
    def project_file(self) -> Path:
        return self.repository / "allstop.toml"

    @property
    def user_file(self) -> Path:
        return self.home / ".config" / "allstop" / "config.toml"

    def user(self, text: str) -> SettingsWorld:
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_text(text)
        return self

    def project(self, text: str) -> SettingsWorld:
        self.project_file.write_text(text)
        return self

    def says(self, variables: Mapping[str, str]) -> SettingsWorld:
        self.variables |= variables
        return self

    def flag(self, flags: Mapping[str, object]) -> SettingsWorld:
        self.flags |= flags
        return self

    def load(self) -> Loaded:
        return load(self.environment, repository=self.repository, flags=self.flags)

    def problems(self) -> list[str]:
        """What a person is shown, line by line."""
        with pytest.raises(SettingsError) as caught:
            self.load()
        return str(caught.value).splitlines()


@pytest.fixture
def world(tmp_path: Path) -> SettingsWorld:
    return SettingsWorld(tmp_path)
