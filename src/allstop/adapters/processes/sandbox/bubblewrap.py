"""The command that runs a program in a box made by bubblewrap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby
from pathlib import PurePosixPath

from msgspec import Struct

from allstop import open_files
from allstop.adapters.processes.child_inputs import FileFeed, TextFeed, Told, Word, WordsFeed
from allstop.adapters.processes.sandbox.box_paths import HOME
from allstop.adapters.processes.sandbox.host_tools import Ceilings, Host, sparse
from allstop.adapters.processes.sandbox.launch_plan import Scene
from allstop.adapters.processes.sandbox.mounts import Link, Mount, Readable, ReadableFile, Writable
from allstop.adapters.processes.sandbox.seccomp import filter_for
from allstop.ports import Box, Caps, Network

USER = "agent"
TEMP = "/tmp"  # noqa: S108 - the box has its own

TOLD = ("--info-fd", Told.WRITING, "--sync-fd", Told.READING)
"""It holds the reading end too: were we killed before it tells, it would fail half-way."""

DEVICES = ("--dev", "/dev")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the box has its own

CLOSING = ("--dir", "/dev", "--dir", "/proc", "--remount-ro", "/")
"""A write to nowhere fails instead of going into memory."""

GATE = 'echo && read -r go && exec "$@"'
"""Says that the box stands, and starts the program at a line of input.

The shell that does so also sets the limits: a program that did would have to be started first.

