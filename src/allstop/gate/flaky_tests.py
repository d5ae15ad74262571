"""Flaky tests, by their history: on one tree they failed and they passed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from allstop.gate.facts import CaseStatus
from allstop.gate.receipt import CommandReceipt, GateReceipt

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
    passes_alone: bool = False  # it failed whenever other tests ran with it: their order matters
    quarantined: bool = False


class _Results(Struct, gc=False):
    """The results of one test on one tree."""

    passed: int = 0
    passed_alone: int = 0
    failed: int = 0
    failed_alone: int = 0
    last_at: datetime | None = None

    @property
    def is_mixed(self) -> bool:
        return bool((self.passed or self.passed_alone) and (self.failed or self.failed_alone))

    @property
    def passes_alone(self) -> bool:
        return bool(self.passed_alone and self.failed and not (self.passed or self.failed_alone))


def flaky_tests(
    receipts: Iterable[GateReceipt], quarantine: Collection[str] = ()
) -> tuple[FlakyTest, ...]:
    """The tests that failed and passed on one tree, the least reliable first."""
    history: defaultdict[tuple[str, str], dict[str, _Results]] = defaultdict(dict)
    for receipt in {each.digest: each for each in receipts}.values():
        for command in receipt.commands:
            for test, status, is_alone in _results(command):
                by_tree = history[command.name, test]
                results = by_tree.setdefault(receipt.tree, _Results())
                _count(results, status, receipt.at, is_alone=is_alone)
    found = [
        _flaky(check, test, by_tree, is_quarantined=test in quarantine)
        for (check, test), by_tree in history.items()
    ]
    return tuple(sorted(filter(None, found), key=lambda each: (-each.trees, -each.failed, each.id)))


def unknown_tests(receipts: Iterable[GateReceipt], ids: Iterable[str]) -> tuple[str, ...]:
    """Those ids that no check has reported."""
    known = {
        test
        for receipt in receipts
        for command in receipt.commands
        for test, _, _ in _results(command)
    }
    return tuple(test for test in dict.fromkeys(ids) if test not in known)


def _results(command: CommandReceipt) -> Iterator[tuple[str, str, bool]]:
    for test, status in (command.tests or {}).items():
        yield test, status, False
    for other in command.others:
        for test, status in other.tests.items():
            yield test, status, other.alone


def _count(results: _Results, status: str, at: datetime | None, *, is_alone: bool) -> None:
    if status in _RED:
        results.failed += not is_alone
        results.failed_alone += is_alone
    elif status == CaseStatus.PASSED:
        results.passed += not is_alone
        results.passed_alone += is_alone
    if at is not None:
        results.last_at = max(results.last_at or LONG_AGO, at)


def _flaky(
    check: str, test: str, by_tree: Mapping[str, _Results], *, is_quarantined: bool
) -> FlakyTest | None:
    mixed = [each for each in by_tree.values() if each.is_mixed]
    if not mixed:
        return None
    return FlakyTest(
        id=test,
        check=check,
        trees=len(mixed),
        failed=sum(each.failed + each.failed_alone for each in by_tree.values()),
        passed=sum(each.passed + each.passed_alone for each in by_tree.values()),
        last_at=max((each.last_at for each in by_tree.values() if each.last_at), default=None),
        passes_alone=all(each.passes_alone for each in mixed),
        quarantined=is_quarantined,
    )
