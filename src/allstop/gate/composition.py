"""Composes the judges: which findings a change has, and which of them fail the gate."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from allstop.core.gate import Integrity, Verdict
from allstop.core.moves import Finding
from allstop.gate import (
    answer_tables,
    base_tests,
    canary,
    changed_results,
    missing_tests,
    own_tools,
    red_witness,
    twisted_tests,
)
from allstop.gate.facts import Facts
from allstop.gate.failed_tests import reruns

MAX_FINDINGS = 200

_JUDGES = (
    missing_tests.findings,
    base_tests.findings,
    red_witness.findings,
    changed_results.findings,
    answer_tables.findings,
    canary.findings,
    twisted_tests.findings,
    own_tools.findings,
    reruns.findings,
)

_ALWAYS_FAIL = frozenset({"conflict_markers", "invalid_settings"})
"""Findings of a broken tree, whatever the settings say."""


def judged(facts: Facts) -> Iterator[Finding]:
    """What all judges say about the runs and the changed files."""
    for judge in _JUDGES:
        yield from judge(facts)


def settle(
    found: Iterable[Finding], strictness: Integrity, *, unreviewed: bool
) -> tuple[Finding, ...]:
    """The findings with the consequence of each, the worst first; too many notes are left out."""
    settled = [
        replace(finding, fatal=_is_fatal(finding, strictness, unreviewed=unreviewed))
        for finding in dict.fromkeys(found)
    ]
    settled.sort(key=_rank)
    return tuple(settled[:MAX_FINDINGS])


def _is_fatal(finding: Finding, strictness: Integrity, *, unreviewed: bool) -> bool:
    if finding.verdict is Verdict.FAIL and finding.kind in _ALWAYS_FAIL:
        return True
    if strictness is Integrity.REPORT:
        return False
    if finding.verdict is Verdict.ASK:
        return unreviewed or strictness is Integrity.FAIL
    return finding.verdict is Verdict.FAIL


def _rank(finding: Finding) -> tuple[bool, int]:
    verdict = finding.verdict or Verdict.NOTE
    return not finding.fatal, tuple(Verdict).index(verdict)
