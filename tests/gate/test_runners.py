"""V1: the runner that a check command starts is recognised."""

from allstop.gate.facts import Runner, TestCommand
from allstop.gate.runners import can_select, find, with_tests, without_tracebacks
from support.cases import for_each

FILES = {
    "package.json": '{"scripts": {"test": "vitest run --coverage", "test:unit": "node --test"}}',
    "Makefile": "check: lint\n\t@pytest -q\n\nlint:\n\truff check\n",
}


@for_each(
    "command, runner",
    [
        ("pytest", Runner.PYTEST),
        ("pytest -q tests", Runner.PYTEST),
        (".venv/bin/pytest -q", Runner.PYTEST),
        ("python3 -m pytest -q", Runner.PYTEST),
        ("python -W error -m pytest", Runner.PYTEST),
        ("uv run pytest -n 4", Runner.PYTEST),
        ("ruff check && py.test", Runner.PYTEST),
        ("coverage run -m pytest && coverage report", Runner.PYTEST),
        ("pip install pytest && pytest", Runner.PYTEST),
        ("make check", Runner.PYTEST),
        ("python -m unittest", Runner.UNITTEST),
        ("python3.12 -m unittest discover -s tests", Runner.UNITTEST),
        ("node --test", Runner.NODE),
        ("node --experimental-vm-modules --test src", Runner.NODE),
        ("npm run test:unit", Runner.NODE),
        ("npx jest --ci", Runner.JEST),
        ("node_modules/.bin/jest", Runner.JEST),
        ("npx vitest run", Runner.VITEST),
        ("npm test", Runner.VITEST),
        ("pnpm run test", Runner.VITEST),
        ("go vet ./... && go test ./...", Runner.GO),
        ("cargo test --all", Runner.CARGO),
        ("cargo +nightly test", Runner.CARGO),
    ],
)
def test_v1_a_command_that_starts_a_runner(command, runner):
    found = find(command, FILES)
    assert found is not None
    assert found.runner is runner


@for_each(
    "command",
    [
        "test -f x", "true", "make lint", "ruff check", "pytest-watch", "cat pytest.ini",
        "npm run build", "pytest a && pytest b",
        "pip install pytest", "go build ./...", "echo x",
    ],
)  # fmt: skip
def test_v1_a_command_whose_runner_is_unknown(command):
    assert find(command, FILES) is None


def test_v1_a_command_that_writes_its_own_report():
    assert find("./run-tests", writes_report=True).runner is Runner.OWN


@for_each(
    "command, chosen",
    [
        ("pytest", "pytest tests/test_a.py"),
        ("pytest -q -k 'a and b' tests", "pytest -q -k 'a and b' tests/test_a.py"),
        ("python -m pytest tests/test_b.py::test_x -x", "python -m pytest -x tests/test_a.py"),
        ("pytest -m slow --cov src", "pytest -m slow --cov src tests/test_a.py"),
        ("python -m unittest discover -s tests -v", "python -m unittest -v tests/test_a.py"),
        ("node --test 'tests/**/*.js'", "node --test tests/test_a.py"),
        ("npx vitest run --coverage", "npx vitest run --coverage tests/test_a.py"),
    ],
)
def test_v12_some_test_files_are_chosen(command, chosen):
    known = ("tests/test_a.py", "tests/test_b.py", "src/a.py", "slow")
    assert with_tests(find(command), ("tests/test_a.py",), known) == chosen


@for_each(
    "tests, chosen",
    [
        (("a_test.go", "in/b_test.go"), "go test -v -vet=off ./ ./in -run 'A B'"),
        (("in/b_test.go", "in/c_test.go"), "go test -v -vet=off ./in -run 'A B'"),
        (
            ("tool/d_test.go", "in/testdata/e_test.go", "_x/f_test.go"),
            "go test -v ./... -run 'A B'",
        ),
    ],
)
def test_v12_some_packages_of_go_are_chosen(tests, chosen):
    known = ("go.mod", "tool/go.mod", *tests)
    assert with_tests(find("go test -v ./... -run 'A B'"), tests, known) == chosen


@for_each("command", ["cd x && pytest", "make check", "npm test", "go test ./in", "pytest | tee x"])
def test_v12_a_command_that_runs_everything(command):
    assert not can_select(find(command, FILES))


def test_v4_the_run_with_twisted_tests_prints_no_tracebacks():
    quiet = without_tracebacks(TestCommand(runner=Runner.PYTEST, run="pytest -q"))
    same = without_tracebacks(TestCommand(runner=Runner.GO, run="go test ./..."))

    assert quiet.splitlines()[0].endswith('--tb=no"')
    assert quiet.splitlines()[1:] == ["pytest -q"]
    assert same == "go test ./..."
