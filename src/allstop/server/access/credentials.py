"""What opens the door: a token in a file, keys that open it once, and the cookie they give."""

from __future__ import annotations

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from allstop.core.errors import AllstopError

BYTES = 32
SHORTEST = 22  # characters: 128 bits
MOST_KEYS = 16


class Token:
    """The file is looked at for each request: a token that was changed there counts at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._text = ""
        self._beat = -1

    @property
    def text(self) -> str:
        """ "" while there is none that can be relied on: then nobody gets in."""
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

    def text_at(self, beat: int) -> str:
        """The file is looked at once for a beat: hundreds who listen ask at the same time."""
        if self._beat == beat:
            return self._text
        self._beat = beat
        return self.text

    def is_token(self, given: str) -> bool:
        return _same(given, self.text)

    @property
    def cookie(self) -> str:
        """Shows that its holder was let in with this token, without being it."""
        return hmac.new(self.text.encode(), b"allstop cookie", sha256).hexdigest()

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


def kept_token(path: Path) -> Token:
    """The token of this file; a new one where there is none, or where others could read it.

    Raises:
        AllstopError: it can't be kept for oneself.
    """
    token = Token(path)
    try:
        if not token.text or path.stat().st_mode & 0o077:
            _write(path, secrets.token_urlsafe(BYTES))
    except OSError as error:
        raise AllstopError(
            f"the token can't be kept: {error}", f"see who owns {path.parent}"
        ) from error
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
    """Each opens the door once."""

    def __init__(self) -> None:
        self._keys: list[str] = []

    def make(self) -> str:
        key = secrets.token_urlsafe(BYTES)
        self._keys = [*self._keys, key][-MOST_KEYS:]
        return key

    def use(self, given: str) -> bool:
        fitting = [key for key in self._keys if _same(given, key)]
        self._keys = [key for key in self._keys if key not in fitting]
        return bool(fitting)
