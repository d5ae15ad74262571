"""Slips of paper, so to say, on which a driver writes down each tree that lives."""

from __future__ import annotations

import errno
import os
import secrets
import weakref
from contextlib import suppress
from pathlib import Path

import msgspec

from allstop.adapters.processes.live_registry import Record


class Slip:
    """A file on which one tree at a time is written down."""

    def __init__(self, blank: str) -> None:
        """`blank` is its name while there is nothing on it, which no reader looks for.

        Raises:
            OSError: it can't be made.
        """
        self._blank = blank
        self._handle = os.open(blank, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0  # of the file
        self._shown = ""

    def fill(self, record: Record, shown: str) -> None:
        """It appears whole or not at all, under another name.

        Raises:
            OSError: the disk is full, or somebody has taken it away.
        """
        data = msgspec.json.encode(record).ljust(self._size)  # what was there before is gone
        if os.pwrite(self._handle, data, 0) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size = len(data)
        os.rename(self._blank, shown)  # noqa: PTH104 - paths are slow to make
        self._shown = shown

    def wipe(self) -> None:
        """
        Raises:
            OSError: whoever put its tree down has removed it.
        """
        os.rename(self._shown, self._blank)  # noqa: PTH104

    def burn(self) -> None:
        os.close(self._handle)
        with suppress(OSError):
            os.unlink(self._blank)  # noqa: PTH108


def shown_as(directory: Path, record: Record) -> str:
    return f"{directory}/{record.driver.pid}-{record.root.pid}.json"


class Slips:
    """Of one driver, in the folder where others look for what lives.

    A slip is used again: to make a file and to remove it takes up to a millisecond, and every
    program is written down.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._unused: list[Slip] = []
        weakref.finalize(self, _burn, self._unused)

    def write_down(self, record: Record) -> Slip:
        """
        Raises:
            OSError: it can't be.
        """
        shown = shown_as(self.directory, record)
        while self._unused:
            slip = self._unused.pop()
            try:
                slip.fill(record, shown)
            except OSError:
                slip.burn()
            else:
                return slip
        slip = Slip(f"{self.directory}/{record.driver.pid}-{secrets.token_hex(8)}.part")
        try:
            slip.fill(record, shown)
        except OSError:
            slip.burn()
            raise
        return slip

    def take_back(self, slip: Slip) -> None:
        try:
            slip.wipe()
        except OSError:
            slip.burn()
        else:
            self._unused.append(slip)


def _burn(slips: list[Slip]) -> None:
    while slips:
        slips.pop().burn()
