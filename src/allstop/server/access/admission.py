"""Who comes in: decided from a request's first lines alone, before anything is done for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

READS = frozenset({"GET", "HEAD"})
CHANGES = frozenset({"POST"})
LONGEST_TARGET = 8 * 1024
LONGEST_HEADERS = 32 * 1024
LARGEST_BODY = 1024 * 1024

_JSON = re.compile(r'application/json(\s*;\s*charset="?utf-8"?)?', re.IGNORECASE)
_OWN_SITE = frozenset({"same-origin", "none"})


class Request(NamedTuple):
    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]  # names in lower case

    def all(self, name: str) -> list[str]:
        return [value for header, value in self.headers if header == name]

    def one(self, name: str) -> str:
        """ "" where there is none, or more than one: then nobody can say which counts."""
        found = self.all(name)
        return found[0].strip() if len(found) == 1 else ""


class Terms(NamedTuple):
    """Under which names this server may be called, and from which pages."""

    hosts: frozenset[str]
    origins: frozenset[str]


class Refusal(NamedTuple):
    status: int
    code: str
    message: str
    hint: str = ""


def terms(names: Sequence[str], port: int, scheme: str = "http") -> Terms:
    """A browser leaves the port away where it is the scheme's own."""
    usual = port == {"http": 80, "https": 443}[scheme]
    hosts = [f"{name}:{port}" for name in names] + (list(names) if usual else [])
    hosts = [host.lower() for host in hosts]
    return Terms(frozenset(hosts), frozenset(f"{scheme}://{host}" for host in hosts))


def refusal(request: Request, terms: Terms) -> Refusal | None:
    """What is wrong with it, whoever sends it; None if nothing is."""
    return _misshapen(request) or _not_for_us(request, terms) or _from_elsewhere(request)


def _misshapen(request: Request) -> Refusal | None:
    if len(request.path) + len(request.query) > LONGEST_TARGET:
        return Refusal(414, "too_long", "the address is too long")
    if sum(len(name) + len(value) for name, value in request.headers) > LONGEST_HEADERS:
        return Refusal(431, "too_long", "the headers are too long")
    if request.all("transfer-encoding") and request.all("content-length"):
        return Refusal(400, "ambiguous", "the body has two lengths")
    length = request.one("content-length")
    if request.all("content-length") and not (length.isascii() and length.isdigit()):
        return Refusal(400, "ambiguous", "Content-Length is no number")
    if length and (len(length) > 12 or int(length) > LARGEST_BODY):
        return too_large()
    return None


def too_large() -> Refusal:
    return Refusal(413, "too_large", f"a body has at most {LARGEST_BODY:,} bytes")


def _not_for_us(request: Request, terms: Terms) -> Refusal | None:
    if request.one("host").lower() not in terms.hosts:
        hint = "open it by the address that `allstop up` prints, or add the name to [server] hosts"
        return Refusal(403, "wrong_host", "this server is not called so", hint)
    return None


def _from_elsewhere(request: Request) -> Refusal | None:
    """Pages of other sites may send people here by a link, and nothing else."""
    site = request.one("sec-fetch-site")
    is_link = request.method in READS and request.one("sec-fetch-mode") == "navigate"
    if site and site not in _OWN_SITE and not (is_link and not request.path.startswith("/api/")):
        return Refusal(403, "cross_site", "requests of other sites are not answered")
    return None


def change_refusal(request: Request, terms: Terms, *, by_header: bool) -> Refusal | None:
    """Of what would change something: it must be JSON, and come from a page of ours or from a
    program that sent the token itself.
    """
    origins = request.all("origin")
    if origins and (len(origins) > 1 or origins[0] not in terms.origins):
        return Refusal(403, "wrong_origin", "this page may not change anything here")
    if not origins and not by_header:
        hint = "send the token in the header Authorization: Bearer …"
        return Refusal(403, "no_origin", "nobody can say which page sent this", hint)
    if not _JSON.fullmatch(request.one("content-type")):
        return Refusal(415, "not_json", "the body must be JSON", "Content-Type: application/json")
    return None


def bearer(request: Request) -> str:
    """The token in the header; "" if there is none."""
    scheme, _, token = request.one("authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def cookie(request: Request, name: str) -> str:
    """The cookie's value; "" where there is none, or several of that name."""
    pairs = (part.partition("=") for line in request.all("cookie") for part in line.split(";"))
    found = [value.strip() for each, _, value in pairs if each.strip() == name]
    return found[0] if len(found) == 1 else ""


def is_by_tls(request: Request, terms: Terms) -> bool:
    """Whether browsers come by this name with TLS only, as through a proxy."""
    return f"http://{request.one('host').lower()}" not in terms.origins


def wants_page(request: Request) -> bool:
    """Whether a person looks at it in a browser."""
    accepts = request.one("accept")
    return request.method in READS and "text/html" in accepts and "/api/" not in request.path
