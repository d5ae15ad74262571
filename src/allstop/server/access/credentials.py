"""Credentials: the token in a file, sign-in keys that work once, and the cookie for browsers."""

import hmac
import os
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from allstop.core.errors import AllstopError

BYTES = 32
SHORTEST = 22  # characters: 128 bits
MAX_KEYS = 16
KEY_MINUTES = 15
"""How long a sign-in link works."""


class Token:
    """The token of a file, which is checked for each request: a change takes effect at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._text = ""
        self._batch = -1

    @property
    def text(self) -> str:
        """The token; "" if the file is missing or invalid, and then nobody can sign in."""
        try:
            found = self._path.stat()
        except OSError:
            self._seen, self._text = None, ""
            return ""
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._text = _read(self._path)
            self._seen = seen
        return self._text

    def text_at(self, batch: int) -> str:
        """The token; the file is checked once per batch, for any number of listeners."""
        if self._batch == batch:
            return self._text
        self._batch = batch
        return self.text

    def is_token(self, given: str) -> bool:
        return _same(given, self.text)

    @property
    def cookie(self) -> str:
        """A value that proves a sign-in with this token without containing it."""
        return hmac.new(self.text.encode(), b"allstop cookie", sha256).hexdigest()

    @property
    def stop_key(self) -> str:
        """A value for pages that proves nothing but the right to stop everything."""
        return hmac.new(self.text.encode(), b"allstop stop key", sha256).hexdigest()

    def is_stop_key(self, given: str) -> bool:
        return bool(self.text) and _same(given, self.stop_key)

    def is_cookie(self, given: str) -> bool:
        return bool(self.text) and _same(given, self.cookie)


def _same(given: str, real: str) -> bool:
    return bool(real) and hmac.compare_digest(given.encode(), real.encode())


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if len(text) >= SHORTEST else ""


def load_or_create_token(path: Path) -> Token:
    """Return the token of a file; replace one that is missing or that other users can read.

    Raises AllstopError if the file can't be written.
    """
    token = Token(path)
    try:
        if not token.text or path.stat().st_mode & 0o077:
            _write(path, secrets.token_urlsafe(BYTES))
    except OSError as error:
        message, hint = f"can't write the token: {error}", f"check who owns {path.parent}"
        raise AllstopError(message, hint, code="token_not_written") from error
    return token


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, f"{text}\n".encode())
    finally:
        os.close(fd)
    new.replace(path)


class OneTimeKeys:
    """Keys that each sign in one browser, for a few minutes."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._keys: dict[str, float] = {}  # with the time at which each expires

    def make(self) -> str:
        key = secrets.token_urlsafe(BYTES)
        kept = list(self._keys.items())[1 - MAX_KEYS :]
        self._keys = {**dict(kept), key: self._now() + KEY_MINUTES * 60}
        return key

    def use(self, given: str) -> bool:
        used = [key for key in self._keys if _same(given, key)]
        is_valid = any(self._now() < self._keys[key] for key in used)
        self._keys = {key: until for key, until in self._keys.items() if key not in used}
        return is_valid
