"""Many cases as one test: it runs them all and lists every case that failed."""

import functools
import inspect
import itertools

import pytest

FAILURES_SHOWN = 50


def for_each(names, cases, *, ids=None):
    """Use it like `pytest.mark.parametrize` for cases that are cheap and can share their fixtures.

    A corpus of thousands of commands costs one test instead of thousands, and the test doesn't
    stop at its first failure. A function for `cases` is called when the test runs.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test):
        signature = inspect.signature(test)
        others = [each for each in signature.parameters.values() if each.name not in names]

        @functools.wraps(test)
        def run_all(**fixtures):
            given = list(cases() if inspect.isfunction(cases) else cases)
            assert given, "there are no cases"
            failures = []
            for label, case in zip(_labels(ids, given), given, strict=True):
                values = (case,) if len(names) == 1 else case
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
                    failures.append(f"{label}: {type(error).__name__}: {error}")
            if failures:
                pytest.fail(_listed(failures, len(given)), pytrace=False)

        run_all.__signature__ = signature.replace(parameters=others)
        del run_all.__wrapped__  # or pytest would ask for fixtures of the cases' names
        return run_all

    return decorate


def _labels(ids, cases):
    if ids is None:
        return [ascii(case)[:100] for case in cases]
    return [str(ids(case)) for case in cases] if callable(ids) else [str(each) for each in ids]


def _listed(failures, count):
    shown = list(itertools.islice(failures, FAILURES_SHOWN))
    more = [f"… and {len(failures) - len(shown)} more"] if len(failures) > len(shown) else []
    return "\n".join([f"{len(failures)} of {count} cases failed:", *shown, *more])
