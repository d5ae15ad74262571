"""Prepares the files of a clone on the host, in a folder that no agent has touched."""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from allstop.adapters.git.repository.repository import Repository

MAX_COPIED = 64 * 1024**2
"""The most bytes of untracked files that are copied into a clone."""

CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = Allstop
\temail = agent@allstop.invalid
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
FILTER = b"filter=lfs"
MAX_BYTES = 256 * 1024
"""The most that is read of `.gitmodules` and `.gitattributes`; an agent may have written them."""
LONGEST_PATH = 4096
SHA256 = "[extensions]\n\tobjectformat = sha256\n"


class Submodule(NamedTuple):
    path: str
    commit: str
    store: str  # in the user's repository


class Extras(NamedTuple):
    """Blobs of `.gitmodules` and `.gitattributes` in a commit; None if the commit lacks them."""

    modules: str | None
    attributes: str | None


def extras_of(revision: str) -> tuple[str, str]:
    """Return the revisions of these files, so that one lookup can ask for them with others."""
    return f"{revision}:.gitmodules", f"{revision}:.gitattributes"


class ClonePlan(Struct, frozen=True, kw_only=True):
    """What a commit needs besides its own files."""

    submodules: tuple[Submodule, ...] = ()
    copies: tuple[str, ...] = ()
    lfs: bool = False  # the top-level attributes name Git LFS; files in folders may too
    notes: tuple[str, ...] = ()


def config_of(commit: str) -> str:
    is_long = len(commit) == 64
    return CONFIG.format(version=int(is_long)) + (SHA256 if is_long else "")


def write_git_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create a minimal git folder without templates and logs; empty files are left out.

    Creating files is most of the cost of cloning a small repository.
    """
    for name in ("", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads"):
        (folder / name).mkdir()
    for name, data in files.items():
        if data:
            (folder / name).write_bytes(data)


def files_of_clone(
    commit: str, branch: str, *, stores: Sequence[str], excluded: Sequence[str], shallow: bytes
) -> dict[str, bytes]:
    """Return the files of a workspace's git folder; `shallow` lists where its history ends."""
    return {
        "HEAD": f"ref: refs/heads/{branch}\n".encode(),
        "packed-refs": f"{commit} refs/heads/{branch}\n".encode(),
        "config": config_of(commit).encode(),
        "objects/info/alternates": os.fsencode(alternates_of(stores)),
        "info/exclude": os.fsencode("".join(f"{ignore_line(path)}\n" for path in excluded)),
        "shallow": shallow,
    }


def files_of_submodule(commit: str, store: str) -> dict[str, bytes]:
    return {
        "HEAD": f"{commit}\n".encode(),
        "config": config_of(commit).encode(),
        "objects/info/alternates": os.fsencode(alternates_of([store])),
    }


def shallow_of(common_dir: Path) -> bytes:
    """Return the user's `shallow` file: the clone's history ends where the user's does."""
    try:
        return (common_dir / "shallow").read_bytes()
    except FileNotFoundError:
        return b""


def alternates_of(stores: Sequence[str]) -> str:
    return "".join(f"{store}\n" for store in stores)


def ignore_line(path: str) -> str:
    """Return an ignore-file line that matches only this path."""
    escaped = "".join(f"\\{c}" if c in "\\*?[ " else c for c in path)
    return f"/{escaped}"


# --- planning ---


async def plan(
    repository: Repository, commit: str, extras: Extras, patterns: Sequence[str]
) -> ClonePlan:
    """Raises GitError if the commit can't be read."""
    notes: list[str] = []
    submodules: list[Submodule] = []
    if extras.modules:
        submodules, missing = await _submodules(repository, commit, extras.modules)
        notes += [f"submodule {path} is not checked out here" for path in missing]
    copies, left = await _copies(repository, patterns)
    notes += [f"{path} was not copied: it leads out of the repository" for path in left]
    return ClonePlan(
        submodules=tuple(submodules),
        copies=tuple(copies),
        lfs=await _has_lfs(repository, extras.attributes),
        notes=tuple(notes),
    )


async def _has_lfs(repository: Repository, attributes: str | None) -> bool:
    """Whether the commit's top-level attributes, or the repository's own, name Git LFS."""
    is_read = attributes is not None and await _is_small(repository, attributes)
    text = await repository.output("cat-file", "blob", str(attributes)) if is_read else b""
    return FILTER in text or FILTER in _own_attributes(await repository.common_dir())


async def _is_small(repository: Repository, blob: str) -> bool:
    (info,) = await repository.look_up(blob)
    return info is not None and info.size_bytes <= MAX_BYTES


