"""The gate: checks that work must pass before it counts as done, and verdicts on its tests."""

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
    paths: tuple[str, ...] = ()  # patterns; attempts skip it unless one of these files changed
    each_turn: bool = False  # it also runs after each turn with a commit
    report: str = ""  # the path of a JUnit report that it writes by itself


HELD_OUT = "Held-out checks"
"""The name of the one result that all held-out checks have together."""


class Verdict(StrEnum):
    """What follows from a finding, the worst first."""

    FAIL = "fail"  # the work goes back to its agent
    ASK = "ask"  # a person decides; if nobody reviews the work, it fails
    NOTE = "note"  # for reviewers; an agent never sees it


_FINDING_NAMES = {
    "protected": "guarded file",
    "base_test": "test of the target",
    "no_witness": "test that shows nothing new",
    "checks_nothing": "test that notices nothing",
    "canary": "planted test",
    "no_report": "missing test report",
    "forced_pass": "success with failed tests",
    "own_tool": "tool of the work",
    "test_aware": "code that notices tests",
    "survivor": "mutant that no test notices",
    "dilution": "weaker check",
    "no_grammar": "language without a grammar",
    "invalid_settings": "settings that can't be read",
}
"""What people read, where the kind of a finding doesn't say it."""


def finding_name(kind: str) -> str:
    """The kind of a finding in words."""
    return _FINDING_NAMES.get(kind, kind.replace("_", " "))


class Integrity(StrEnum):
    """How strictly the verdicts of the gate are applied."""

    REPORT = "report"  # no verdict fails the gate
    ASK = "ask"
    FAIL = "fail"  # what a person would be asked fails, and so does a changed protected path


class Protection(StrEnum):
    """The earlier form of `Integrity`, for gates in old records."""

    REPORT = "report"
    FAIL = "fail"
    RESTORE = "restore"


BY_PROTECTION = {
    Protection.REPORT: Integrity.REPORT,
    Protection.FAIL: Integrity.FAIL,
    Protection.RESTORE: Integrity.ASK,
}


class Gate(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Checks and protected paths that work must pass before it counts as done."""

    checks: tuple[Check, ...] = ()
    keep_going: bool = False
    protected: tuple[str, ...] = ()
    protection: Protection = Protection.REPORT  # counts if `integrity` is None
    integrity: Integrity | None = None
    held_out: str = ""  # a digest of checks that no agent sees; they are in no record
    mutation: bool = False  # try mutants of the changed lines
    quarantine: tuple[str, ...] = ()  # ids of tests whose failures don't count

    @property
    def strictness(self) -> Integrity:
        return self.integrity or BY_PROTECTION[self.protection]

    @property
    def has_commands(self) -> bool:
        return bool(self.checks or self.held_out)

    @property
    def fingerprint(self) -> str:
        """A digest that identifies the gate."""
        from hashlib import blake2b  # loads OpenSSL, which read-only commands don't need

        return blake2b(msgspec.json.encode(self), digest_size=8).hexdigest()
