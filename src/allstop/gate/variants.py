"""Variants of a tree for further runs: the target's tests with new code, and the reverse."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from allstop.gate import inline_tests
from allstop.gate.change_sides import changes_settings, shared_changes, touches_tests
from allstop.gate.facts import ChangedFile, Report, Variant
from allstop.gate.runner_settings import with_test_settings


def base_tests(changes: Sequence[ChangedFile], target: Report) -> Variant | None:
    """The work with the target's tests; None if no test of the target's could turn out otherwise."""
    swapped = tuple(_paths(each for each in changes if touches_tests(each)))
    documented = inline_tests.with_docs_of_before(changes, target)
    files = _settings(changes) | documented | _spliced(changes, documented)
    test_files = {case.file for case in target.cases if case.file}
    shared = shared_changes(changes, test_files)
    edited = [each for each in changes if touches_tests(each) and each.before is not None]
    if not edited and not shared and not files:
        return None
    if shared or files:
        return Variant(swapped=swapped, files=files)
    if test_files:
        tests = sorted({each.old_path or each.path for each in edited} & test_files)
    else:  # reports of Go name no files, and an added one can change the tests of its package
        tests = sorted({each.old_path or each.path for each in changes if touches_tests(each)})
    return Variant(swapped=swapped, tests=tuple(tests)) if tests else Variant(swapped=swapped)


def _spliced(changes: Sequence[ChangedFile], files: Mapping[str, str]) -> dict[str, str]:
    """Rust's test modules as on the target, in files that may have the target's docs already."""
    latest = [replace(each, after=files.get(each.path, each.after)) for each in changes]
    return inline_tests.with_modules_of_before(latest)


def witness(changes: Sequence[ChangedFile], test_files: Iterable[str]) -> Variant:
    """The target's code with the tests of the work."""
    swapped = tuple(
        _paths(each for each in changes if touches_tests(each) or changes_settings(each))
    )
    return Variant(
        swapped=swapped,
        files=inline_tests.with_tests_of_after(changes),
        tests=tuple(sorted(set(test_files))) or None,
    )


def _paths(changes: Iterable[ChangedFile]) -> Iterable[str]:
    for each in changes:
        yield each.path
        if each.old_path:
            yield each.old_path


def _settings(changes: Sequence[ChangedFile]) -> dict[str, str]:
    """Files with test settings among others: those settings as on the target."""
    return {
        each.path: with_test_settings(each.path, each.before or "", each.after or "")
        for each in changes
        if changes_settings(each) and each.after is not None and each.is_readable
    }