bwrap's own --block-fd won't do: it waits before the box is tied to its parent's life, and the
end of the pipe lets it go on. Kill the parent then, and the program runs with nobody above it.
"""


class Recipe(Struct, frozen=True, kw_only=True):
    """What is the same for every box."""

    host: Host
    system: tuple[Word, ...]
    sparse: tuple[Word, ...]  # less of it: each mount and each file takes time
    filter: tuple[Word, ...]
    tag: str  # a word by which the boxes of one driver can be found


def recipe_of(host: Host, tag: str) -> Recipe:
    known = filter_for(host.machine)
    return Recipe(
        host=host,
        system=tuple(_joined(_system_words(host))),
        sparse=tuple(_joined(_system_words(sparse(host)))),
        filter=() if known is None else ("--seccomp", TextFeed(known)),
        tag=tag,
    )


def _joined(words: Iterable[Word]) -> Iterator[Word]:
    """The same with what stands between two feeds as one word."""
    for is_text, some in groupby(words, lambda word: isinstance(word, str)):
        if is_text:
            yield _as_one(map(str, some))
        else:
            yield from some


def _as_one(words: Iterable[str]) -> str:
    """In a feed these are several again: it is quicker to spell them together."""
    return "\0".join(words)


def command(scene: Scene, box: Box, recipe: Recipe) -> tuple[Word, ...]:
    host = recipe.host
    gate = _gate(box.caps, host.ceilings, open_files.given())
    inside = ("/bin/sh", "-c", gate, recipe.tag, *scene.argv)
    bwrap = host.tools.bwrap
    system = recipe.sparse if scene.sparse else recipe.system
    around = (*system, _own_words(scene.mounts), *TOLD)
    within = (*recipe.filter, _as_one(_inner(scene, box)))
    if not host.is_root:
        return (bwrap, "--args", WordsFeed((*around, *DEVICES, *within)), "--", *inside)
    return (
        *(bwrap, "--args", WordsFeed((*around, *_outer()))),
        *("--", *_stepped_down(host)),
        *("--", bwrap, "--args", WordsFeed(("--dev-bind", "/", "/", *within))),
        *("--", *inside),
    )


def environment(scene: Scene) -> Mapping[str, str]:
    return {
        "PATH": ":".join(scene.path),
        "HOME": HOME,
        "TMPDIR": TEMP,
        "LANG": "C.UTF-8",
        "USER": USER,
        **scene.env,
    }


def _system_words(host: Host) -> Iterator[Word]:
    """Parents are made by name first: made by a mount, only their owner could enter them."""
    yield from ("--dir", "/etc", "--dir", "/run", "--dir", "/var")
    yield from ("--perms", "1777", "--tmpfs", TEMP, "--symlink", TEMP, f"/var{TEMP}")
    for file in host.copies:
        yield from ("--dir", _parent(file), "--perms", "0444", "--file", FileFeed(file), file)
    yield from ("--perms", "0444", "--file", TextFeed(_passwd(host)), "/etc/passwd")
    yield from ("--perms", "0444", "--file", TextFeed(_group(host)), "/etc/group")
    for mount in host.mounts:
        yield from _placed(mount)


@lru_cache(maxsize=256)
def _own_words(mounts: tuple[Mount, ...]) -> str:
    return _as_one((*chain.from_iterable(map(_placed, mounts)), *CLOSING))


def _placed(mount: Mount) -> tuple[str, ...]:
    match mount:
        case Readable(source, dest):
            return ("--dir", dest, "--ro-bind", source, dest)
        case ReadableFile(source, dest):
            return ("--dir", _parent(dest), "--ro-bind", source, dest)
        case Writable(source, dest):
            return ("--dir", dest, "--bind", source, dest)
        case Link(target, dest):
            return ("--dir", _parent(dest), "--symlink", target, dest)


def _outer() -> tuple[str, ...]:
    """For root: the PID namespace must be this one, or the box would outlive a kill of ours.

    Its devices are those of the inner one too, where nobody can add any: to lay them out takes
    a tenth of the time that a box takes.
    """
    return (
        *DEVICES,
        *("--perms", "1777", "--tmpfs", SHARED_MEMORY, "--bind", "/proc", "/proc"),
        *("--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"),
        *("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"),
        *("--clearenv", "--setenv", "PATH", "/usr/bin:/bin"),
    )


def _stepped_down(host: Host) -> tuple[str, ...]:
    return (
        *(host.tools.setpriv, f"--reuid={host.box_uid}", f"--regid={host.box_gid}"),
        *("--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"),
    )


def _inner(scene: Scene, box: Box) -> Iterator[str]:
    yield from ("--proc", "/proc", "--unshare-all")
    if box.network is Network.FULL:
        yield "--share-net"
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
    yield from ("--chdir", scene.start, "--clearenv")
    for name, value in environment(scene).items():
        yield from ("--setenv", name, value)


@lru_cache(maxsize=256)
def _gate(caps: Caps, ceilings: Ceilings, files: int | None) -> str:
    return " && ".join((*limits(caps, ceilings, files), GATE))


def limits(caps: Caps, ceilings: Ceilings, files: int | None) -> Iterator[str]:
    """Set inside, where the count of processes is the box's own.

    Shells don't agree on the letter for that. One that knows neither makes no box.

    Memory is bounded for all together elsewhere; that no process alone can write to more holds at
    once. Address space would not do: some programs set aside a hundred times what they use.
    """
    yield "ulimit -c 0"
    if files is not None:
        yield f"ulimit -S -n {files}"
    if caps.processes is not None:
        most = _at_most(caps.processes, ceilings.processes)
        yield f"{{ ulimit -u {most} || ulimit -p {most}; }} 2>/dev/null"
    if caps.memory_mb is not None:
        yield f"ulimit -d {_at_most(caps.memory_mb << 20, ceilings.memory) // 1024}"
    if caps.file_mb is not None:
        yield f"ulimit -f {_at_most(caps.file_mb << 20, ceilings.file) // 512}"


def _at_most(wanted: int, ceiling: int | None) -> int:
    return wanted if ceiling is None else min(wanted, ceiling)


def _passwd(host: Host) -> bytes:
    lines = (
        "root:x:0:0:root:/root:/bin/sh",
        f"{USER}:x:{host.box_uid}:{host.box_gid}:{USER}:{HOME}:/bin/sh",
        "nobody:x:65534:65534:nobody:/nonexistent:/bin/false",
    )
    return "".join(f"{line}\n" for line in lines).encode()


def _group(host: Host) -> bytes:
    return f"root:x:0:\n{USER}:x:{host.box_gid}:\nnogroup:x:65534:\n".encode()


def _parent(path: str) -> str:
    return str(PurePosixPath(path).parent)
