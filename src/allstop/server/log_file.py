"""The server's log file: limited in size, with secrets redacted."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from allstop.core.secrets import Secrets

MAX_BYTES = 1024 * 1024
NAMES = ("allstop", "uvicorn")


class _RedactingFormatter(logging.Formatter):
    def __init__(self, secrets: Callable[[], Secrets]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return self._secrets().redact_all(super().format(record))


@contextmanager
def logging_to(path: Path, secrets: Callable[[], Secrets]) -> Iterator[None]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = RotatingFileHandler(
        path, maxBytes=MAX_BYTES, backupCount=2, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(_RedactingFormatter(secrets))
    os.chmod(path, 0o600)  # noqa: PTH101 - the file is already open
    loggers = [logging.getLogger(name) for name in NAMES]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()
