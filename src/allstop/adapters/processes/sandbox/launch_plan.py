"""The plan of a launch on this machine: mounts, PATH, program and environment."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path

from msgspec import Struct

from allstop.adapters.processes.sandbox import program_needs
from allstop.adapters.processes.sandbox.box_paths import HOME, OBJECTS, on_host
from allstop.adapters.processes.sandbox.host_tools import STANDARD_PATH, Host
from allstop.adapters.processes.sandbox.mounts import (
    Mount,
    Readable,
    ReadableFile,
    Scratch,
    Writable,
    arrange,
    enclosing_mount,
    is_within,
)
from allstop.ports import TURN_TOOLS, Box, Launch, LaunchError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
VITE_TEMP = ".vite-temp"
"""Vite writes its bundled settings into this folder of node_modules, and fails if it can't."""


def refuse_malformed(launch: Launch) -> None:
    """Refuse zero bytes and bad names: a zero byte ends an argument and would begin another one.

    Raises LaunchError if the launch is malformed.
    """
    if not launch.argv or not launch.argv[0]:
        raise LaunchError("the command is empty", code="bad_launch")
    box = launch.box
    _refuse_bad_paths(box)
    texts = (*launch.argv, *launch.env.values(), box.home, box.workspace or "", box.at)
    if any("\0" in text for text in (*texts, *box.objects, *box.read)):
        message = "arguments, environment values and paths can't contain a zero byte"
        raise LaunchError(message, code="bad_launch")
    for name in launch.env:
        if not NAME.fullmatch(name):
            message = f"{name!r} isn't a valid name of an environment variable"
            raise LaunchError(message, code="bad_launch")


def _refuse_bad_paths(box: Box) -> None:
    for path in filter(None, (box.home, box.workspace, box.at, *box.objects, *box.read)):
        if not _is_normalized(path):
            raise LaunchError(f"{path!r} isn't a normalized absolute path", code="bad_launch")
    if box.workspace and box.at in ("/", HOME):
        raise LaunchError(f"a workspace can't be mounted at {box.at}", code="bad_launch")


@lru_cache(maxsize=1024)
def _is_normalized(path: str) -> bool:
    return path.startswith("/") and os.path.normpath(path) == path


