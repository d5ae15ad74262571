"""How a gate ended, in words."""

from __future__ import annotations

from allstop.core.moves import CheckResult, ChecksDone
from allstop.core.text import last_line, one_line


def summary(gate: ChecksDone) -> str:
    """In a line, with why each check failed; of one that is not required, as a warning."""
    if not gate.results and gate.passed:
        return "No verification configured"
    passed = sum(check.passed for check in gate.results)
    failed = [_graded(check) for check in gate.results if not check.passed]
    fatal = [f"{f.kind.replace('_', ' ')}: {one_line(f.path)}" for f in gate.findings if f.fatal]
    text = "; ".join([f"{passed} of {len(gate.results)} passed", *failed, *fatal])
    return f"{gate.error}: {text}" if gate.error else text


def _graded(check: CheckResult) -> str:
    return why(check) if check.required else f"warning: {why(check)}"


def why(check: CheckResult) -> str:
    """Of a check that failed: its last words, whether that is news, and whether it matters."""
    said = last_line(check.output) or (
        "timed out" if check.timed_out else f"exit code {check.code}"
    )
    before = " (the target fails too)" if check.failed_before else ""
    return f"{check.name}: {said}{before}{'' if check.required else ' (not required)'}"
