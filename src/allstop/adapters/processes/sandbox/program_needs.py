"""Which files and folders a program needs to see in order to run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.sandbox.host_tools import ROOTS
from allstop.adapters.processes.sandbox.mounts import Link, Mount, Readable, ReadableFile, tidy

SEEN = {"usr", *(root[1:] for root in ROOTS)}
LINKS_AT_MOST = 40
STEPS_AT_MOST = 16
SHARED = (".local", ".cargo")  # a program there is shown, its neighbours are not
STORES = {"node_modules": 1, "Cellar": 0}  # how much of the path up to that name is needed
POLYGLOT = re.compile(rb"^'''exec' \"?([^\"\n]+?)\"? \"\$0\"", re.MULTILINE)


class Needs(NamedTuple):
    mounts: tuple[Mount, ...]
    path: tuple[str, ...]  # folders in which it looks for other programs


def needs_of(program: str, *, home: str, path: Sequence[str]) -> Needs:
    """Everything behind it: links, interpreters, a virtual environment's own Python.

    What lies under /usr is seen anyway. Of a language's own folder (`~/.pyenv/versions/3.12`)
    all is shown, but never all of the home.
    """
    if known := _native(program, home):
        return known
    mounts: list[Mount] = []
    seen: list[str] = []
    todo = [program]
    found: list[str] = []
    while todo and len(seen) < STEPS_AT_MOST:
        step = todo.pop()
        if step in seen:
            continue
        seen.append(step)
        around = _around(step, home)
        mounts += around.mounts
        interpreters = _interpreters(around.head, (str(Path(step).parent), *path))
        found += interpreters.looked_up
        todo += interpreters.programs
        for venv in _venvs(step, around.real):
            if not _is_too_wide(venv, home):
                mounts += _shown_folder(venv)
                todo += base_of(venv)
    folders = dict.fromkeys(str(Path(name).parent) for name in (program, *found))
    return Needs(tuple(dict.fromkeys(mounts)), tuple(folders))


def _native(program: str, home: str) -> Needs | None:
    """For machine code with no Python around it. Most programs are such; each is read once."""
    try:
        about = os.stat(program)  # noqa: PTH116 - a path object would cost more than the look
    except OSError:
        return None
    return _native_needs(program, home, about.st_dev, about.st_ino, about.st_ctime_ns)


@lru_cache(maxsize=256)
def _native_needs(
    program: str, home: str, device: int, inode: int, changed_ns: int
) -> Needs | None:
    """The numbers say which file it was: another one is looked at anew."""
    links, real = followed(program)
    if _venvs(program, real) or not _head(real).startswith(b"\x7fELF"):
        return None
    mounts = dict.fromkeys((*links, *_shown(real, home)))
    return Needs(tuple(mounts), (str(Path(program).parent),))


class _Around(NamedTuple):
    """One step on the way to what a program needs."""

    mounts: tuple[Mount, ...]
    real: str
    head: bytes


def _around(step: str, home: str) -> _Around:
    """Most are the same again and again: a script, its interpreter."""
    try:
        about = os.stat(step)  # noqa: PTH116 - a path object would cost more than the look
    except OSError:
        return _looked_around(step, home)
    return _known_around(step, home, about.st_dev, about.st_ino, about.st_ctime_ns)


@lru_cache(maxsize=256)
def _known_around(step: str, home: str, device: int, inode: int, changed_ns: int) -> _Around:
    return _looked_around(step, home)


def _looked_around(step: str, home: str) -> _Around:
    links, real = followed(step)
    return _Around((*links, *_shown(real, home)), str(real), _head(real))


def is_seen_anyway(path: str) -> bool:
    return path.startswith("/") and path[1:].split("/", 1)[0] in SEEN


def followed(path: str) -> tuple[list[Link], Path]:
    """The links on the way to where a path really leads, and that place."""
    links: list[Link] = []
    here = ""  # a path object for each step would cost more than all the looks
    todo = _steps_back(path)
    while todo:
        part = todo.pop()
        here = _above(here) if part == ".." else f"{here}/{part}"
        target = _link_at(here) if here else None
        if target is None or len(links) >= LINKS_AT_MOST:
            continue
        links.append(Link(target, here))
        todo += _steps_back(target)
        here = "" if target.startswith("/") else _above(here)
    return [link for link in links if not is_seen_anyway(link.dest)], Path(here or "/")


def _above(place: str) -> str:
    return place.rpartition("/")[0]


def _steps_back(path: str) -> list[str]:
    """Its parts, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _link_at(place: str) -> str | None:
    try:
        return os.readlink(place)  # noqa: PTH115 - mostly it is none
    except OSError:
        return None


