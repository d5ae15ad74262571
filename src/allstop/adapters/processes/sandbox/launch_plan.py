"""What a launch comes to on this machine: its mounts, its PATH, its program."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path

from msgspec import Struct

from allstop.adapters.processes.sandbox.box_paths import HOME, OBJECTS, on_host
from allstop.adapters.processes.sandbox.host_tools import STANDARD_PATH, Host
from allstop.adapters.processes.sandbox.launch_checks import refuse_unspeakable
from allstop.adapters.processes.sandbox.mounts import (
    Mount,
    Readable,
    ReadableFile,
    Writable,
    around_of,
    arranged,
    is_within,
)
from allstop.adapters.processes.sandbox.program_needs import (
    Needs,
    base_of,
    can_be_run,
    followed,
    holds_home,
    is_program,
    is_seen_anyway,
    looked_up,
    needs_of,
)
from allstop.ports import DESK, Box, Launch, LaunchError


class Scene(Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    start: str  # the folder it starts in
    path: tuple[str, ...]
    mounts: tuple[Mount, ...]  # besides those that every box has
    env: dict[str, str]
    sparse: bool


def scene_of(launch: Launch, host: Host) -> Scene:
    """Look at the host's files and say what has to be where.

    Raises:
        LaunchError: something it needs isn't there, or must not be shown.
    """
    refuse_unspeakable(launch)
    box = launch.box
    reads = _reads(box, host)
    path = read_path(box)
    wanted = (*path, *host.path, *STANDARD_PATH)
    names = dict.fromkeys((launch.argv[0], *launch.programs))
    program, *others = (program_of(each, box, wanted) for each in names)
    needs = _together(_needs(each, box, host) for each in (program, *others))
    behind = (mount for each in launch.behind for mount in _needs(each, box, host).mounts)
    mounts = _arranged((*_own(box), *_desk(launch), *reads, *needs.mounts, *behind))
    _refuse_detours(mounts)
    return Scene(
        argv=(program, *launch.argv[1:]),
        start=box.at if box.workspace else HOME,
        path=(
            *dict.fromkeys((*path, *_besides_standard(needs.path), *STANDARD_PATH)),
            *((DESK,) if launch.desk else ()),
        ),
        mounts=mounts,
        env=dict(launch.env),
        sparse=launch.sparse,
    )


def _own(box: Box) -> Iterator[Mount]:
    yield Writable(_there(box.home, "its home"), HOME)
    if box.workspace:
        yield Writable(_there(box.workspace, "its workspace"), box.at)
    for number, store in enumerate(box.objects):
        yield Readable(_there(store, "an object store"), f"{OBJECTS}/{number}")


def _desk(launch: Launch) -> Iterator[Mount]:
    if launch.desk:
        yield Readable(_there(launch.desk, "the way to its desk"), DESK)


def _reads(box: Box, host: Host) -> list[Mount]:
    mounts: list[Mount] = []
    for read in box.read:
        place = Path(_there(read, "a path to read"))
        if holds_home(place, host.home):
            raise LaunchError(f"{read} is never shown to a program", "name what it needs of it")
        if is_seen_anyway(read) or (box.workspace and read == box.at):
            continue
        mounts += _shown(place, box)
        if (place / "pyvenv.cfg").is_file():
            for base in base_of(place):
                mounts += needs_of(base, home=host.home, path=()).mounts
    return mounts


def _shown(place: Path, box: Box) -> list[Mount]:
    if box.workspace and is_within(str(place), box.at):
        return [_mount(place, str(place))]
    links, real = followed(str(place))
    return [*links, _mount(real, str(real))]


def _mount(source: Path, dest: str) -> Mount:
    return Readable(str(source), dest) if source.is_dir() else ReadableFile(str(source), dest)


def read_path(box: Box) -> tuple[str, ...]:
    """The folders of programs among what it may read."""
    found: list[Path] = []
    for read in map(Path, box.read):
        if read.is_file() and is_program(read):
            found.append(read.parent)
        elif read.name in ("bin", ".bin"):
            found.append(read)
        else:
            found += [folder for name in ("bin", ".bin") if (folder := read / name).is_dir()]
    return tuple(map(str, found))


def program_of(name: str, box: Box, path: tuple[str, ...]) -> str:
    """The program's path in the box."""
    if "/" not in name:
        found = looked_up(name, path)
        if not found:
            raise LaunchError(
                f"there is no program called {name}", f"looked in {':'.join(dict.fromkeys(path))}"
            )
        return found[0]
    place = on_host(os.path.join(box.at, name), box)  # noqa: PTH118
    if not os.path.exists(place):  # noqa: PTH110
        if os.path.islink(place) and _is_its_own(place, box):  # noqa: PTH114
            return name  # it may lead to something that only the box has
        raise LaunchError(f"there is no program {name}", _why_not_there(name))
    if not can_be_run(place):
        hint = "make it executable, and commit that if it is a file of the repository"
        raise LaunchError(f"{name} can't be run: it is no executable file", hint)
    return name


def _why_not_there(name: str) -> str:
    if name.startswith("/"):
        return "it is not on this machine, or its box doesn't see it: [sandbox] read shows it more"
    return "it is a file of the repository, which has to be committed before work begins"


def _needs(program: str, box: Box, host: Host) -> Needs:
    """Nothing for a program of the workspace: its links and first line are the agent's word."""
    if not program.startswith("/") or _is_its_own(on_host(program, box), box):
        return Needs((), ())
    needs = needs_of(program, home=host.home, path=host.path)
    own = (HOME, box.at) if box.workspace else (HOME,)
    outside = tuple(
        mount for mount in needs.mounts if not any(is_within(mount.dest, place) for place in own)
    )
    return Needs(outside, needs.path)


def _together(all_needs: Iterable[Needs]) -> Needs:
    mounts, folders = zip(*all_needs, strict=True)
    return Needs(tuple(chain.from_iterable(mounts)), tuple(chain.from_iterable(folders)))


def _besides_standard(path: tuple[str, ...]) -> Iterator[str]:
    return (folder for folder in path if folder not in STANDARD_PATH)


def _is_its_own(place: str, box: Box) -> bool:
    return any(folder and is_within(place, folder) for folder in (box.workspace, box.home))


def _refuse_detours(mounts: tuple[Mount, ...]) -> None:
    """A link in a folder the agent can change must not decide where a mount goes."""
    for step, dest in _steps_within_own(mounts):
        try:
            is_link = stat.S_ISLNK(os.lstat(step).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:  # what makes the box may look where we may not
            why = f"nobody can look at {step}: {error.strerror}"
            raise LaunchError(f"{dest} can't be shown: {why}") from error
        if is_link:
            raise LaunchError(f"{dest} can't be shown: {step} is a link")


_arranged = lru_cache(maxsize=256)(arranged)  # a box is made again and again


@lru_cache(maxsize=256)
def _steps_within_own(mounts: tuple[Mount, ...]) -> tuple[tuple[str, str], ...]:
    """The folders on the way to what is mounted within something else that can be changed."""
    found: list[tuple[str, str]] = []
    for mount in mounts:
        around = around_of(mount, [other for other in mounts if other is not mount])
        if isinstance(around, Writable):
            step = Path(around.source)
            for part in Path(mount.dest).relative_to(around.dest).parts:
                step /= part
                found.append((str(step), mount.dest))
    return tuple(found)


def _there(path: str, what: str) -> str:
    if not os.path.exists(path):  # noqa: PTH110 - paths are slow to make
        raise LaunchError(f"{path} isn't there; it was to be {what}")
    return path
