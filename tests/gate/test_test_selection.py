"""V11: the command of a runner with some tests only, or without some."""

import pytest

from allstop.gate.facts import Case, CaseStatus
from allstop.gate.failed_tests.test_selection import MOST, only, without
from allstop.gate.runners import find
from support.cases import for_each

FILES = {
    "package.json": '{"scripts": {"test": "vitest run", "test:unit": "node --test", "test:e2e": "node --test e2e"}}',
    "Makefile": "check:\n\tpytest -q\n",
}
KNOWN = ("tests/test_a.py", "a.test.js", "src/lib.rs")


def case(test, file=None):
    file = test.partition("::")[0] if file is None else file
    return Case(id=test, status=CaseStatus.FAILED, file=file)


PY = case("tests/test_a.py::A::test_x[1 b]")
JS = case("a.test.js::group > adds (two)")
GO = case("example.com/a::TestSum/row", "")
RS = case("src/lib.rs::tests::adds")


@for_each(
    "command, test, chosen",
    [
        ("pytest -q tests", PY, "pytest -q 'tests/test_a.py::A::test_x[1 b]'"),
        ("uv run pytest -x", PY, "uv run pytest -x 'tests/test_a.py::A::test_x[1 b]'"),
        ("python -m unittest discover -s tests", case("tests/test_a.py::test_a.A::test_x"), "python -m unittest discover -s tests -k '*.A.test_x'"),
        ("node --test", JS, "node --test '--test-name-pattern=(?:^| )(?:group|adds\\ \\(two\\))$' a.test.js"),
        ("npm run test:unit", JS, "npm run test:unit -- '--test-name-pattern=(?:^| )(?:group|adds\\ \\(two\\))$' a.test.js"),
        ("npx jest --ci", JS, "npx jest '--testNamePattern=^(?:group(?: > | )adds\\ \\(two\\))$' --ci a.test.js"),
        ("npm test", JS, "npm test -- '--testNamePattern=^(?:group(?: > | )adds\\ \\(two\\))$' a.test.js"),
        ("go test ./...", GO, "go test ./... -count=1 -run='^(TestSum)$'"),
        ("cargo test --all", RS, "cargo test --all -- --exact tests::adds"),
        ("cargo test -- --test-threads 1", RS, "cargo test -- --test-threads 1 --exact tests::adds"),
    ],
)  # fmt: skip
def test_v11_some_tests_only(command, test, chosen):
    assert only(find(command, FILES), [test], KNOWN) == chosen


@for_each(
    "command, test",
    [
        ("make check", PY), ("ruff check && pytest", PY), ("npm run test:e2e", JS), ("cd a && pytest", PY),
        ("pytest", case("tests/test_a.py")), ("cargo test", case("doc-tests a::src/lib.rs - b", "")),
        ("go test ./... -args -x", GO), ("pytest | tee out", PY),
    ],
)  # fmt: skip
def test_v11_tests_that_cannot_be_selected(command, test):
    assert only(find(command, FILES), [test], KNOWN) is None


def test_v11_many_failing_tests_are_no_accident():
    tests = [case(f"tests/test_a.py::test_{n}") for n in range(MOST + 1)]

    assert only(find("pytest"), tests, KNOWN) is None
    assert only(find("pytest"), tests[:-1], KNOWN) is not None


@for_each(
    "command, test, rest",
    [
        ("make check", PY, "export ALLSTOP_LEFT_OUT='tests/test_a.py::A::test_x[1 b]'\nmake check"),
        ("python -m unittest", case("test_a.py::A::test_x"), "export ALLSTOP_LEFT_OUT=test_a.py::A.test_x\npython -m unittest"),
        ("node --test", JS, "node '--test-skip-pattern=(?:^| )(?:adds\\ \\(two\\))$'"),
        ("npx vitest run", JS, "npx vitest run '--testNamePattern=^(?!(?:group(?: > | )adds\\ \\(two\\))$)'"),
        ("go test ./...", GO, "go test ./... -skip='^TestSum$/^row$'"),
        ("cargo test", RS, "cargo test -- --exact --skip tests::adds"),
    ],
)  # fmt: skip
def test_v11_all_tests_but_one(command, test, rest):
    if command == "node --test":
        rest = rest.replace("node ", "node --test ")
    assert without(find(command, FILES), [test]) == rest


@pytest.mark.parametrize("command", ["cargo test -- --nocapture", "npm run test:e2e"])
def test_v11_commands_that_can_leave_nothing_out(command):
    assert without(find(command, FILES), [RS if "cargo" in command else JS]) is None
