"""Where the control room listens, who can reach it, and by which names it may be called."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from allstop.adapters.sockets import bound
from allstop.core.errors import AllstopError
from allstop.server.access import admission
from allstop.settings.model.host import Server as Wishes


def terms_of(wishes: Wishes, port: int) -> admission.Terms:
    names = ["127.0.0.1", "localhost", "[::1]", *([] if _is_any(wishes.host) else [wishes.host])]
    terms = admission.terms(names, port, "https" if wishes.tls_cert else "http")
    return _more_names(terms, wishes.hosts, port) if wishes.hosts else terms


def _more_names(terms: admission.Terms, names: tuple[str, ...], port: int) -> admission.Terms:
    """By these a proxy may call, on the usual ports of the web, with TLS."""
    more = [
        admission.terms(names, each, scheme) for each, scheme in ((443, "https"), (port, "https"))
    ]
    return admission.Terms(
        terms.hosts.union(*(each.hosts for each in more)),
        terms.origins.union(*(each.origins for each in more)),
    )


def check_reach(wishes: Wishes) -> None:
    """Raises AllstopError where other machines could listen in."""
    if bool(wishes.tls_cert) != bool(wishes.tls_key):
        raise AllstopError("TLS needs both a certificate and its key", "[server] tls_cert, tls_key")
    for file in (wishes.tls_cert, wishes.tls_key):
        if file and not Path(file).is_file():
            raise AllstopError(f"there is no file {file}", "[server] tls_cert and tls_key name it")
    if _is_loopback(wishes.host) or wishes.tls_cert or wishes.behind_proxy:
        return
    hint = "set [server] tls_cert and tls_key, or behind_proxy = true if a proxy of yours does TLS"
    raise AllstopError(f"{wishes.host} can be reached by others, and there is no TLS", hint)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::", "*")  # noqa: S104 - it is looked for, not used


def url_of(wishes: Wishes, port: int) -> str:
    host = "127.0.0.1" if _is_any(wishes.host) else wishes.host
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if wishes.tls_cert else 'http'}://{name}:{port}"


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        listener = bound(host, port)
    except OSError as error:
        raise _not_listening(host, port, error) from error
    with listener:
        try:
            listener.listen(2048)
        except OSError as error:
            raise _not_listening(host, port, error) from error
        listener.settimeout(0)
        yield listener


def _not_listening(host: str, port: int, error: OSError) -> AllstopError:
    hint = "name another port: allstop up --port 0 takes any that is free"
    return AllstopError(f"can't listen on {host} port {port}: {error.strerror}", hint)