class LaunchPlan(Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    start: str  # the folder it starts in
    path: tuple[str, ...]
    mounts: tuple[Mount, ...]  # without those of every box
    env: dict[str, str]
    sparse: bool


def plan_launch(launch: Launch, host: Host) -> LaunchPlan:
    """Inspect the host's files and plan the box.

    Raises LaunchError if a needed path doesn't exist, or must not be shown.
    """
    refuse_malformed(launch)
    box = launch.box
    reads = _read_mounts(box, host)
    path = read_path(box)
    wanted = (*path, *(box.path or host.path), *STANDARD_PATH)
    names = dict.fromkeys((launch.argv[0], *launch.programs))
    program, *others = (program_of(each, box, wanted) for each in names)
    tools = () if launch.sparse else box.tools
    needs = _combine(_needs(each, box, host) for each in (program, *others, *tools))
    behind = (mount for each in launch.behind for mount in _needs(each, box, host).mounts)
    mounts = _arrange_cached(
        (*_own_mounts(box), *_tools_mount(launch), *reads, *needs.mounts, *behind)
    )
    _refuse_links(mounts)
    return LaunchPlan(
        argv=(program, *launch.argv[1:]),
        start=box.at if box.workspace else HOME,
        path=(
            *dict.fromkeys((*path, *_in_order(needs.path, box.path), *STANDARD_PATH)),
            *((TURN_TOOLS,) if launch.turn_tools else ()),
        ),
        mounts=mounts,
        env=dict(launch.env),
        sparse=launch.sparse,
    )


def _own_mounts(box: Box) -> Iterator[Mount]:
    yield Writable(_existing(box.home, "home"), HOME)
    if box.workspace:
        yield Writable(_existing(box.workspace, "workspace"), box.at)
    for number, store in enumerate(box.objects):
        yield Readable(_existing(store, "object store"), f"{OBJECTS}/{number}")


def _tools_mount(launch: Launch) -> Iterator[Mount]:
    if launch.turn_tools:
        yield Readable(_existing(launch.turn_tools, "tools folder"), TURN_TOOLS)


def refuse_unreadable(read: str, host: Host) -> None:
    """Raises LaunchError if no box can show this path."""
    if not _is_normalized(read):
        raise LaunchError(
            f"{read!r} isn't a normalized absolute path",
            'write it from "/" or "~/" on, without ".."',
            code="bad_launch",
        )
    if program_needs.contains_home(Path(_existing(read, "readable path")), host.home):
        raise LaunchError(
            f"{read} contains your home, which is never shown to a program",
            "name the folders in it that the program needs",
            code="home_not_shown",
        )


def _read_mounts(box: Box, host: Host) -> list[Mount]:
    mounts: list[Mount] = []
    for read in box.read:
        refuse_unreadable(read, host)
        host_path = Path(read)
        if program_needs.is_always_visible(read) or (box.workspace and read == box.at):
            continue
        mounts += _mounts_for(host_path, box)
        if host_path.name == "node_modules" and (host_path / VITE_TEMP).is_dir():
            mounts.append(Scratch(f"{mounts[-1].dest}/{VITE_TEMP}"))
        if (host_path / "pyvenv.cfg").is_file():
            for base in program_needs.base_of(host_path):
                mounts += program_needs.needs_of(base, home=host.home, path=()).mounts
    return mounts


def _mounts_for(host_path: Path, box: Box) -> list[Mount]:
    if box.workspace and is_within(str(host_path), box.at):
        return [_mount(host_path, str(host_path))]
    links, real = program_needs.follow_links(str(host_path))
    return [*links, _mount(real, str(real))]


def _mount(source: Path, dest: str) -> Mount:
    return Readable(str(source), dest) if source.is_dir() else ReadableFile(str(source), dest)


def read_path(box: Box) -> tuple[str, ...]:
    """Return the program folders among the readable paths."""
    found: list[Path] = []
    for read in map(Path, box.read):
        if read.is_file() and program_needs.is_program(read):
            found.append(read.parent)
        elif read.name in ("bin", ".bin"):
            found.append(read)
        else:
            found += [folder for name in ("bin", ".bin") if (folder := read / name).is_dir()]
    return tuple(map(str, found))


def program_of(name: str, box: Box, path: tuple[str, ...]) -> str:
    """Return the program's path in the box.

    Raises LaunchError if it doesn't exist, or isn't executable.
    """
    if "/" not in name:
        found = program_needs.find_program(name, path)
        if not found:
            raise LaunchError(
                f"program {name} was not found",
                f"searched {':'.join(dict.fromkeys(path))}",
                code="program_missing",
            )
        return found[0]
    host_path = on_host(os.path.join(box.at, name), box)  # noqa: PTH118
    if not os.path.exists(host_path):  # noqa: PTH110
        if os.path.islink(host_path) and _belongs_to_box(host_path, box):  # noqa: PTH114
            return name  # its target may exist only in the box
        raise LaunchError(
            f"program {name} was not found", _missing_hint(name), code="program_missing"
        )
    if not program_needs.is_executable(host_path):
        hint = "make it executable, and commit that if it is a file of the repository"
        raise LaunchError(f"{name} isn't an executable file", hint, code="not_executable")
    return name


def _missing_hint(name: str) -> str:
    if name.startswith("/"):
        return "install it, or if its box doesn't show it, add its folder to [sandbox] read"
    return "commit it first: a relative path names a file of the repository"


def _needs(program: str, box: Box, host: Host) -> program_needs.Needs:
    """Return nothing for a program in the workspace.

    The agent controls its links and first line.
    """
    if not program.startswith("/") or _belongs_to_box(on_host(program, box), box):
        return program_needs.Needs((), ())
    needs = program_needs.needs_of(program, home=host.home, path=box.path or host.path)
    own = (HOME, box.at) if box.workspace else (HOME,)
    outside = tuple(
        mount
        for mount in needs.mounts
        if not any(is_within(mount.dest, host_path) for host_path in own)
    )
    return program_needs.Needs(outside, needs.path)


def _combine(all_needs: Iterable[program_needs.Needs]) -> program_needs.Needs:
    mounts, folders = zip(*all_needs, strict=True)
    return program_needs.Needs(
        tuple(chain.from_iterable(mounts)), tuple(chain.from_iterable(folders))
    )


def _in_order(folders: tuple[str, ...], path: tuple[str, ...]) -> Iterator[str]:
    """Yield the folders of needed programs in the order of the person's PATH.

    So a name leads to the same program as outside. Folders that are not on the PATH come first.
    """
    shown = {*folders, *STANDARD_PATH}
    yield from (folder for folder in folders if folder not in (*path, *STANDARD_PATH))
    for folder in path:
        if folder in shown or program_needs.is_always_visible(folder):
            yield folder


def _belongs_to_box(host_path: str, box: Box) -> bool:
    return any(folder and is_within(host_path, folder) for folder in (box.workspace, box.home))


def _refuse_links(mounts: tuple[Mount, ...]) -> None:
    """Refuse links in folders that the agent can change: they could move a mount."""
    for step, dest in _steps_in_writable(mounts):
        try:
            is_link = stat.S_ISLNK(os.lstat(step).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:  # as root, bwrap could still follow a link there
            message = f"{dest} can't be mounted: {step} can't be read: {error.strerror}"
            raise LaunchError(message, code="mount_refused") from error
        if is_link:
            message = f"{dest} can't be mounted: {step} is a symbolic link"
            raise LaunchError(message, code="mount_refused")


_arrange_cached = lru_cache(maxsize=256)(arrange)  # the same boxes are made again and again


@lru_cache(maxsize=256)
def _steps_in_writable(mounts: tuple[Mount, ...]) -> tuple[tuple[str, str], ...]:
    """Return the folders on the way to mounts inside a writable mount."""
    found: list[tuple[str, str]] = []
    for mount in mounts:
        outer = enclosing_mount(mount, [other for other in mounts if other is not mount])
        if isinstance(outer, Writable):
            step = Path(outer.source)
            for part in Path(mount.dest).relative_to(outer.dest).parts:
                step /= part
                found.append((str(step), mount.dest))
    return tuple(found)


def _existing(path: str, purpose: str) -> str:
    if not os.path.exists(path):  # noqa: PTH110 - Path objects are slow
        raise LaunchError(f"{path} ({purpose}) doesn't exist", code="path_missing")
    return path
