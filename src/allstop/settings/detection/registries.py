"""Package registries that lock files name; without an address, the public one of the ecosystem."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from allstop.policy.allowed_hosts import TLS_PORT, parse_place


class Ecosystem(StrEnum):
    PYTHON = "python"
    NPM = "npm"
    YARN = "yarn"
    CARGO = "cargo"
    GO = "go"


PUBLIC: Mapping[Ecosystem, tuple[str, ...]] = {
    Ecosystem.PYTHON: ("pypi.org", "files.pythonhosted.org"),
    Ecosystem.NPM: ("registry.npmjs.org",),
    Ecosystem.YARN: ("registry.yarnpkg.com", "registry.npmjs.org"),
    Ecosystem.CARGO: ("index.crates.io", "static.crates.io", "crates.io"),
    Ecosystem.GO: ("proxy.golang.org", "sum.golang.org"),
}
"""The public registries, each with the hosts of its index and of its files."""

MAX_HOSTS = 50

_URL = re.compile(r"(?:\bgit\+|\bsparse\+|\bregistry\+)?https://[^\s\"'<>\\,;#)\]}]+")
_GIT_OF_CARGO = "https://github.com/rust-lang/crates.io-index"
"""Cargo names its public registry by the old address of its index."""

_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_REQUIREMENT = re.compile(
    r"^\s*[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\]\s*)?(?:[=<>!~;]|$)", re.MULTILINE
)

Reader = Callable[[str], Iterator[str]]


def _addresses(text: str) -> Iterator[str]:
    """Hosts of all addresses, with their port unless it is that of TLS."""
    for found in _URL.finditer(text):
        url = found[0].partition("+")[2] if "+https" in found[0] else found[0]
        if url.startswith(_GIT_OF_CARGO):
            yield from PUBLIC[Ecosystem.CARGO]
            continue
        try:
            parts = urlsplit(url)
            place = parse_place(f"{parts.hostname}:{parts.port or TLS_PORT}")
        except ValueError:
            continue
        if place is not None:
            yield str(place)


def _read(ecosystem: Ecosystem, sources: str) -> Reader:
    """Addresses in what matches `sources`; without one there, the public registry."""
    pattern = re.compile(sources, re.MULTILINE)

    def read(text: str) -> Iterator[str]:
        named = [host for found in pattern.finditer(text) for host in _addresses(found[0])]
        yield from _with_partners(ecosystem, named or PUBLIC[ecosystem])

    return read


def _with_partners(ecosystem: Ecosystem, hosts: Iterable[str]) -> Iterator[str]:
    """A public registry keeps its index and its files on different hosts."""
    public = PUBLIC[ecosystem]
    for host in hosts:
        yield host
        if host in public:
            yield from public


def _requirements(text: str) -> Iterator[str]:
    text = _COMMENT.sub("", text)
    named = list(_addresses(text))
    if _REQUIREMENT.search(text) and not re.search(
        r"^\s*(?:-i|--index-url)[ =]", text, re.MULTILINE
    ):
        named.extend(PUBLIC[Ecosystem.PYTHON])
    yield from _with_partners(Ecosystem.PYTHON, named)


def _go(text: str) -> Iterator[str]:
    """The proxy has all public modules, whatever host their names begin with."""
    yield from PUBLIC[Ecosystem.GO]


_LOCK_FILES: tuple[tuple[str, Reader], ...] = (
    ("requirements*.txt", _requirements),
    ("uv.lock", _read(Ecosystem.PYTHON, r"(?:registry|url|git) = \"[^\"]*\"")),
    ("poetry.lock", _read(Ecosystem.PYTHON, r"^url = \"[^\"]*\"")),
    ("pdm.lock", _read(Ecosystem.PYTHON, r"url ?= ?\"[^\"]*\"")),
    ("Pipfile.lock", _read(Ecosystem.PYTHON, r"\"(?:url|git|file)\": *\"[^\"]*\"")),
    ("package-lock.json", _read(Ecosystem.NPM, r"\"resolved\": *\"[^\"]*\"")),
    ("npm-shrinkwrap.json", _read(Ecosystem.NPM, r"\"resolved\": *\"[^\"]*\"")),
    ("pnpm-lock.yaml", _read(Ecosystem.NPM, r"(?:tarball|registry|repo): *[^\s,}]*")),
    ("yarn.lock", _read(Ecosystem.YARN, r"(?:resolved +|resolution: *)\"[^\"]*\"")),
    ("Cargo.lock", _read(Ecosystem.CARGO, r"^source = \"[^\"]*\"")),
    ("go.sum", _go),
    ("go.mod", _go),
)


def is_lock_file(name: str) -> bool:
    """`name` is without folders."""
    return any(fnmatchcase(name, pattern) for pattern, _ in _LOCK_FILES)


def registries_in(name: str, text: str) -> tuple[str, ...]:
    """The hosts that a lock file needs, in the order of their first use."""
    for pattern, read in _LOCK_FILES:
        if fnmatchcase(name, pattern):
            return tuple(dict.fromkeys(read(text)))[:MAX_HOSTS]
    return ()