def base_of(venv: Path) -> list[str]:
    """The Python that a virtual environment was made from."""
    for line in (venv / "pyvenv.cfg").read_text(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            folder = Path(value.strip())
            return [
                str(folder / name) for name in ("python3", "python") if (folder / name).exists()
            ]
    return []


@lru_cache(maxsize=256)
def holds_home(folder: Path, home: str) -> bool:
    """Whether showing it would show all of the home, or of what everything shares there."""
    private = (Path(home), *(Path(home, name) for name in SHARED))
    return any(place.is_relative_to(folder) for place in private)


def _is_too_wide(folder: Path, home: str) -> bool:
    """Whether it holds more than one program and its parts."""
    return (
        holds_home(folder, home)
        or folder.parent in (Path("/home"), Path(home).parent)  # someone else's home
        or len(folder.parts) <= 2
    )


def _shown(real: Path, home: str) -> Iterator[Mount]:
    if is_seen_anyway(str(real)) or not real.exists():
        return
    prefix = _prefix(real)
    if prefix is None or _is_too_wide(prefix, home):
        yield ReadableFile(str(real), str(real))
    else:
        yield Readable(str(prefix), str(prefix))


def _shown_folder(folder: Path) -> list[Mount]:
    links, real = followed(str(folder))
    return [*links, Readable(str(real), str(real))]


def _prefix(real: Path) -> Path | None:
    """The folder that a program and all its parts were installed into."""
    for name, extra in STORES.items():
        if name in real.parts:
            return Path(*real.parts[: real.parts.index(name) + extra])
    if real.parts[1] in ("opt", "nix") and len(real.parts) > 3:
        return Path(*real.parts[:3])
    folder = real.parent.parent
    if real.parent.name in ("bin", "sbin") and any(
        (folder / name).is_dir() for name in ("lib", "lib64")
    ):
        return folder
    return None


def _venvs(*programs: str | Path) -> list[Path]:
    folders = dict.fromkeys(_above(_above(str(program))) for program in programs)
    return [Path(folder) for folder in folders if os.path.isfile(f"{folder}/pyvenv.cfg")]  # noqa: PTH113


class _Interpreters(NamedTuple):
    programs: list[str]
    looked_up: list[str]  # those that were found by their name alone


def _interpreters(head: bytes, path: Sequence[str]) -> _Interpreters:
    if not head.startswith(b"#!"):
        return _Interpreters([], [])
    words = os.fsdecode(head[2:].partition(b"\n")[0]).split()
    polyglot = [os.fsdecode(match) for match in POLYGLOT.findall(head)]
    if not words or Path(words[0]).name != "env":
        return _Interpreters([*words[:1], *polyglot], [])
    named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    found = looked_up(named, path)
    return _Interpreters([words[0], *found], found)


def _head(real: Path) -> bytes:
    try:
        with real.open("rb") as file:
            return file.read(1024)
    except OSError:
        return b""


def looked_up(name: str, path: Sequence[str]) -> list[str]:
    """The first program of that name, if there is one."""
    places = [name] if "/" in name else (f"{folder}/{name}" for folder in path)
    found = next(filter(can_be_run, places), None)
    return [tidy(found)] if found else []


def can_be_run(place: str) -> bool:
    return os.path.isfile(place) and os.access(place, os.X_OK)  # noqa: PTH113 - asked for each box


def is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
