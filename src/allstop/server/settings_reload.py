"""Reloads changed settings while the server runs; invalid ones leave the last valid in force."""

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

POLL_S = 2.0


class SettingsReloader:
    """Watches the settings files; `changed` is called after changed settings are in force."""

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
        self._seen = self._fingerprints()
        self._loaded: Loaded | None = None
        self._shown: SettingList | None = None
        self.problem = ""

    @property
    def listed(self) -> SettingList:
        """Every setting in force; the list is cached until a file changes."""
        self.reload_if_changed()
        loaded = self._project.loaded
        if loaded is not self._loaded or self._shown is None:
            self._loaded = loaded
            self._shown = listed(self._project, self.problem)
        return self._shown

    async def watch(self) -> None:
        """Run until cancelled."""
        while True:
            await anyio.sleep(POLL_S)
            self.reload_if_changed()

    def reload_if_changed(self) -> None:
        fingerprints = self._fingerprints()
        if fingerprints == self._seen:
            return
        self._seen = fingerprints
        self._shown = None
        settings = self._project.settings
        before, self.problem = self.problem, self._project.reload_settings()
        if self.problem and self.problem != before:
            self._say(f"The changed settings are invalid and not in force: {self.problem}")
        elif before and not self.problem:
            self._say("The settings are valid again and in force.")
        if self._project.settings != settings:
            self._changed()

    def _fingerprints(self) -> list[tuple[int, int] | None]:
        """Fingerprint every file that settings come from; the branch's file is read through git."""
        environment, root = self._project.environment, self._project.root
        files = [environment.user_file, environment.trust_file]
        files.append(self._project.settings_folder / FILE_NAME)
        if root is not None:
            heads = self._git.common / "refs" / "heads"
            files += [self._git.own / "HEAD", self._git.common / "packed-refs"]
            files += [heads, *self._branches(heads)]
        return [_fingerprint(file) for file in files]

    def _branches(self, heads: Path) -> list[Path]:
        branch = self._project.settings.project.target
        return [heads / branch] if branch else sorted(heads.glob("*"))[:100]


def _fingerprint(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
