"""Takes up changed settings while the server runs; the last good ones stay where new are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec

from allstop.server.shapes import SettingList, SettingRow
from allstop.settings import FILE_NAME, Loaded, Row, describe_origin, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from allstop.app.house import House

LOOK_S = 2.0


class SettingsKeeper:
    def __init__(self, house: House, say: Callable[[str], None]) -> None:
        self._house = house
        self._say = say
        self._seen = self._signs()
        self._loaded: Loaded | None = None
        self._rows: list[SettingRow] = []
        self.problem = ""

    @property
    def listed(self) -> SettingList:
        """Every setting in force; the list is made once for all who ask."""
        loaded = self._house.loaded
        if loaded is not self._loaded:
            self._loaded = loaded
            self._rows = [_row(row) for row in rows(loaded)]
        return SettingList(settings=self._rows, notes=list(loaded.notes), problem=self.problem)

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
        before, self.problem = self.problem, self._house.renew_settings()
        if self.problem and self.problem != before:
            self._say(f"The changed settings are not in force: {self.problem}")
        elif before and not self.problem:
            self._say("The settings are right again and in force.")

    def _signs(self) -> list[tuple[int, int] | None]:
        """Of every file that has a say: the branch's file changes with the branch."""
        environment, root = self._house.environment, self._house.root
        files = [environment.user_file, environment.trust_file]
        if root is not None:
            git = root / ".git"
            files += [root / FILE_NAME, git / "HEAD", git / "packed-refs", git / "refs" / "heads"]
            files += self._branches(git / "refs" / "heads")
        return [_sign(file) for file in files]

    def _branches(self, heads: Path) -> list[Path]:
        branch = self._house.settings.project.target
        return [heads / branch] if branch else sorted(heads.glob("*"))[:100]


def _row(row: Row) -> SettingRow:
    return SettingRow(
        key=row.key,
        value=row.value,
        default=None if row.default is msgspec.UNSET else row.default,
        origin=describe_origin(row.origin),
        description=row.description,
    )


def _sign(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
