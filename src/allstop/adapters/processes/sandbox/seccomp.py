"""A seccomp filter for bwrap: refuses system calls that get around the box's namespaces.

Namespaces don't isolate everything. A keyring is inherited with its keys, a vsock to the host of a
virtual machine needs no network, and io_uring creates sockets without the `socket` call. `bpf` and
`perf_event_open` reach large parts of the kernel that no agent needs.
"""

import errno
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

ALLOW = 0x7FFF0000
ERRNO = 0x00050000  # the lower half is the errno
LOAD, EQUALS, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

IO_URING_CALLS = (425, 426, 427)  # io_uring_setup, _enter, _register: the same on every machine
X32_CALLS = 0x40000000  # the x32 calls of x86-64 kernels
ADDRESS_FAMILIES = (1, 2, 10, 16)  # unix, internet, internet 6, netlink


class Machine(NamedTuple):
    audit: int
    socket: int
    keys: tuple[int, int, int]  # add_key, request_key, keyctl
    kernel: tuple[int, int]  # bpf, perf_event_open


_GENERIC = (198, (217, 218, 219), (280, 241))
MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(0xC000003E, 41, (248, 249, 250), (321, 298)),
    "aarch64": Machine(0xC00000B7, *_GENERIC),
    "riscv64": Machine(0xC00000F3, *_GENERIC),
}


class _Step(NamedTuple):
    code: int
    value: int
    then: int = 0  # steps to skip
    otherwise: int = 0


def filter_for(machine: str) -> bytes | None:
    """Return the program for bwrap's --seccomp; None for a machine whose call numbers are unknown.

    Refused calls fail as if the kernel lacked them, so that programs do without them. Programs of
    another architecture are refused completely: their calls have other numbers.
    """
    known = MACHINES.get(machine)
    if known is None:
        return None
    absent, unknown_family = _refuse(errno.ENOSYS), _refuse(errno.EAFNOSUPPORT)
    allow = _Step(RETURN, ALLOW)
    refused = (*known.keys, *known.kernel, *IO_URING_CALLS)
    return _encode(
        (
            _Step(LOAD, ARCHITECTURE),
            *_unless(known.audit, absent),
            _Step(LOAD, NUMBER),
            _Step(AT_LEAST, X32_CALLS, then=0, otherwise=1),
            absent,
            *(step for call in refused for step in (_Step(EQUALS, call, otherwise=1), absent)),
            *_unless(known.socket, allow),
            _Step(LOAD, FIRST_ARGUMENT),
            *(
                step
                for family in ADDRESS_FAMILIES
                for step in (_Step(EQUALS, family, otherwise=1), allow)
            ),
            unknown_family,
        )
    )


def _refuse(error: int) -> _Step:
    return _Step(RETURN, ERRNO | error)


def _unless(value: int, step: _Step) -> tuple[_Step, _Step]:
    return _Step(EQUALS, value, then=1), step


def _encode(steps: Sequence[_Step]) -> bytes:
    return b"".join(
        struct.pack("=HBBI", step.code, step.then, step.otherwise, step.value) for step in steps
    )
