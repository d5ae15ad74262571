"""The receipt of a verified tree: what was run on it, with which tools, and what came out.

It can be checked again on another machine. Its digest shows an accidental change, not a forgery:
whoever can write a receipt can also seal it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core.errors import AllstopError
from allstop.core.gate import Gate
from allstop.core.moves import ChecksDone, Finding, RunChecks
from allstop.core.text import counted
from allstop.gate.facts import Rerun, Run

VERSION = 1
LARGEST_BYTES = 64 * 1024 * 1024
UNKNOWN_IDS = "test ids unknown"


class CommandReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command and its result."""

    name: str
    run: str  # "" for a held-out check, which stays with its owner
    passed: bool
    required: bool = True
    held_out: bool = False
    code: int | None = None
    timed_out: bool = False
    timeout_s: float = 300.0
    seconds: float = 0.0
    log_digest: str = ""  # SHA-256 of everything that it printed
    tests: dict[str, str] | None = None  # the result of each test by its id; None: ids unknown
    report: str = ""  # the path of a report that the command writes by itself
    others: tuple[Rerun, ...] = ()  # more runs of it on this tree, because tests had failed


class GateReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = VERSION
    digest: str = ""  # of everything else
    run: str = ""
    work: str = ""  # the workspace: a task, a plan, a thread
    commit: str
    tree: str
    base: str = ""  # what the work was compared with
    gate: str = ""  # the fingerprint of the gate
    passed: bool
    error: str = ""
    commands: tuple[CommandReceipt, ...] = ()
    findings: tuple[Finding, ...] = ()
    tools: dict[str, str] = {}  # the version of each program, by its name
    allstop: str = ""
    platform: str = ""
    at: datetime | None = None
    quarantine: tuple[str, ...] = ()  # tests whose failures don't count


def receipt_of(
    run: str,
    move: RunChecks,
    done: ChecksDone,
    *,
    commit: str,
    base: str,
    runs: Mapping[str, Run] = {},
) -> GateReceipt:
    """The receipt of a gate's run, without the facts of the machine. `runs`: by check."""
    asked = {check.name: check for check in move.checks}
    gate = Gate(
        checks=move.checks,
        keep_going=move.keep_going,
        protected=move.protected,
        protection=move.protection,
        integrity=move.integrity,
        held_out=move.held_out,
        mutation=move.mutation,
        quarantine=move.quarantine,
    )
    return GateReceipt(
        run=run,
        work=move.workspace,
        commit=commit,
        tree=done.tree,
        base=base,
        gate=gate.fingerprint,
        passed=done.passed,
        error=done.error,
        commands=tuple(
            CommandReceipt(
                name=each.name,
                run=each.run,
                passed=each.passed,
                required=each.required,
                held_out=each.held_out,
                code=each.code,
                timed_out=each.timed_out,
                timeout_s=asked[each.name].timeout_s if each.name in asked else 0.0,
                report=asked[each.name].report if each.name in asked else "",
                seconds=each.seconds,
                log_digest=each.log_digest,
                tests=_results(runs.get(each.name)),
                others=runs[each.name].others if each.name in runs else (),
            )
            for each in done.results
        ),
        findings=done.findings,
        quarantine=move.quarantine,
    )


def _results(run: Run | None) -> dict[str, str] | None:
    if run is None or run.report is None:
        return None
    return {case.id: case.status.value for case in run.report.cases}


def sealed(receipt: GateReceipt) -> GateReceipt:
    """The receipt with its digest."""
    return replace(receipt, digest=_digest(receipt))


def is_intact(receipt: GateReceipt) -> bool:
    return receipt.digest == _digest(receipt)


def _digest(receipt: GateReceipt) -> str:
    from hashlib import sha256  # loads OpenSSL, which read-only commands don't need

    content = msgspec.json.encode(replace(receipt, digest=""), order="deterministic")
    return sha256(content).hexdigest()


def encode(receipt: GateReceipt) -> bytes:
    return msgspec.json.format(msgspec.json.encode(receipt), indent=1) + b"\n"


def decode(data: bytes, name: str) -> GateReceipt:
    """Raises AllstopError if it isn't a receipt, or was changed."""
    if len(data) > LARGEST_BYTES:
        raise AllstopError(f"{name} is too long for a receipt", code="receipt_invalid")
    try:
        receipt = msgspec.json.decode(data, type=GateReceipt)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "`allstop show --receipt TASK` prints one"
        raise AllstopError(
            f"{name} isn't a receipt: {error}", hint, code="receipt_invalid"
        ) from None
    if receipt.version != VERSION:
        hint = f"this version of Allstop reads version {VERSION}"
        message = f"{name} has version {receipt.version} of the format"
        raise AllstopError(message, hint, code="receipt_version")
    if not is_intact(receipt):
        hint = "get the receipt again: it was changed after it was written"
        raise AllstopError(f"{name} doesn't fit its digest", hint, code="receipt_changed")
    return receipt


# --- comparing ---


class Difference(Struct, frozen=True, kw_only=True):
    """What a second verification found otherwise."""

    what: str
    then: str
    now: str
    counts: bool = True  # a result; otherwise only a circumstance, such as a tool's version

    def __str__(self) -> str:
        return f"{self.what}: {self.then or 'none'} → {self.now or 'none'}"


def differences(then: GateReceipt, now: GateReceipt) -> tuple[Difference, ...]:
    """What differs, results before circumstances. Times and logs are never equal, and don't count."""
    found = [
        *_differ("tree", then.tree, now.tree),
        *_commands(then, now),
        *_tools(then.tools, now.tools),
        *_differ("platform", then.platform, now.platform, counts=False),
        *_differ("allstop", then.allstop, now.allstop, counts=False),
    ]
    return tuple(sorted(found, key=lambda each: not each.counts))


def _commands(then: GateReceipt, now: GateReceipt) -> Iterator[Difference]:
    again = {each.name: each for each in now.commands}
    for before in then.commands:
        if before.held_out:
            continue
        after = again.get(before.name)
        if after is None:
            yield Difference(what=before.name, then=_outcome(before), now="was not run")
            continue
        yield from _differ(before.name, _outcome(before), _outcome(after))
        yield from _tests(before, after)


def _tests(before: CommandReceipt, after: CommandReceipt) -> Iterator[Difference]:
    if before.tests is None or after.tests is None:
        words = [_ids(each.tests) for each in (before, after)]
        yield from _differ(f"{before.name}: tests", *words, counts=False)
        return
    for test in sorted({*before.tests, *after.tests}):
        name = f"{before.name}: {test}"
        yield from _differ(name, before.tests.get(test, ""), after.tests.get(test, ""))


def _ids(tests: Mapping[str, str] | None) -> str:
    return UNKNOWN_IDS if tests is None else counted(len(tests), "test id")


def _outcome(command: CommandReceipt) -> str:
    if command.passed:
        return "passed"
    if command.timed_out:
        return "timed out"
    return "could not be run" if command.code is None else f"exit code {command.code}"


def _tools(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*then, *now}):
        yield from _differ(name, then.get(name, ""), now.get(name, ""), counts=False)


def _differ(what: str, then: str, now: str, *, counts: bool = True) -> Iterator[Difference]:
    if then != now:
        yield Difference(what=what, then=then, now=now, counts=counts)
