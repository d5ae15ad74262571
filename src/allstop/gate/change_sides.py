"""Which changed files belong to the tests, and which ones all tests may depend on."""

import ast
import re
from collections.abc import Iterable, Sequence

from allstop.gate import runner_settings
from allstop.gate.facts import ChangedFile
from allstop.gate.path_kinds import is_code, is_test, is_test_material

_CONFIGURATION = re.compile(
    r"conftest\.py|\.?pytest\.(ini|toml)|tox\.ini|noxfile\.py|\.coveragerc|(site|user)customize\.py"
    r"|\.mocharc.*|\.rspec|(jest|vitest|vite|babel|playwright|cypress|karma)\.(config|conf|setup|workspace)\..*|\.babelrc.*"
    r"|nextest\.toml"
)
_LOCK = re.compile(
    r"(package-lock|npm-shrinkwrap)\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock"
    r"|Pipfile(\.lock)?|pdm\.lock|pylock.*\.toml|requirements.*\.(txt|in)|go\.(mod|sum|work)"
    r"|Cargo\.(lock|toml)|\.npmrc|package\.json|pyproject\.toml|setup\.(py|cfg)"
)
_DOCUMENT = re.compile(
    r".*\.(png|jpe?g|gif|svg|webp|pdf)"
    r"|(.*/)?(README|LICENSE|COPYING|NOTICE|AUTHORS|CHANGELOG|CONTRIBUTING|SECURITY)[\w.-]*"
    r"|((.*/)?(docs?|documentation|changelog\.d|\.github)/.*|[^/]*)\.(md|rst|adoc|txt)",
    re.IGNORECASE,
)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def is_configuration(path: str) -> bool:
    """Whether it only configures a runner of tests."""
    return _CONFIGURATION.fullmatch(_name(path)) is not None


def is_lock(path: str) -> bool:
    """Whether it says which packages are installed."""
    return _LOCK.fullmatch(_name(path)) is not None and not is_test_material(path)


def is_test_side(path: str) -> bool:
    """Whether it belongs to the tests as a whole: tests, fixtures, expected values, configuration."""
    return is_test(path) or is_configuration(path) or is_test_material(path)


def changes_settings(change: ChangedFile) -> bool:
    """Whether it changes the test settings of a file that has others, too."""
    if not runner_settings.is_shared(change.path):
        return False
    before, after = (change.before or "").encode(), (change.after or "").encode()
    return runner_settings.differ(change.path, before, after)


def is_document(change: ChangedFile) -> bool:
    """Whether it only tells people something.

    A text among the tests may be an expected value, and one beside the code may be its data.
    """
    names = (change.path, change.old_path) if change.old_path else (change.path,)
    return all(
        _DOCUMENT.fullmatch(path)
        and not is_code(path)
        and not is_test_side(path)
        and not is_lock(path)
        for path in names
    )


def only_documents(changes: Iterable[ChangedFile]) -> bool:
    return all(is_document(each) for each in changes)


def touches_tests(change: ChangedFile) -> bool:
    return is_test_side(change.path) or bool(change.old_path and is_test_side(change.old_path))


def shared_changes(changes: Sequence[ChangedFile], test_files: Iterable[str]) -> list[ChangedFile]:
    """Changed files that tests of other files may depend on: configuration, helpers, packages."""
    known = frozenset(test_files)
    return [
        each
        for each in changes
        if changes_settings(each)
        or is_lock(each.path)
        or (touches_tests(each) and not _is_alone(each, known))
    ]


def _is_alone(change: ChangedFile, test_files: frozenset[str]) -> bool:
    """Whether it is a file with tests, which no other imports."""
    if change.path in test_files or change.old_path in test_files:
        return change.before is not None or not _acts_when_loaded(change)
    is_plain = is_test(change.path) and not is_configuration(change.path)
    return (
        is_plain
        and not (change.before is None and _acts_when_loaded(change))
        and re.search(r"(^|[._-])(test|tests|spec)s?([._-]|$)", _name(change.path)) is not None
    )


_GO_LOADED = re.compile(r"^(func (init|TestMain)\(|var\b.*=\s*func\b)", re.MULTILINE)


def _acts_when_loaded(change: ChangedFile) -> bool:
    """Whether a test file does something when it is loaded, which may concern other tests."""
    text = change.after or ""
    if change.path.endswith(".go"):
        return _GO_LOADED.search(text) is not None
    if not change.path.endswith(".py"):
        return False  # in JavaScript each test file has a process or modules of its own
    try:
        return any(map(_acts, ast.parse(text).body))
    except (SyntaxError, ValueError, RecursionError):
        return True


def _acts(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.If():
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.AnnAssign():
            return False
        case ast.Assign(targets=targets, value=value):
            is_plain = all(isinstance(each, ast.Name | ast.Tuple) for each in targets)
            called = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            return not is_plain or bool(called & {"setattr", "exec", "eval", "patch"})
        case _:
            return True


def is_expectation(change: ChangedFile) -> bool:
    """Whether it is data of tests: a fixture, a golden file, a snapshot."""
    return touches_tests(change) and not is_code(change.path) and not is_configuration(change.path)
