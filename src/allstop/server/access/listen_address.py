"""The address that the server listens on, the host names it accepts, and the check for TLS."""

import errno
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from allstop.adapters.sockets import bound
from allstop.core.errors import AllstopError
from allstop.server.access import admission
from allstop.settings.model.machine import Server as ServerSettings


def allowed_by(settings: ServerSettings, port: int) -> admission.AllowedNames:
    """Return the accepted names; a proxy's use TLS on port 443 or on the server's own port."""
    own = [] if _is_wildcard(settings.host) else [settings.host]
    names = ["127.0.0.1", "localhost", "[::1]", *own]
    allowed = [admission.allowed_names(names, port, "https" if settings.tls_cert else "http")]
    allowed += [admission.allowed_names(settings.hosts, each, "https") for each in (443, port)]
    hosts, origins = zip(*allowed, strict=True)
    return admission.AllowedNames(frozenset().union(*hosts), frozenset().union(*origins))


def check_tls(settings: ServerSettings) -> None:
    """Raise AllstopError if other machines could connect without TLS."""
    hint = "set [server] tls_cert and tls_key, or behind_proxy = true if a proxy of yours does TLS"
    if bool(settings.tls_cert) != bool(settings.tls_key):
        message = "TLS needs both a certificate and its key"
        raise AllstopError(message, hint, code="tls_incomplete")
    for file in (settings.tls_cert, settings.tls_key):
        if file and not Path(file).is_file():
            raise AllstopError(f"there is no file {file}", hint, code="tls_file_missing")
    if not (_is_loopback(settings.host) or settings.tls_cert or settings.behind_proxy):
        message = f"other machines can reach {settings.host}, but TLS is not set up"
        raise AllstopError(message, hint, code="tls_required")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_wildcard(host: str) -> bool:
    return host in ("0.0.0.0", "::", "*")  # noqa: S104 - compared, not bound


def url_of(settings: ServerSettings, port: int) -> str:
    host = "127.0.0.1" if _is_wildcard(settings.host) else settings.host
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls_cert else 'http'}://{name}:{port}"


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        listener = bound(host, port)
    except OSError as error:
        raise _listen_error(host, port, error) from error
    with listener:
        try:
            listener.listen(2048)
        except OSError as error:
            raise _listen_error(host, port, error) from error
        listener.settimeout(0)
        yield listener


def _listen_error(host: str, port: int, error: OSError) -> AllstopError:
    message = f"can't listen on {host} port {port}: {error.strerror}"
    hint = "use another port: `allstop up --port 0` takes any free one"
    if error.errno == errno.EADDRINUSE:
        message = f"another program listens on {host} port {port}"
        hint = f"`ss -ltnp 'sport = :{port}'` shows which one; {hint}"
    return AllstopError(message, hint, code="cannot_listen")
