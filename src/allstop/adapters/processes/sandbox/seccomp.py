"""System calls that a box has no use for and that lead around its walls: a filter for bwrap.

Namespaces don't hold everything. A keyring is inherited with all that is in it, a socket to the
machine below this one (vsock) needs no network, and a ring of the kernel's makes sockets without
the call that could be looked at.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

ALLOW = 0x7FFF0000
ERRNO = 0x00050000  # with the number of the error in its lower half
LOAD, IS, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

RINGS = (425, 426, 427)  # io_uring_setup, _enter, _register: the same everywhere
OTHER_CALLS = 0x40000000  # a second set of calls that x86-64 kernels may have
FAMILIES = (1, 2, 10, 16)  # unix, internet, internet 6, netlink


class Machine(NamedTuple):
    audit: int
    socket: int
    keys: tuple[int, int, int]  # add_key, request_key, keyctl


_GENERIC = (198, (217, 218, 219))
MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(0xC000003E, 41, (248, 249, 250)),
    "aarch64": Machine(0xC00000B7, *_GENERIC),
    "riscv64": Machine(0xC00000F3, *_GENERIC),
}


class _Step(NamedTuple):
    code: int
    value: int
    then: int = 0  # steps to leave out
    otherwise: int = 0


def filter_for(machine: str) -> bytes | None:
    """What bwrap's --seccomp reads; None for a machine whose calls we don't know.

    What is refused says that this kernel has no such thing, so that programs do without it.
    Programs for another kind of processor are refused whole: their calls have other numbers.
    """
    known = MACHINES.get(machine)
    if known is None:
        return None
    absent, unknown_family = _refuse(errno.ENOSYS), _refuse(errno.EAFNOSUPPORT)
    allow = _Step(RETURN, ALLOW)
    refused = (*known.keys, *RINGS)
    return _spelled(
        (
            _Step(LOAD, ARCHITECTURE),
            *_unless(known.audit, absent),
            _Step(LOAD, NUMBER),
            _Step(AT_LEAST, OTHER_CALLS, then=0, otherwise=1),
            absent,
            *(step for call in refused for step in (_Step(IS, call, otherwise=1), absent)),
            *_unless(known.socket, allow),
            _Step(LOAD, FIRST_ARGUMENT),
            *(step for family in FAMILIES for step in (_Step(IS, family, otherwise=1), allow)),
            unknown_family,
        )
    )


def _refuse(error: int) -> _Step:
    return _Step(RETURN, ERRNO | error)


def _unless(value: int, step: _Step) -> tuple[_Step, _Step]:
    return _Step(IS, value, then=1), step


def _spelled(steps: Sequence[_Step]) -> bytes:
    return b"".join(
        struct.pack("=HBBI", step.code, step.then, step.otherwise, step.value) for step in steps
    )
