"""Connections to PostgreSQL that come back, and errors that say what a person can do."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from allstop.core.errors import AllstopError
from allstop.ports import (
    StoreBrokenError,
    StoreBusyError,
    StoreFullError,
    StoreTroubleError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

SETTINGS: dict[str, str | int] = {
    "connect_timeout": 3,
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,
}
"""How soon a cut network is noticed. The address may set others."""

_SESSION = (
    "set timezone = 'UTC'; set default_transaction_isolation = 'read committed';"
    " set synchronous_commit = on; set lock_timeout = '5s'; set statement_timeout = '30s';"
    " set idle_in_transaction_session_timeout = '10s'; set client_min_messages = 'warning'"
)

_REFUSED = (
    ("certificate", "check sslmode and sslrootcert in the address"),
    ("password authentication failed", "the user name or the password in the address is wrong"),
    ("no password supplied", "the address needs a password, or ~/.pgpass an entry"),
    ("fe_sendauth", "the address needs a password, or ~/.pgpass an entry"),
    ("no pg_hba.conf entry", "the server's pg_hba.conf doesn't allow this connection"),
    ("does not exist", "create the database and the user first: `createdb NAME`"),
    ("permission denied for database", "the user may not connect to this database"),
    (
        "server does not support SSL",
        "set up TLS on the server, or trust the network: sslmode=disable in the address",
    ),
)
"""Parts of messages of a server that refuses a connection: libpq gives no code for these."""

_MIN_VERSION = 140000


def conninfo(url: str, application: str = "allstop") -> str:
    """The address with settings by which a cut network is noticed.

    Raises AllstopError if psycopg isn't installed, or the address is none.
    """
    psycopg = _psycopg()
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        given = conninfo_to_dict(url)
        is_valid = "@" not in str(given.get("host", ""))  # else it is the rest of a password
    except psycopg.ProgrammingError:  # its text may show a part of the password
        is_valid, given = False, {}
    if not is_valid:
        hint = "the form is postgresql://USER:PASSWORD@HOST:PORT/DATABASE; write @ : / in a password as %40 %3A %2F"
        raise AllstopError("the address of the store is invalid", hint, code="store_address")
    settings: dict[str, Any] = {"application_name": application, **SETTINGS, **given}
    if "sslmode" not in given and not os.environ.get("PGSSLMODE") and _leaves_machine(given):
        settings["sslmode"] = "require"  # libpq would go on without TLS
    return make_conninfo(**settings)


def _leaves_machine(given: Mapping[str, Any]) -> bool:
    """Whether the address names a host that isn't this machine."""
    hosts = str(given.get("hostaddr") or given.get("host") or "").split(",")
    return any(
        host and not host.startswith(("/", "@")) and not _is_loopback(host) for host in hosts
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _psycopg() -> ModuleType:
    try:
        import psycopg
    except ImportError as error:
        raise AllstopError(
            "a store on PostgreSQL needs packages that aren't installed",
            "install its extra, in the clone of Allstop: `pipx install --force '.[fleet]'`",
            code="fleet_not_installed",
        ) from error
    return psycopg


def database_errors() -> type[psycopg.Error]:
    """The base of the driver's errors."""
    error: type[psycopg.Error] = _psycopg().Error
    return error


def denied_error() -> type[psycopg.Error]:
    """The driver's error for what the user has no right to do."""
    _psycopg()
    from psycopg.errors import InsufficientPrivilege

    return InsufficientPrivilege


def describe(url: str) -> str:
    """The address without the password."""
    from psycopg.conninfo import conninfo_to_dict

    given = conninfo_to_dict(url)
    user = f"{given['user']}@" if given.get("user") else ""
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{given.get('host', '')}{port}/{given.get('dbname', '')}"


class Link:
    """One connection, for one thread at a time; a lost one is opened again."""

    def __init__(self, url: str, opened: Callable[[psycopg.Connection], None]) -> None:
        """`opened` is called with each new connection."""
        self._url = url
        self._opened = opened
        self._connection: psycopg.Connection | None = None
        self._using = threading.Lock()
        self._is_closed = False

    def run(self, work: Callable[[psycopg.Connection], T]) -> T:
        """Run the work, and once more on a new connection if the old one was lost.

        So the work must have the same effect twice as once. It gets a connection that commits
        each statement by itself.

        Raises StoreTroubleError if it can't be done now, and StoreBrokenError if it never can.
        """
        psycopg = _psycopg()
        with self._using:
            try:
                for is_last in (self._connection is None, True):
                    try:
                        return work(self._connect())
                    except psycopg.Error as error:
                        if not self._drop_if_lost(error) or is_last:
                            raise store_error(error) from error
            finally:
                if self._is_closed:
                    self._drop()
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close it; a thread that waits for an answer gets an error instead."""
        self._is_closed = True
        if self._using.acquire(blocking=False):
            self._drop()
            self._using.release()
        elif (connection := self._connection) is not None:
            with (
                suppress(Exception),  # it may just have been closed
                socket.socket(fileno=os.dup(connection.fileno())) as waking,
            ):
                waking.shutdown(socket.SHUT_RDWR)

    def _connect(self) -> psycopg.Connection:
        if self._is_closed:
            raise StoreUnreachableError("the store was closed")
        if self._connection is None:
            connection = connect(self._url)
            try:
                self._opened(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _drop_if_lost(self, error: psycopg.Error) -> bool:
        """Whether the connection couldn't be used any more."""
        connection = self._connection
        is_lost = connection is not None and (connection.closed or error.sqlstate in _READ_ONLY)
        if is_lost:
            self._drop()
        return is_lost

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def connect(url: str) -> psycopg.Connection:
    """Open a connection on which each statement is a transaction."""
    connection = _psycopg().connect(conninfo(url), autocommit=True, prepare_threshold=2)
    try:
        _refuse_old_server(connection.info.server_version)
        connection.execute(_SESSION)
    except BaseException:
        connection.close()
        raise
    typed: psycopg.Connection = connection
    return typed


def _refuse_old_server(version: int) -> None:
    if version < _MIN_VERSION:
        raise StoreBrokenError(
            f"the server has PostgreSQL {version // 10000}",
            "version 14 or newer is needed",
            code="store_server_too_old",
        )


_READ_ONLY = ("25006",)
"""The server has become a standby: another one has taken over."""
_FULL = ("53100",)
_BUSY = ("55P03", "57014", "53200", "40P01", "40001")
_PASSING = ("57P01", "57P02", "57P03", "53300", "57P05", "25P03", *_READ_ONLY)
"""The server is ending, starting, or has no connection left."""


def store_error(error: psycopg.Error) -> StoreTroubleError | StoreBrokenError:
    """The same error in the words of the port. The text never has the password."""
    psycopg = _psycopg()
    text = " ".join(str(error).split())
    state = error.sqlstate or ""
    if state in _FULL:
        return StoreFullError("the disk of the database is full", "free some space on its machine")
    if state in _BUSY:
        return StoreBusyError(f"the database is busy: {text}", "it is tried again")
    if state in _PASSING:
        return StoreUnreachableError(f"the database takes nothing now: {text}", "it is tried again")
    for part, hint in _REFUSED:
        if not state and part in text:
            return StoreBrokenError(
                f"the database refuses the connection: {text}", hint, code="store_refused"
            )
    if state.startswith("08") or (
        not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    ):
        return StoreUnreachableError(
            f"the database doesn't answer: {text}",
            "check the address, the server and the network; it is tried again",
        )
    if state == "42501":
        hint = "the user of the address needs more rights"
        return StoreBrokenError(f"the database refuses: {text}", hint, code="store_refused")
    return StoreBrokenError(f"the journal can't be read: {text}", "restore it from a backup")
