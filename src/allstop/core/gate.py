"""What work must pass before it counts as done."""

from enum import StrEnum

import msgspec
from msgspec import Struct


class Check(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A command that must succeed before work counts as done."""

    name: str
    run: str
    timeout_s: float = 300.0
    required: bool = True


class Protection(StrEnum):
    """What happens when work changes a path that the gate stands on."""

    REPORT = "report"
    FAIL = "fail"
    RESTORE = "restore"  # checks run with the target branch's version


class Gate(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What work must pass before it counts as done."""

    checks: tuple[Check, ...] = ()
    keep_going: bool = False
    protected: tuple[str, ...] = ()
    protection: Protection = Protection.REPORT

    @property
    def mark(self) -> str:
        """The same for the same gate, and for no other."""
        from hashlib import blake2b  # it loads OpenSSL, and whoever only looks makes no mark

        return blake2b(msgspec.json.encode(self), digest_size=8).hexdigest()
