"""What can be put into a box, and in which order it goes in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from msgspec import Struct


class Readable(Struct, frozen=True):
    """A folder of the host that can be read."""

    source: str
    dest: str


class ReadableFile(Struct, frozen=True):
    source: str
    dest: str


class Writable(Struct, frozen=True):
    """A folder of the host that can be changed."""

    source: str
    dest: str


class Link(Struct, frozen=True):
    target: str
    dest: str


Mount: TypeAlias = Readable | ReadableFile | Writable | Link


def arranged(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Outer places before inner ones, each place once, and nothing twice that is seen anyway."""
    placed: list[Mount] = []
    for mount in _without_blocked_links(sorted(mounts, key=_order)):
        around = around_of(mount, placed)
        if around is None or _adds_something(mount, around):
            placed.append(mount)
    return tuple(placed)


def around_of(mount: Mount, placed: Sequence[Mount]) -> Mount | None:
    """The innermost of these mounts that holds this one's place."""
    holding = [other for other in placed if is_within(mount.dest, other.dest)]
    return max(holding, key=lambda other: len(other.dest), default=None)


def tidy(path: str) -> str:
    """Without dots and doubled slashes. Mostly it has none, and a path object is slow to make."""
    if "//" in path or "/./" in f"/{path}" or path.endswith(("/", "/.")):
        return str(PurePosixPath(path))
    return path


def is_within(path: str, folder: str) -> bool:
    """Both without dots and doubled slashes."""
    return path == folder or path.startswith(f"{folder}/") or folder == "/"


def _order(mount: Mount) -> tuple[tuple[str, ...], bool]:
    return tuple(mount.dest.split("/")), not isinstance(mount, Writable)


def _without_blocked_links(mounts: Sequence[Mount]) -> list[Mount]:
    """A link can't stand where a folder must be made to hold something else."""
    if not any(isinstance(mount, Link) for mount in mounts):
        return list(mounts)
    held = {
        parent for mount in mounts if not isinstance(mount, Link) for parent in _above(mount.dest)
    }
    return [mount for mount in mounts if not (isinstance(mount, Link) and mount.dest in held)]


def _above(place: str) -> Iterator[str]:
    while place := place.rpartition("/")[0]:
        yield place


def _adds_something(mount: Mount, around: Mount) -> bool:
    if mount.dest == around.dest:
        return False
    match around:
        case Readable(source, dest):
            return source != dest or isinstance(mount, Writable)
        case Writable():
            return not isinstance(mount, Link)  # it would be made in the host's folder
        case ReadableFile() | Link():
            return False
