"""Accepted settings: digests of the sensitive settings that a person trusts, by repository."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from allstop.settings.key_path import Document
from allstop.settings.repository_trust.sensitive import sensitive_part


class _Trusted(Struct, frozen=True, kw_only=True):
    repositories: dict[str, str | tuple[str, ...]] = {}
    """Digests of the sensitive parts, by the repository's real path."""
    hook_trees: dict[str, str] = {}
    """The git trees whose files hooks use, by the repository's real path."""


def digest(document: Document) -> str:
    """The digest of the sensitive settings; independent of key order and other settings."""
    import hashlib

    canonical = json.encode(sensitive_part(document), order="deterministic")
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def is_trusted(trust_file: Path, repository: Path, document: Document) -> bool:
    """Whether the sensitive settings were accepted. A damaged or missing trust file trusts nothing."""
    accepted = _read(trust_file).repositories.get(_name(repository), ())
    return digest(document) in ((accepted,) if isinstance(accepted, str) else accepted)


def trust(trust_file: Path, repository: Path, *documents: Document) -> None:
    """Accept the sensitive parts of the documents; they replace those accepted before.

    There are two documents if the checkout's file and the target branch's differ.
    """
    _change(trust_file, repository, tuple(dict.fromkeys(map(digest, documents))))


def distrust(trust_file: Path, repository: Path) -> None:
    _change(trust_file, repository, ())


def trusted_hook_tree(trust_file: Path, repository: Path) -> str:
    """The git tree whose files hooks of this repository use; "" if none was accepted."""
    return _read(trust_file).hook_trees.get(_name(repository), "")


def trust_hook_tree(trust_file: Path, repository: Path, tree: str) -> None:
    with _locked(trust_file):
        before = _read(trust_file)
        trees = {**before.hook_trees, _name(repository): tree}
        _write(trust_file, replace(before, hook_trees=trees))


def _change(trust_file: Path, repository: Path, digests: tuple[str, ...]) -> None:
    with _locked(trust_file):
        before = _read(trust_file)
        repositories = {**before.repositories}
        repositories.pop(_name(repository), None)
        if digests:
            repositories[_name(repository)] = digests[0] if len(digests) == 1 else digests
        _write(trust_file, replace(before, repositories=repositories))


def _name(repository: Path) -> str:
    return os.path.realpath(repository)


def _read(trust_file: Path) -> _Trusted:
    try:
        return json.decode(trust_file.read_bytes(), type=_Trusted)
    except (OSError, DecodeError):
        return _Trusted()


def _write(trust_file: Path, trusted: _Trusted) -> None:
    """Write atomically, readable only by the owner at any time."""
    fresh = trust_file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.format(json.encode(trusted, order="sorted")))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(trust_file)


@contextmanager
def _locked(trust_file: Path) -> Iterator[None]:
    """Hold the file lock: two processes may change the file at the same time."""
    trust_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with trust_file.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
