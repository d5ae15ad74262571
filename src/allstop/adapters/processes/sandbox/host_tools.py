"""The host's tools, limits and system folders that boxes are made of, looked up once."""

import os
import resource
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.processes.sandbox.mounts import Link, Mount, Readable

BOX_UID = 64321
"""The user in the box if this program runs as root: it owns no other files."""

STANDARD_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
ROOTS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

# Never all of /etc: it may hold keys and passwords.
ETC_FILES = (
    "gai.conf", "host.conf", "hosts", "ld.so.cache", "localtime", "lsb-release", "mime.types",
    "nsswitch.conf", "os-release", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "protocols",
    "resolv.conf", "services", "ssl/cert.pem", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
ETC_FOLDERS = (
    "alternatives", "ca-certificates/extracted", "crypto-policies", "fonts", "java*-openjdk",
    "pki/ca-trust", "pki/tls/certs", "ssl/certs",
)  # fmt: skip


NEEDED = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
"""The entries of /etc that every program needs.

Without nsswitch.conf, names are looked up in files.
"""


class Tools(Struct, frozen=True, kw_only=True):
    """The programs that make a box; "" if one isn't installed."""

    bwrap: str
    setpriv: str


class Ceilings(Struct, frozen=True, kw_only=True):
    """The hard limits of this process; a child can't get more."""

    processes: int | None
    memory: int | None
    file: int | None


class Host(Struct, frozen=True, kw_only=True):
    tools: Tools
    ceilings: Ceilings
    machine: str  # the processor architecture
    uid: int
    gid: int
    home: str
    path: tuple[str, ...]  # the PATH of the user
    mounts: tuple[Mount, ...]  # system folders that every box has
    copies: tuple[str, ...]  # small files: copying costs a tenth of mounting

    @property
    def is_root(self) -> bool:
        return self.uid == 0

    @property
    def box_uid(self) -> int:
        return BOX_UID if self.is_root else self.uid

    @property
    def box_gid(self) -> int:
        return BOX_UID if self.is_root else self.gid


@cache
def this_host() -> Host:
    files = [Path("/etc", name) for name in ETC_FILES]
    return Host(
        tools=Tools(bwrap=_tool("bwrap"), setpriv=_tool("setpriv")),
        ceilings=Ceilings(
            processes=_ceiling(resource.RLIMIT_NPROC),
            memory=_ceiling(resource.RLIMIT_DATA),
            file=_ceiling(resource.RLIMIT_FSIZE),
        ),
        machine=os.uname().machine,
        uid=os.geteuid(),
        gid=os.getegid(),
        home=_home(),
        path=tuple(filter(_is_for_boxes, os.environ.get("PATH", "").split(os.pathsep))),
        mounts=(Readable("/usr", "/usr"), *_roots(), *_etc_folders(), *_etc_links(files)),
        copies=tuple(str(file) for file in files if _is_copied(file)),
    )


def sparse(host: Host) -> Host:
    """Return the host with only the mounts and files that every program needs."""
    return replace(
        host,
        mounts=tuple(mount for mount in host.mounts if _is_needed(mount.dest)),
        copies=tuple(filter(_is_needed, host.copies)),
    )


def _is_needed(place: str) -> bool:
    return not place.startswith("/etc/") or place in NEEDED


def _tool(name: str) -> str:
    return shutil.which(name, path=os.pathsep.join((*STANDARD_PATH, "/usr/sbin", "/sbin"))) or ""


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # the user has no entry in passwd
        return "/nonexistent"


def _is_for_boxes(folder: str) -> bool:
    """Shims of version managers work only where the whole manager is."""
    return folder.startswith("/") and not folder.endswith("/shims")


def _ceiling(kind: int) -> int | None:
    hard = resource.getrlimit(kind)[1]
    return None if hard == resource.RLIM_INFINITY else hard


def _roots() -> Iterator[Mount]:
    for root in map(Path, ROOTS):
        if root.is_symlink():
            yield Link(str(root.readlink()), str(root))
        elif root.is_dir():
            yield Readable(str(root), str(root))


def _etc_folders() -> Iterator[Mount]:
    for pattern in ETC_FOLDERS:
        for folder in Path("/etc").glob(pattern):
            if folder.is_dir():
                yield Readable(str(folder), str(folder))


def _etc_links(files: list[Path]) -> Iterator[Mount]:
    return (Link(str(file.resolve()), str(file)) for file in files if _leads_to_usr(file))


def _is_copied(file: Path) -> bool:
    return file.is_file() and os.access(file, os.R_OK) and not _leads_to_usr(file)


def _leads_to_usr(file: Path) -> bool:
    return file.is_symlink() and file.resolve().is_relative_to("/usr")
