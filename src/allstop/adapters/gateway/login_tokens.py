"""The tokens of one login: read from its home, renewed at the vendor, and kept out of every box."""

import fcntl
import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath

import anyio

from allstop.adapters.gateway.model_connection import LoginError, Upstream, UpstreamError
from allstop.metering.stored_logins import (
    LoginKind,
    StoredLogin,
    read_login,
    renewal_request,
    renewed,
)
from allstop.ports import Clock

MAX_FILE_BYTES = 256 * 1024
RENEWAL_S = 20.0

FILES = {
    LoginKind.CODEX: PurePosixPath(".codex/auth.json"),
    LoginKind.CLAUDE: PurePosixPath(".claude/.credentials.json"),
}
_JSON = {"content-type": "application/json", "accept": "application/json"}


class LoginTokens:
    """Shared by all turns of an agent; other processes wait while one of them renews."""

    def __init__(
        self, kind: LoginKind, home: Path, vendor: Upstream, path: str, clock: Clock
    ) -> None:
        """`vendor` and `path`: where the login is renewed."""
        self._kind = kind
        self._home = home
        self._vendor = vendor
        self._path = path
        self._clock = clock
        self._ended = ""  # the token for renewals that the vendor refused

    async def current(self) -> StoredLogin:
        """The login, renewed if it is about to expire. Raises UpstreamError."""
        login = self._stored()
        now = self._clock.now()
        if login.is_fresh(now) or not login.refresh:
            return login
        try:
            return await self.renew(login)
        except LoginError:
            raise
        except UpstreamError:
            if login.expires_at is not None and now < login.expires_at:
                return login  # the next call tries again
            raise

    async def renew(self, rejected: StoredLogin) -> StoredLogin:
        """The login after the provider refused this one. Raises UpstreamError.

        It is not cancelled: the vendor's answer may have ended the old tokens.
        """
        with anyio.move_on_after(RENEWAL_S, shield=True):
            async with self._only_one():
                login = self._stored()
                if login.access != rejected.access:
                    return login  # another process has renewed it
                return await self._renew(login)
        raise UpstreamError("the renewal of the login timed out")

    def _stored(self) -> StoredLogin:
        if (login := stored_login(self._kind, self._home)) is None:
            raise LoginError("the login is gone: log in again with `allstop agents login`")
        return login

    async def _renew(self, login: StoredLogin) -> StoredLogin:
        if login.refresh in ("", self._ended):
            raise LoginError("the login has ended: log in again with `allstop agents login`")
        async with self._vendor.send("POST", self._path, _JSON, renewal_request(login)) as reply:
            body = bytearray()
            async for chunk in reply.chunks:
                body += chunk
                if len(body) > MAX_FILE_BYTES:
                    raise UpstreamError("the answer to the renewal of the login is too large")
        if reply.status in (400, 401, 403):
            self._ended = login.refresh
            raise LoginError(
                f"the login can't be renewed (HTTP {reply.status}): "
                "log in again with `allstop agents login`"
            )
        new = renewed(login, bytes(body), self._clock.now()) if reply.status == 200 else None
        if new is None:
            raise UpstreamError(f"the login could not be renewed now (HTTP {reply.status})")
        try:
            _write(self._kind, self._home, new)
        except OSError as error:
            raise LoginError(f"the renewed login can't be stored: {error.strerror}") from error
        return new

    @asynccontextmanager
    async def _only_one(self) -> AsyncIterator[None]:
        """The lock is beside the home, where no agent can write."""
        path = self._home.with_name(f"{self._home.name}.lock")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            await anyio.to_thread.run_sync(fcntl.flock, lock, fcntl.LOCK_EX, abandon_on_cancel=True)
            yield
        finally:
            os.close(lock)


def stored_login(kind: LoginKind, home: Path) -> StoredLogin | None:
    """The login in a home; None if there is none in the known form."""
    try:
        folder = _open_folder(kind, home)
    except OSError:
        return None
    try:
        data = _read(folder, FILES[kind].name)
    except OSError:
        return None
    finally:
        os.close(folder)
    return read_login(kind, data)


def _open_folder(kind: LoginKind, home: Path) -> int:
    """Agents may have written in that home: no link is followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(home / FILES[kind].parent, flags)


def _read(folder: int, name: str) -> bytes:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        return file.read(MAX_FILE_BYTES)


def _write(kind: LoginKind, home: Path, login: StoredLogin) -> None:
    """Replace the file; its owner stays, who may be the user of boxes."""
    folder, name = _open_folder(kind, home), FILES[kind].name
    draft = f"{name}.allstop"
    try:
        owner = os.stat(name, dir_fd=folder, follow_symlinks=False)
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600, dir_fd=folder), "wb") as file:
            with suppress(PermissionError):
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(json.dumps(login.stored).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)
