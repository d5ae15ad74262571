"""Q21: the seccomp filter, evaluated as the kernel does."""

import errno
import struct

import pytest

from allstop.adapters.processes.sandbox.seccomp import ALLOW, ERRNO, MACHINES, filter_for

ABSENT, NO_FAMILY = ERRNO | errno.ENOSYS, ERRNO | errno.EAFNOSUPPORT
INTEL_32 = 0x40000003


def verdict(machine, number, argument=0, audit=None):
    """A small machine of our own for the few instructions there are."""
    steps = list(struct.iter_unpack("=HBBI", filter_for(machine)))
    audit = MACHINES[machine].audit if audit is None else audit
    data = struct.pack("=IIQQ", number, audit, 0, argument)
    at, used_bytes = 0, 0
    while True:
        code, then, otherwise, value = steps[at]
        at += 1
        match code:
            case 0x20:
                (used_bytes,) = struct.unpack_from("=I", data, value)
            case 0x15:
                at += then if used_bytes == value else otherwise
            case 0x35:
                at += then if used_bytes >= value else otherwise
            case 0x06:
                return value


@pytest.mark.parametrize("machine", MACHINES)
def test_q21_keyrings_rings_bpf_and_perf_events_are_not_there(machine):
    for number in (*MACHINES[machine].keys, *MACHINES[machine].kernel, 425, 426, 427):
        assert verdict(machine, number) == ABSENT


@pytest.mark.parametrize("machine", MACHINES)
def test_q21_only_ordinary_sockets_can_be_made(machine):
    made = {f for f in range(60) if verdict(machine, MACHINES[machine].socket, f) == ALLOW}

    assert made == {1, 2, 10, 16}
    assert verdict(machine, MACHINES[machine].socket, 40) == NO_FAMILY


@pytest.mark.parametrize("machine", MACHINES)
def test_q21_calls_by_other_numbers_are_not_there(machine):
    assert verdict(machine, MACHINES[machine].socket, 1, audit=INTEL_32) == ABSENT
    assert verdict("x86_64", 0x40000000 | 41, 1) == ABSENT


@pytest.mark.parametrize("machine", MACHINES)
def test_everything_else_is_allowed(machine):
    known = MACHINES[machine]
    special = {*known.keys, *known.kernel, known.socket, 425, 426, 427}

    assert {n for n in range(600) if verdict(machine, n) != ALLOW} == special


def test_a_machine_that_nobody_knows_has_no_filter():
    assert filter_for("pdp11") is None
