"""The gate: checks and protected paths that work must pass before it counts as done."""

from enum import StrEnum

import msgspec
from msgspec import Struct


class Check(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A command that must succeed before work counts as done."""

    name: str
    run: str
    timeout_s: float = 300.0
    required: bool = True
    trusted: bool = True  # `allstop trust` covers it; otherwise it follows the sandbox settings


class Protection(StrEnum):
    """What happens when work changes a protected path."""

    REPORT = "report"
    FAIL = "fail"
    RESTORE = "restore"  # checks run with the target branch's version


class Gate(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Checks and protected paths that work must pass before it counts as done."""

    checks: tuple[Check, ...] = ()
    keep_going: bool = False
    protected: tuple[str, ...] = ()
    protection: Protection = Protection.REPORT

    @property
    def fingerprint(self) -> str:
        """A digest that identifies the gate."""
        from hashlib import blake2b  # loads OpenSSL, which read-only commands don't need

        return blake2b(msgspec.json.encode(self), digest_size=8).hexdigest()
