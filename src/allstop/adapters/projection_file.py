"""A file that is computed from the journal: replaced as a whole, by one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Keep other processes from replacing the file meanwhile; a killed one holds nobody up."""
    lock = os.open(
        path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def replace_if_changed(path: Path, content: bytes) -> bool:
    """Replace the file if it has another content; whether it was replaced."""
    with suppress(OSError):
        if path.read_bytes() == content:
            return False
    draft = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
    return True
