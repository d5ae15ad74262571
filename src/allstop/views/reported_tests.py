"""The tests that checks have reported, as people see them."""

from msgspec import Struct

from allstop.gate.facts import CaseStatus
from allstop.gate.receipt import GateReceipt

MOST_TESTS = 100
"""How many tests that did not pass are listed; the receipt has all."""

_BADNESS: dict[str, int] = {CaseStatus.PASSED: 0, CaseStatus.SKIPPED: 1}
_RED = 2


class ReportedTest(Struct, frozen=True, gc=False, kw_only=True):
    """One test, and how it ended."""

    id: str
    result: str  # passed, failed, error, skipped


class ReportedTests(Struct, frozen=True, kw_only=True):
    """The tests that a check has reported."""

    passed: int
    red: int  # failed, or ended with an error
    skipped: int
    others: tuple[ReportedTest, ...]  # those that did not pass, the red ones first
    more: int  # that did not pass beyond these


def reported_tests(receipt: GateReceipt | None, check: str) -> ReportedTests | None:
    """The tests of a check; None if they are unknown."""
    commands = receipt.commands if receipt is not None else ()
    tests = next((each.tests for each in commands if each.name == check), None)
    if tests is None:
        return None
    others = [
        ReportedTest(id=test, result=result)
        for test, result in sorted(tests.items(), key=lambda each: (-_badness(each[1]), each[0]))
        if _badness(result)
    ]
    red = sum(_badness(each.result) == _RED for each in others)
    return ReportedTests(
        passed=len(tests) - len(others),
        red=red,
        skipped=len(others) - red,
        others=tuple(others[:MOST_TESTS]),
        more=max(0, len(others) - MOST_TESTS),
    )


def results_by_test(receipt: GateReceipt | None) -> dict[str, str]:
    """The result of each test, by its id without parameters; the worst one counts."""
    found: dict[str, str] = {}
    for command in receipt.commands if receipt is not None else ():
        for test, result in (command.tests or {}).items():
            name = test.partition("[")[0]
            found[name] = max(found.get(name, result), result, key=_badness)
    return found


def _badness(result: str) -> int:
    """Red before skipped before passed."""
    return _BADNESS.get(result, _RED)
