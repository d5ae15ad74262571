"""Flaky tests, by their history: on one tree they failed and they passed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from allstop.gate.facts import CaseStatus
from allstop.gate.receipt import GateReceipt

_RED = frozenset({CaseStatus.FAILED, CaseStatus.ERROR})
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class FlakyTest(Struct, frozen=True, gc=False, kw_only=True):
    """A test whose result doesn't depend on the tree alone."""

    id: str
    check: str
    trees: int  # on which it both failed and passed
    failed: int  # how often, on any tree
    passed: int
    last_at: datetime | None  # the latest of these results


class _Results(Struct, gc=False):
    """The results of one test on one tree."""

    passed: int = 0
    failed: int = 0
    last_at: datetime | None = None


def flaky_tests(receipts: Iterable[GateReceipt]) -> tuple[FlakyTest, ...]:
    """The tests that failed and passed on one tree, the least reliable first."""
    history: defaultdict[tuple[str, str], dict[str, _Results]] = defaultdict(dict)
    for receipt in {each.digest: each for each in receipts}.values():
        for command in receipt.commands:
            for test, status in (command.tests or {}).items():
                by_tree = history[command.name, test]
                _count(by_tree.setdefault(receipt.tree, _Results()), status, receipt.at)
    found = [_flaky(check, test, by_tree) for (check, test), by_tree in history.items()]
    return tuple(sorted(filter(None, found), key=lambda each: (-each.trees, -each.failed, each.id)))


def _count(results: _Results, status: str, at: datetime | None) -> None:
    if status in _RED:
        results.failed += 1
    elif status == CaseStatus.PASSED:
        results.passed += 1
    if at is not None:
        results.last_at = max(results.last_at or LONG_AGO, at)


def _flaky(check: str, test: str, by_tree: Mapping[str, _Results]) -> FlakyTest | None:
    trees = sum(bool(each.passed and each.failed) for each in by_tree.values())
    if not trees:
        return None
    return FlakyTest(
        id=test,
        check=check,
        trees=trees,
        failed=sum(each.failed for each in by_tree.values()),
        passed=sum(each.passed for each in by_tree.values()),
        last_at=max((each.last_at for each in by_tree.values() if each.last_at), default=None),
    )
