"""Receipts of verified trees as files, each named by its digest."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from allstop.core.errors import AllstopError
from allstop.gate.receipt import GateReceipt, decode, encode

_DIGEST = re.compile(r"[0-9a-f]{64}")


class ReceiptFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def keep(self, receipt: GateReceipt) -> None:
        """Write it before its digest is recorded; a crash leaves at most a file that none names."""
        await to_thread.run_sync(self._write, receipt)

    def read(self, digest: str) -> GateReceipt | None:
        """The receipt; None if there is no such file.

        Raises AllstopError if the file was changed.
        """
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            return decode(self._file(digest).read_bytes(), f"the receipt {digest[:12]}")
        except FileNotFoundError:
            return None

    def latest(self, most: int) -> Iterator[GateReceipt]:
        """The receipts that were kept last; those that can't be read are left out."""
        files = sorted(self._folder.glob("*/*.json"), key=_kept_at, reverse=True)
        for file in files[:most]:
            with suppress(AllstopError, OSError):
                yield decode(file.read_bytes(), file.name)

    def _write(self, receipt: GateReceipt) -> None:
        file = self._file(receipt.digest)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as stream:
            stream.write(encode(receipt))
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)

    def _file(self, digest: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.json"


def _kept_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # it was removed meanwhile
        return 0.0
