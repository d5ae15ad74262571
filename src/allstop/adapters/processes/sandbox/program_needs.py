"""The files and folders that a program needs in order to run."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.sandbox.host_tools import ROOTS
from allstop.adapters.processes.sandbox.mounts import Link, Mount, Readable, ReadableFile, tidy

VISIBLE = {"usr", *(root[1:] for root in ROOTS)}
MAX_LINKS = 40
MAX_STEPS = 16
SHARED = (".local", ".cargo")  # only the program itself is shown, not the whole folder
STORES = {"node_modules": 1, "Cellar": 0}  # how many parts of the path after that name are needed
POLYGLOT = re.compile(rb"^'''exec' \"?([^\"\n]+?)\"? \"\$0\"", re.MULTILINE)


class Needs(NamedTuple):
    mounts: tuple[Mount, ...]
    path: tuple[str, ...]  # folders in which it searches other programs


def needs_of(program: str, *, home: str, path: Sequence[str]) -> Needs:
    """Return the links, interpreters and the virtual environment's Python behind a program.

    Everything under /usr is visible anyway. The folder of a language version, such as
    `~/.pyenv/versions/3.12`, is shown completely, but never the whole home.
    """
    if known := _native(program, home):
        return known
    mounts: list[Mount] = []
    visited: list[str] = []
    todo = [program]
    found: list[str] = []
    while todo and len(visited) < MAX_STEPS:
        step = todo.pop()
        if step in visited:
            continue
        visited.append(step)
        inspected = _inspect_cached(step, home)
        mounts += inspected.mounts
        interpreters = _interpreters(inspected.head, (str(Path(step).parent), *path))
        found += interpreters.find_program
        todo += interpreters.programs
        for venv in _venvs(step, inspected.real):
            if not _is_too_wide(venv, home):
                mounts += _folder_mounts(venv)
                todo += base_of(venv)
    folders = dict.fromkeys(str(Path(name).parent) for name in (program, *found))
    return Needs(tuple(dict.fromkeys(mounts)), tuple(folders))


def _native(program: str, home: str) -> Needs | None:
    """Handle machine code outside virtual environments: most programs. Each is read once."""
    try:
        info = os.stat(program)  # noqa: PTH116 - a Path object would cost more than the call
    except OSError:
        return None
    return _native_needs(program, home, info.st_dev, info.st_ino, info.st_ctime_ns)


@lru_cache(maxsize=256)
def _native_needs(
    program: str, home: str, device: int, inode: int, changed_ns: int
) -> Needs | None:
    """The numbers identify the file, so a changed file is read again."""
    links, real = follow_links(program)
    if _venvs(program, real) or not _head(real).startswith(b"\x7fELF"):
        return None
    mounts = dict.fromkeys((*links, *_mounts_for(real, home)))
    return Needs(tuple(mounts), (str(Path(program).parent),))


class _Inspected(NamedTuple):
    """One file on the way to everything that a program needs."""

    mounts: tuple[Mount, ...]
    real: str
    head: bytes


def _inspect_cached(step: str, home: str) -> _Inspected:
    """Cached: the same scripts and interpreters come again and again."""
    try:
        info = os.stat(step)  # noqa: PTH116 - a Path object would cost more than the call
    except OSError:
        return _inspect(step, home)
    return _inspect_file(step, home, info.st_dev, info.st_ino, info.st_ctime_ns)


@lru_cache(maxsize=256)
def _inspect_file(step: str, home: str, device: int, inode: int, changed_ns: int) -> _Inspected:
    return _inspect(step, home)


def _inspect(step: str, home: str) -> _Inspected:
    links, real = follow_links(step)
    return _Inspected((*links, *_mounts_for(real, home)), str(real), _head(real))


def is_always_visible(path: str) -> bool:
    return path.startswith("/") and path[1:].split("/", 1)[0] in VISIBLE


def follow_links(path: str) -> tuple[list[Link], Path]:
    """Return the links on the way to a path's real location, and that location."""
    links: list[Link] = []
    here = ""  # a Path object per step would cost more than all system calls
    todo = _steps_back(path)
    while todo:
        part = todo.pop()
        here = _above(here) if part == ".." else f"{here}/{part}"
        target = _link_at(here) if here else None
        if target is None or len(links) >= MAX_LINKS:
            continue
        links.append(Link(target, here))
        todo += _steps_back(target)
        here = "" if target.startswith("/") else _above(here)
    return [link for link in links if not is_always_visible(link.dest)], Path(here or "/")


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _steps_back(path: str) -> list[str]:
    """Return the path's parts, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _link_at(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - usually it isn't a link
    except OSError:
        return None


def base_of(venv: Path) -> list[str]:
    """Return the Python that a virtual environment was made from."""
    for line in (venv / "pyvenv.cfg").read_text(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            folder = Path(value.strip())
            return [
                str(folder / name) for name in ("python3", "python") if (folder / name).exists()
            ]
    return []


@lru_cache(maxsize=256)
def contains_home(folder: Path, home: str) -> bool:
    """Whether showing this folder would show the whole home or a shared folder in it."""
    private = (Path(home), *(Path(home, name) for name in SHARED))
    return any(path.is_relative_to(folder) for path in private)


def _is_too_wide(folder: Path, home: str) -> bool:
    """Whether the folder contains more than one program and its parts."""
    return (
        contains_home(folder, home)
        or folder.parent in (Path("/home"), Path(home).parent)  # another user's home
        or len(folder.parts) <= 2
    )


def _mounts_for(real: Path, home: str) -> Iterator[Mount]:
    if is_always_visible(str(real)) or not real.exists():
        return
    prefix = _prefix(real)
    if prefix is None or _is_too_wide(prefix, home):
        yield ReadableFile(str(real), str(real))
    else:
        yield Readable(str(prefix), str(prefix))


def _folder_mounts(folder: Path) -> list[Mount]:
    links, real = follow_links(str(folder))
    return [*links, Readable(str(real), str(real))]


def _prefix(real: Path) -> Path | None:
    """Return the folder that a program and all its parts were installed into."""
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
    find_program: list[str]  # found by name on the PATH


def _interpreters(head: bytes, path: Sequence[str]) -> _Interpreters:
    if not head.startswith(b"#!"):
        return _Interpreters([], [])
    words = os.fsdecode(head[2:].partition(b"\n")[0]).split()
    polyglot = [os.fsdecode(match) for match in POLYGLOT.findall(head)]
    if not words or Path(words[0]).name != "env":
        return _Interpreters([*words[:1], *polyglot], [])
    named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    found = find_program(named, path)
    return _Interpreters([words[0], *found], found)


def _head(real: Path) -> bytes:
    try:
        with real.open("rb") as file:
            return file.read(1024)
    except OSError:
        return b""


def find_program(name: str, path: Sequence[str]) -> list[str]:
    """Return the first program of that name, if there is one."""
    places = [name] if "/" in name else (f"{folder}/{name}" for folder in path)
    found = next(filter(is_executable, places), None)
    return [tidy(found)] if found else []


def is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - runs for each box


def is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
