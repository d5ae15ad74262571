"""Keeps the texts of model calls as files, for debugging."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from allstop.adapters.gateway.model_call import MAX_KEPT_BYTES
from allstop.adapters.git.repository.safe_names import folder_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from allstop.adapters.gateway.model_call import CallRecord
    from allstop.core.secrets import Secrets
    from allstop.ports import Clock

FOLDER = "model_calls"
MOST_FILES = 1_000
"""Of one run; later calls of it aren't kept."""


class KeptCall(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    model: str
    status: int
    request_id: str
    request: object  # JSON as it was sent, or its beginning as text
    reply: object  # JSON, or text as of a stream


class KeptCalls:
    """A file for each call, in a folder for each run."""

    def __init__(
        self, folder: Path, clock: Clock, secrets: Callable[[], Secrets], key: str
    ) -> None:
        """`key`: the provider's, which some servers repeat."""
        self._folder = folder
        self._clock = clock
        self._secrets = secrets
        self._key = key

    async def keep(self, run: str, record: CallRecord, sent: bytes, received: bytes) -> None:
        """A call that can't be written is left out: this must not disturb the turn."""
        await anyio.to_thread.run_sync(self._write, run, record, sent, received)

    def _write(self, run: str, record: CallRecord, sent: bytes, received: bytes) -> None:
        now, folder = self._clock.now(), self._folder / folder_name(run)
        call = KeptCall(
            at=now,
            model=record.model,
            status=record.status,
            request_id=record.request_id,
            request=_json_or_text(self._without_key(sent)),
            reply=_json_or_text(self._without_key(received)),
        )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = sum(1 for _ in folder.iterdir()) + 1
            if number > MOST_FILES:
                return
            data = msgspec.json.format(msgspec.json.encode(self._secrets().redact_all_in(call)))
            name = f"{now:%Y%m%dT%H%M%S%f}-{os.getpid()}-{number:04}.json"
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError:
            return

    def _without_key(self, body: bytes) -> str:
        text = body[:MAX_KEPT_BYTES].decode(errors="replace")
        return text.replace(self._key, "[the key]") if len(self._key) > 8 else text


def _json_or_text(text: str) -> object:
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return value