def _own_attributes(common_dir: Path) -> bytes:
    try:
        return (common_dir / "info" / "attributes").read_bytes()
    except OSError:
        return b""


async def _submodules(
    repository: Repository, commit: str, gitmodules: str
) -> tuple[list[Submodule], list[str]]:
    """Return submodules whose objects the user's repository has, and the paths of the others."""
    names = await _module_names(repository, gitmodules)
    inside = [path for path in names if _is_inside(path)]
    if not inside:
        return [], []
    modules = await repository.common_dir() / "modules"
    listed = os.fsdecode(await repository.output("ls-tree", "-z", commit, "--", *inside))
    rows = (row.split("\t", 1) for row in listed.split("\0") if row)
    links = {path: info.split()[2] for info, path in rows if info.startswith("160000 ")}
    found, missing = [], []
    for path, linked in links.items():
        store = modules / names[path] / "objects"
        if _is_inside(names[path]) and store.is_dir():
            found.append(Submodule(path, linked, str(store)))
        else:
            missing.append(path)
    return found, missing


async def _module_names(repository: Repository, gitmodules: str) -> dict[str, str]:
    if not await _is_small(repository, gitmodules):
        return {}
    done = await repository.run(
        "config", "-z", "--blob", gitmodules, "--get-regexp", r"^submodule\..*\.path$"
    )
    entries = [entry.split("\n", 1) for entry in os.fsdecode(done.out).split("\0") if "\n" in entry]
    return {path: key[len("submodule.") : -len(".path")] for key, path in entries}


async def loose_links(repository: Repository, head: str, links: Mapping[str, str]) -> list[str]:
    """Return the paths of submodule links whose commits the user's repository doesn't have."""
    (gitmodules,) = await repository.resolve(extras_of(head)[0])
    names = await _module_names(repository, gitmodules) if gitmodules else {}
    modules = await repository.common_dir() / "modules"
    return [
        path
        for path, commit in links.items()
        if not await _has_module(repository, modules, names.get(path, ""), commit)
    ]


async def _has_module(repository: Repository, modules: Path, name: str, commit: str) -> bool:
    if not _is_inside(name) or not (modules / name / "objects").is_dir():
        return False
    there = ("--git-dir", str(modules / name), "cat-file", "-e", f"{commit}^{{commit}}")
    return (await repository.run(*there)).code == 0


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts if len(path) < LONGEST_PATH else ()
    return bool(parts) and not path.startswith("/") and ".." not in parts and parts[0] != ".git"


async def _copies(repository: Repository, patterns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return matching untracked files of the user's checkout, and those that may not be copied."""
    patterns = [pattern for pattern in patterns if _may_match(repository.root, pattern)]
    if not patterns:
        return [], []
    done = await repository.run(
        "ls-files", "-z", "--others", "--",
        *(f":(top,glob){pattern}" for pattern in patterns),
        *(f":(top,glob){pattern}/**" for pattern in patterns),
        ":(top,exclude,literal).allstop",
    )  # fmt: skip
    names = sorted({os.fsdecode(name) for name in done.out.split(b"\0") if name})
    root = repository.root.resolve()
    taken = [name for name in names if _may_copy(root, name)]
    return taken, [name for name in names if name not in taken]


def _may_match(root: Path, pattern: str) -> bool:
    """Whether a file matches: a quick look, because usually none does and asking git is slower."""
    if not _is_inside(pattern):
        return False
    return "**" in pattern or next(iter(root.glob(pattern)), None) is not None


def _may_copy(root: Path, name: str) -> bool:
    try:
        real = (root / name).resolve()
    except (OSError, RuntimeError):  # a loop of links
        return False
    parts = real.relative_to(root).parts if real.is_relative_to(root) else (".git",)
    return "\n" not in name and real.is_file() and parts[0] not in (".git", ".allstop")


def copy_files(root: Path, names: Sequence[str], folder: Path) -> tuple[list[str], list[str]]:
    """Copy these files; returns the copied ones and those that are too large."""
    left_bytes = MAX_COPIED
    copied, too_much = [], []
    for name in names:
        size = _copy_file((root / name).resolve(), folder / name, left_bytes)
        if size is None:
            too_much.append(name)
        else:
            left_bytes -= size
            copied.append(name)
    return copied, too_much


def _copy_file(source: Path, dest: Path, most_bytes: int) -> int | None:
    handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_size > most_bytes:
            return None
        dest.parent.mkdir(parents=True, exist_ok=True)
        with dest.open("xb") as copy:
            shutil.copyfileobj(file, copy)
        dest.chmod(stat.S_IMODE(info.st_mode) & 0o777)
    return info.st_size
