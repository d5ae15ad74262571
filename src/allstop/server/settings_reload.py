"""Takes up changed settings while the server runs; the last good ones stay where new are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from allstop.adapters.git.repository.safe_names import git_folders
from allstop.server.settings_list import listed
from allstop.settings.loader import FILE_NAME, Loaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from allstop.app.project import Project
    from allstop.server.wire_types import SettingList

LOOK_S = 2.0


class SettingsKeeper:
    """`changed` is called after other settings have come into force."""

    def __init__(
        self,
        project: Project,
        say: Callable[[str], None],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._changed = changed
        self._project = project
        self._say = say
        self._git = git_folders(project.root or Path())
        self._seen = self._signs()
        self._loaded: Loaded | None = None
        self._shown: SettingList | None = None
        self.problem = ""

    @property
    def listed(self) -> SettingList:
        """Every setting in force; the list is made once for all who ask."""
        self.look()
        loaded = self._project.loaded
        if loaded is not self._loaded or self._shown is None:
            self._loaded = loaded
            self._shown = listed(self._project, self.problem)
        return self._shown

    async def keep(self) -> None:
        """Runs until cancelled."""
        while True:
            await anyio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        signs = self._signs()
        if signs == self._seen:
            return
        self._seen = signs
        self._shown = None
        settings = self._project.settings
        before, self.problem = self.problem, self._project.renew_settings()
        if self.problem and self.problem != before:
            self._say(f"The changed settings are not in force: {self.problem}")
        elif before and not self.problem:
            self._say("The settings are right again and in force.")
        if self._project.settings != settings:
            self._changed()

    def _signs(self) -> list[tuple[int, int] | None]:
        """Of every file that has a say: the branch's file changes with the branch."""
        environment, root = self._project.environment, self._project.root
        files = [environment.user_file, environment.trust_file]
        if root is not None:
            heads = self._git.common / "refs" / "heads"
            files += [root / FILE_NAME, self._git.own / "HEAD", self._git.common / "packed-refs"]
            files += [heads, *self._branches(heads)]
        return [_sign(file) for file in files]

    def _branches(self, heads: Path) -> list[Path]:
        branch = self._project.settings.project.target
        return [heads / branch] if branch else sorted(heads.glob("*"))[:100]


def _sign(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
