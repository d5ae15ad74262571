"""Writes one record file per live process tree, and reuses the files."""

import errno
import os
import secrets
import weakref
from contextlib import suppress
from pathlib import Path

import msgspec

from allstop.adapters.processes.live_registry import Record


class LiveRecordFile:
    """A file that records one process tree at a time."""

    def __init__(self, blank: str) -> None:
        """`blank` is its name while it holds no record; readers ignore that name.

        Raises OSError if the file can't be created.
        """
        self._blank = blank
        self._handle = os.open(blank, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0  # of the file
        self._path = ""

    def write(self, record: Record, path: str) -> None:
        """Write the record, then rename the file, so that readers see a complete record or none.

        Raises OSError if the disk is full, or the file was removed.
        """
        # padded, so that it overwrites the earlier record completely
        data = msgspec.json.encode(record).ljust(self._size)
        if os.pwrite(self._handle, data, 0) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size = len(data)
        os.rename(self._blank, path)  # noqa: PTH104 - Path objects are slow
        self._path = path

    def clear(self) -> None:
        """Rename the file to its blank name.

        Raises OSError if the process that killed the tree has removed the file.
        """
        os.rename(self._path, self._blank)  # noqa: PTH104

    def delete(self) -> None:
        os.close(self._handle)
        with suppress(OSError):
            os.unlink(self._blank)  # noqa: PTH108


def record_path(directory: Path, record: Record) -> str:
    return f"{directory}/{record.driver.pid}-{record.root.pid}.json"


class LiveRecords:
    """The record files of one driver, in the folder where other processes look for live trees.

    Files are reused: creating and removing one takes up to a millisecond, and every program gets
    one.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._unused: list[LiveRecordFile] = []
        weakref.finalize(self, _delete_all, self._unused)

    def add(self, record: Record) -> LiveRecordFile:
        """Write a record, if possible into an unused file.

        Raises OSError if the record can't be written.
        """
        path = record_path(self.directory, record)
        while self._unused:
            record_file = self._unused.pop()
            try:
                record_file.write(record, path)
            except OSError:
                record_file.delete()
            else:
                return record_file
        record_file = LiveRecordFile(
            f"{self.directory}/{record.driver.pid}-{secrets.token_hex(8)}.part"
        )
        try:
            record_file.write(record, path)
        except OSError:
            record_file.delete()
            raise
        return record_file

    def release(self, record_file: LiveRecordFile) -> None:
        try:
            record_file.clear()
        except OSError:
            record_file.delete()
        else:
            self._unused.append(record_file)


def _delete_all(files: list[LiveRecordFile]) -> None:
    while files:
        files.pop().delete()
