"""Where Allstop is at home: the repository, its .allstop folder, the settings, the store."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.adapters.clock import SystemClock
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.adapters.journals.sqlite import SqliteJournal
    from allstop.settings import Environment, Loaded, Settings

FOLDER = ".allstop"


class NoRepositoryError(AllstopError):
    """There is no git repository here."""


class House:
    """Everything is made when it is first asked for: looking at the status needs little."""

    def __init__(
        self,
        start: Path,
        environment: Environment,
        flags: Mapping[str, object] | None = None,
    ) -> None:
        self.environment = environment
        self.clock = SystemClock()
        self.root = find_root(start)
        self._flags = flags or {}

    @property
    def folder(self) -> Path:
        """Where the store, the workspaces and the logs are; removing it removes every trace."""
        if self.root is not None:
            return self.root / FOLDER
        return self.environment.trust_file.parent / "rooms"

    @property
    def repository(self) -> Path:
        if self.root is None:
            raise NoRepositoryError("this is no git repository", "go to one, or make one: git init")
        return self.root

    @property
    def live(self) -> Path:
        return self.folder / "live"

    @cached_property
    def loaded(self) -> Loaded:
        from allstop.settings import load

        return load(self.environment, repository=self.root, flags=self._flags)

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def has_store(self) -> bool:
        return (self.folder / "journal.db").exists()

    @cached_property
    def journal(self) -> SqliteJournal:
        from allstop.adapters.journals.sqlite import SqliteJournal

        journal = SqliteJournal(self.folder, self.clock)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        return journal

    @property
    def is_trusted(self) -> bool:
        """Whether the person who runs this has accepted what this repository's file asks for."""
        from allstop.settings import is_trusted

        if self.root is None:
            return False
        return is_trusted(self.environment.trust_file, self.root, self.loaded.asked)

    def close(self) -> None:
        if "journal" in self.__dict__:
            self.journal.close()


def find_root(start: Path) -> Path | None:
    """The nearest folder upwards that holds a git repository."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return None
