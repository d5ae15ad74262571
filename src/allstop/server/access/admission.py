"""Admission of requests: decided from method, path and headers, before any work is done."""

import re
from collections.abc import Sequence
from typing import NamedTuple

READS = frozenset({"GET", "HEAD"})
CHANGES = frozenset({"POST"})
MAX_TARGET_CHARS = 8 * 1024
MAX_HEADER_CHARS = 32 * 1024
MAX_BODY_BYTES = 1024 * 1024

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
        """Return a header that occurs exactly once, or ""."""
        found = self.all(name)
        return found[0].strip() if len(found) == 1 else ""


class AllowedNames(NamedTuple):
    """The values of Host and Origin that the server accepts."""

    hosts: frozenset[str]
    origins: frozenset[str]


class Refusal(NamedTuple):
    status: int
    code: str
    message: str
    hint: str = ""


def allowed_names(names: Sequence[str], port: int, scheme: str = "http") -> AllowedNames:
    """Browsers omit the port if it is the scheme's default."""
    usual = port == {"http": 80, "https": 443}[scheme]
    hosts = [f"{name}:{port}" for name in names] + (list(names) if usual else [])
    hosts = [host.lower() for host in hosts]
    return AllowedNames(frozenset(hosts), frozenset(f"{scheme}://{host}" for host in hosts))


def refusal(request: Request, allowed_names: AllowedNames) -> Refusal | None:
    """Return why nobody may send this request; None if it is fine."""
    return _malformed(request) or _wrong_host(request, allowed_names) or _cross_site(request)


def _malformed(request: Request) -> Refusal | None:
    if len(request.path) + len(request.query) > MAX_TARGET_CHARS:
        return Refusal(414, "too_long", "the address is too long")
    if sum(len(name) + len(value) for name, value in request.headers) > MAX_HEADER_CHARS:
        hint = (
            "if this is a browser, delete the cookies of this site: another page may have set them"
        )
        return Refusal(431, "too_long", "the headers are too long", hint)
    if request.all("transfer-encoding") and request.all("content-length"):
        return Refusal(400, "ambiguous", "send either Content-Length or Transfer-Encoding")
    length = request.one("content-length")
    if request.all("content-length") and not (length.isascii() and length.isdigit()):
        return Refusal(400, "ambiguous", "Content-Length must be one number")
    if length and (len(length) > 12 or int(length) > MAX_BODY_BYTES):
        return too_large()
    return None


def too_large() -> Refusal:
    return Refusal(413, "too_large", f"the body has more than {MAX_BODY_BYTES:,} bytes")


def _wrong_host(request: Request, allowed_names: AllowedNames) -> Refusal | None:
    if request.one("host").lower() not in allowed_names.hosts:
        hint = "use the address that `allstop up` prints, or add the host name to [server] hosts"
        return Refusal(403, "wrong_host", "the server doesn't accept this host name", hint)
    return None


def _cross_site(request: Request) -> Refusal | None:
    """Pages of other sites may only link to the page."""
    site = request.one("sec-fetch-site")
    is_link = request.method in READS and request.one("sec-fetch-mode") == "navigate"
    if site and site not in _OWN_SITE and not (is_link and not request.path.startswith("/api/")):
        return Refusal(403, "cross_site", "the server refuses requests from other sites")
    return None


def change_refusal(
    request: Request, allowed_names: AllowedNames, *, by_header: bool
) -> Refusal | None:
    """Check a POST: it must be JSON, from our page or from a program that sends the token."""
    origins = request.all("origin")
    if origins and (len(origins) > 1 or origins[0] not in allowed_names.origins):
        return Refusal(403, "wrong_origin", "this page may not change anything on this server")
    if not origins and not by_header:
        hint = "send the token in the header Authorization: Bearer …"
        return Refusal(403, "no_origin", "the header Origin is missing", hint)
    if not _JSON.fullmatch(request.one("content-type")):
        hint = "send the header Content-Type: application/json"
        return Refusal(415, "not_json", "the body must be JSON", hint)
    return None


def bearer(request: Request) -> str:
    """Return the token of the header; "" if there is none."""
    scheme, _, token = request.one("authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def cookies(request: Request, name: str) -> list[str]:
    """Return the values of all cookies of that name.

    A page on another port can set more of them, because browsers ignore ports here.
    """
    pairs = (part.partition("=") for line in request.all("cookie") for part in line.split(";"))
    return [value.strip() for each, _, value in pairs if each.strip() == name]


def uses_tls(request: Request, allowed_names: AllowedNames) -> bool:
    """Whether this host name is used with TLS only, as behind a proxy."""
    return f"http://{request.one('host').lower()}" not in allowed_names.origins


def wants_page(request: Request) -> bool:
    """Whether a browser opens a page."""
    accepts = request.one("accept")
    return request.method in READS and "text/html" in accepts and "/api/" not in request.path
