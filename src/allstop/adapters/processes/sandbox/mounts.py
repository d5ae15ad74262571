"""Mounts of a box, and the order in which they are made."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from msgspec import Struct


class Readable(Struct, frozen=True):
    """A read-only folder of the host."""

    source: str
    dest: str


class ReadableFile(Struct, frozen=True):
    source: str
    dest: str


class Writable(Struct, frozen=True):
    source: str
    dest: str


class Scratch(Struct, frozen=True):
    """An empty folder that programs may write to; it ends with the box."""

    dest: str


class Link(Struct, frozen=True):
    target: str
    dest: str


Mount: TypeAlias = Readable | ReadableFile | Writable | Scratch | Link


def arrange(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Sort mounts, outer before inner; drops duplicates and mounts that are visible anyway."""
    result: list[Mount] = []
    for mount in _without_blocked_links(sorted(mounts, key=_order)):
        outer = enclosing_mount(mount, result)
        if outer is None or _is_needed(mount, outer):
            result.append(mount)
    return tuple(result)


def enclosing_mount(mount: Mount, result: Sequence[Mount]) -> Mount | None:
    """Return the innermost of these mounts that contains this one's destination."""
    holding = [other for other in result if is_within(mount.dest, other.dest)]
    return max(holding, key=lambda other: len(other.dest), default=None)


def tidy(path: str) -> str:
    """Remove dots and doubled slashes. Usually there are none, and a Path object is slow."""
    if "//" in path or "/./" in f"/{path}" or path.endswith(("/", "/.")):
        return str(PurePosixPath(path))
    return path


def is_within(path: str, folder: str) -> bool:
    """Both paths must be tidy."""
    return path == folder or path.startswith(f"{folder}/") or folder == "/"


def _order(mount: Mount) -> tuple[tuple[str, ...], bool]:
    return tuple(mount.dest.split("/")), not isinstance(mount, Writable)


def _without_blocked_links(mounts: Sequence[Mount]) -> list[Mount]:
    """Drop links at places where a folder is needed for another mount."""
    if not any(isinstance(mount, Link) for mount in mounts):
        return list(mounts)
    held = {
        parent for mount in mounts if not isinstance(mount, Link) for parent in _parents(mount.dest)
    }
    return [mount for mount in mounts if not (isinstance(mount, Link) and mount.dest in held)]


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _is_needed(mount: Mount, outer: Mount) -> bool:
    if mount.dest == outer.dest:
        return False
    match outer:
        case Readable(source, dest):
            return source != dest or isinstance(mount, Writable | Scratch)
        case Writable():
            return not isinstance(mount, Link)  # the link would be created in the host's folder
        case ReadableFile() | Scratch() | Link():
            return False
