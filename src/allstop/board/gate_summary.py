"""A one-line summary of a gate's result."""

from allstop.core.moves import CheckResult, ChecksDone
from allstop.core.text import counted, last_line, one_line


def summary(gate: ChecksDone) -> str:
    """The result with the reason of each failed check; optional checks count as warnings."""
    if not gate.results and gate.passed:
        return "No verification configured"
    passed = sum(check.passed for check in gate.results)
    failed = [_describe(check) for check in gate.results if not check.passed]
    fatal = [f"{f.kind.replace('_', ' ')}: {one_line(f.path)}" for f in gate.findings if f.fatal]
    text = "; ".join([f"{passed} of {len(gate.results)} passed", *failed, *fatal])
    return f"{gate.error}: {text}" if gate.error else text


def _describe(check: CheckResult) -> str:
    return describe_failure(check) if check.required else f"warning: {describe_failure(check)}"


def describe_failure(check: CheckResult) -> str:
    """The last output line of a failed check, and whether the target fails too."""
    said = last_line(check.output) or (
        "timed out" if check.timed_out else f"exit code {check.code}"
    )
    before = " (the target fails too)" if check.failed_before else _on_target(check)
    return f"{check.name}: {said}{before}{'' if check.required else ' (not required)'}"


def _on_target(check: CheckResult) -> str:
    count = len(check.fails_on_target)
    return f" ({counted(count, 'failing test')} fail on the target too)" if count else ""
