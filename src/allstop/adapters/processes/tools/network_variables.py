"""The person's variables for proxies and certificates, which programs in a box need, too."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct

from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox.mounts import is_within
from allstop.adapters.processes.sandbox.program_needs import contains_home
from allstop.adapters.processes.tools.version_files import Asker

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PROXIES = (*_PROXIES, *(name.lower() for name in _PROXIES))
CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO"),
    *("NIX_SSL_CERT_FILE", "AWS_CA_BUNDLE"),
)


class NetworkVariables(Struct, frozen=True, kw_only=True):
    env: dict[str, str] = {}
    read: tuple[str, ...] = ()  # the files and folders of certificates that they name


def network_variables(asker: Asker) -> NetworkVariables:
    """Those that are set; a path that a box can't show is left out with its variable."""
    given = asker.variables
    proxies = {name: given[name] for name in PROXIES if given.get(name)}
    paths = {name: tuple(_shown(given.get(name, ""), asker)) for name in CERTIFICATES}
    named = {name: ":".join(found) for name, found in paths.items() if found}
    read = dict.fromkeys(path for path in chain(*paths.values()) if not _is_in_every_box(path))
    return NetworkVariables(env={**proxies, **named}, read=tuple(read))


def _shown(value: str, asker: Asker) -> Iterator[str]:
    """The paths of a value, as a box shows them: without links and dots."""
    for path in filter(None, value.split(":")):
        real = Path(path).resolve() if path.startswith("/") else None
        if real is not None and real.exists() and not contains_home(real, str(asker.home)):
            yield str(real)


def _is_in_every_box(path: str) -> bool:
    return any(is_within(path, mount.dest) for mount in this_host().mounts)
