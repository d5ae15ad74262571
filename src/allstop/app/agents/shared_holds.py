"""Shares holds of accounts among all repositories of this user.

Each repository has its own journal; this file is how their processes tell each other.
"""

import os
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from allstop.core.accounts import AccountHold

FILE_NAME = "account_holds.json"
KEPT = timedelta(minutes=30)
"""How long a hold stays in the file after its end."""


class SharedHolds:
    """A missing or damaged file holds nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._holds: Mapping[str, AccountHold] = {}
        self._read_at: tuple[int, int] | None = None  # the file's identity when it was read

    def get(self, account: str) -> AccountHold | None:
        return self._read().get(account)

    def put(self, account: str, hold: AccountHold | None, now: datetime) -> None:
        """Replace the file as a whole; if that fails, other repositories meet the limit themselves."""
        holds = {name: each for name, each in self._read().items() if each.until > now - KEPT}
        if hold is None:
            if holds.pop(account, None) is None:
                return
        else:
            holds[account] = hold
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=FILE_NAME)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(holds))
            Path(name).replace(self._file)
        except OSError:
            return

    def _read(self) -> Mapping[str, AccountHold]:
        """Read the file again if it was replaced."""
        try:
            found = self._file.stat()
            if (identity := (found.st_ino, found.st_mtime_ns)) != self._read_at:
                self._holds = msgspec.json.decode(
                    self._file.read_bytes(), type=dict[str, AccountHold]
                )
                self._read_at = identity
        except (OSError, msgspec.DecodeError):
            self._holds, self._read_at = {}, None
        return self._holds
