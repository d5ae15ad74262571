"""The bubblewrap command line that runs a program in a box."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby
from pathlib import PurePosixPath

from msgspec import Struct

from allstop import open_files
from allstop.adapters.processes.child_inputs import (
    ArgumentsInput,
    FileInput,
    InfoPipe,
    TextInput,
    Word,
)
from allstop.adapters.processes.sandbox.box_paths import HOME
from allstop.adapters.processes.sandbox.host_tools import Ceilings, Host, sparse
from allstop.adapters.processes.sandbox.launch_plan import LaunchPlan
from allstop.adapters.processes.sandbox.mounts import (
    Link,
    Mount,
    Readable,
    ReadableFile,
    Scratch,
    Writable,
)
from allstop.adapters.processes.sandbox.seccomp import filter_for
from allstop.ports import Box, Caps, Network

USER = "agent"
TEMP = "/tmp"  # noqa: S108 - the box has its own

INFO_PIPE = ("--info-fd", InfoPipe.WRITING, "--sync-fd", InfoPipe.READING)
"""bwrap also gets the reading end: if this process were killed first, bwrap would fail half-way."""

DEVICES = ("--dev", "/dev")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the box has its own

READ_ONLY_ROOT = ("--dir", "/dev", "--dir", "/proc", "--remount-ro", "/")
"""A write outside the mounts fails instead of going into memory."""

LOOPBACK_NAMES: tuple[Word, ...] = (
    *("--perms", "0444", "--file", TextInput(b"nameserver 127.0.0.1\noptions attempts:1\n")),
    "/etc/resolv.conf",
)
"""Names are looked up at the gateway, which says at once that there are none."""

START_SCRIPT = 'echo && read -r go && exec "$@"'
"""Prints a line when the box is ready, and starts the program at a line of input.

The shell also sets the limits: a separate program for that would have to be started first.

bwrap's --block-fd doesn't work here. It waits before the box is tied to its parent's life, and the
end of the pipe lets it continue: if the parent is killed then, the program runs without a parent.
"""


class BoxTemplate(Struct, frozen=True, kw_only=True):
    """The parts of the command line that are the same for every box."""

    host: Host
    system: tuple[Word, ...]
    sparse: tuple[Word, ...]  # fewer mounts and files: each takes time
    filter: tuple[Word, ...]
    tag: str  # marks the boxes of one driver


def make_template(host: Host, tag: str) -> BoxTemplate:
    known = filter_for(host.machine)
    return BoxTemplate(
        host=host,
        system=tuple(_join_words(_system_words(host))),
        sparse=tuple(_join_words(_system_words(sparse(host)))),
        filter=() if known is None else ("--seccomp", TextInput(known)),
        tag=tag,
    )


def _join_words(words: Iterable[Word]) -> Iterator[Word]:
    """Join the words between two inputs into one word."""
    for is_text, some in groupby(words, lambda word: isinstance(word, str)):
        if is_text:
            yield _zero_separated(map(str, some))
        else:
            yield from some


def _zero_separated(words: Iterable[str]) -> str:
    """Join words with zero bytes; bwrap splits them again. One long word is faster to write."""
    return "\0".join(words)


def command(plan: LaunchPlan, box: Box, template: BoxTemplate) -> tuple[Word, ...]:
    host = template.host
    script = _start_script(box.caps, host.ceilings, open_files.given())
    inside = ("/bin/sh", "-c", script, template.tag, *plan.argv)
    bwrap = host.tools.bwrap
    system = template.sparse if plan.sparse else template.system
    names = LOOPBACK_NAMES if box.gateway is not None else ()
    outer_words = (*system, *names, _own_words(plan.mounts), *INFO_PIPE)
    inner_words = (*template.filter, _zero_separated(_inner(plan, box)))
    if not host.is_root:
        words = ArgumentsInput((*outer_words, *DEVICES, *inner_words))
        return (bwrap, "--args", words, "--", *inside)
    return (
        *(bwrap, "--args", ArgumentsInput((*outer_words, *_outer()))),
        *("--", *_drop_privileges(host)),
        *("--", bwrap, "--args", ArgumentsInput(("--dev-bind", "/", "/", *inner_words))),
        *("--", *inside),
    )


def environment(plan: LaunchPlan) -> Mapping[str, str]:
    return {
        "PATH": ":".join(plan.path),
        "HOME": HOME,
        "TMPDIR": TEMP,
        "LANG": "C.UTF-8",
        "USER": USER,
        **plan.env,
    }


def _system_words(host: Host) -> Iterator[Word]:
    """Create parents by name first: a mount would create them for their owner only."""
    yield from ("--dir", "/etc", "--dir", "/run", "--dir", "/var")
    yield from ("--perms", "1777", "--tmpfs", TEMP, "--symlink", TEMP, f"/var{TEMP}")
    for file in host.copies:
        yield from ("--dir", _parent(file), "--perms", "0444", "--file", FileInput(file), file)
    yield from ("--perms", "0444", "--file", TextInput(_passwd(host)), "/etc/passwd")
    yield from ("--perms", "0444", "--file", TextInput(_group(host)), "/etc/group")
    for mount in host.mounts:
        yield from _mount_words(mount)


@lru_cache(maxsize=256)
def _own_words(mounts: tuple[Mount, ...]) -> str:
    return _zero_separated((*chain.from_iterable(map(_mount_words, mounts)), *READ_ONLY_ROOT))


def _mount_words(mount: Mount) -> tuple[str, ...]:
    match mount:
        case Readable(source, dest):
            return ("--dir", dest, "--ro-bind", source, dest)
        case ReadableFile(source, dest):
            return ("--dir", _parent(dest), "--ro-bind", source, dest)
        case Writable(source, dest):
            return ("--dir", dest, "--bind", source, dest)
        case Scratch(dest):
            return ("--perms", "1777", "--tmpfs", dest)
        case Link(target, dest):
            return ("--dir", _parent(dest), "--symlink", target, dest)


def _outer() -> tuple[str, ...]:
    """For root: this must be the PID namespace, or the box would survive a kill of its parent.

    The inner box reuses its devices, because it can't create any. Setting them up takes a tenth of
    the time that a box takes.
    """
    return (
        *DEVICES,
        *("--perms", "1777", "--tmpfs", SHARED_MEMORY, "--bind", "/proc", "/proc"),
        *("--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"),
        *("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"),
        *("--clearenv", "--setenv", "PATH", "/usr/bin:/bin"),
    )


def _drop_privileges(host: Host) -> tuple[str, ...]:
    return (
        *(host.tools.setpriv, f"--reuid={host.box_uid}", f"--regid={host.box_gid}"),
        *("--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"),
    )


def _inner(plan: LaunchPlan, box: Box) -> Iterator[str]:
    yield from ("--proc", "/proc", "--unshare-all")
    if box.network is Network.FULL:
        yield "--share-net"
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
    yield from ("--chdir", plan.start, "--clearenv")
    for name, value in environment(plan).items():
        yield from ("--setenv", name, value)


@lru_cache(maxsize=256)
def _start_script(caps: Caps, ceilings: Ceilings, files: int | None) -> str:
    return " && ".join((*limits(caps, ceilings, files), START_SCRIPT))


def limits(caps: Caps, ceilings: Ceilings, files: int | None) -> Iterator[str]:
    """Yield shell commands that set the limits inside the box, where only its own processes count.

    Shells use different letters for the process limit. A shell that knows neither fails the launch.

    Cgroups or polling limit the memory of all processes; this limit holds for one process at once.
    A limit of address space doesn't work: some programs reserve a hundred times what they use.
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
