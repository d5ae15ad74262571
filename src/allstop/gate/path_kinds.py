"""Paths: patterns that match them, and which of them are tests or configure a runner of tests."""

import re
from collections.abc import Sequence
from functools import lru_cache

from allstop.gate.runner_settings import MARK


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches this path or a folder that contains it.

    `*` and `?` match within a folder, `**` across folders; patterns are relative to the root.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


def matches_change(path: str, patterns: Sequence[str], *, tests_differently: bool) -> bool:
    """Like `matches`, also for patterns that protect only the test settings of a file."""
    if matches(path, patterns):
        return True
    marked = [each.removesuffix(MARK) for each in patterns if each.endswith(MARK)]
    return tests_differently and matches(path, marked)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    body = pattern.removeprefix("./").strip("/")
    while body.endswith("/**"):
        body = body.removesuffix("/**")
    parts = [part for part in re.split(r"(\*\*/|\*\*|\*|\?|\[[^]/]+\])", body) if part]
    return re.compile("".join(map(_translated, parts)) + "(/.*)?", re.DOTALL)


def _translated(part: str) -> str:
    if part in _GLOB:
        return _GLOB[part]
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inner = part[1:-1]
        negated = inner[0] in "!^" and len(inner) > 1
        chars = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
        spelled = f"[{'^/' if negated else ''}{chars}]"
        return spelled if _is_pattern(spelled) else re.escape(part)
    return re.escape(part)


_GLOB = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


_TEST_FOLDER = re.compile(
    r"(^|/)(tests?|__tests__|specs?|testing|e2e|cypress|testdata|__(fixtures|mocks|snapshots)__)/",
    re.IGNORECASE,
)
_TEST_DATA = re.compile(
    r"(^|/)(test[_-]data|fixtures|snapshots|goldens?)/|\.(snap|golden|ambr|approved(\.\w+)?)$",
    re.IGNORECASE,
)
_TEST_NAME = re.compile(
    r"(test_[^/]*\.py|[^/]*[_-](test|tests|spec)\.\w+|[^/]*\.(test|tests|spec|e2e|cy)\.\w+"
    r"|[^/]*(Test|Tests|Spec|TestCase|IT)\.(java|kt|kts|scala|groovy|cs|fs|vb|php|swift|m|mm)"
    r"|[^/]*\.(t|feature|bats)|[^/]*_test\.\w+|tests?\.\w+)"
)
_CODE = re.compile(
    r".*\.(py|pyi?|jsx?|tsx?|mjs|cjs|mts|cts|vue|go|rs|rb|java|kt|kts|scala|groovy|cs|fs|vb|php"
    r"|swift|m|mm|c|cc|cpp|cxx|h|hpp|ex|exs|erl|clj|cljs|hs|ml|lua|pl|t|r|jl|dart|nim|zig|sh|bats"
    r"|feature|sql)",
    re.IGNORECASE,
)
NO_TESTS = frozenset({"__init__.py", "conftest.py"})
_RUNNER_FILE = re.compile(
    r"conftest\.py|\.?pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|package\.json|noxfile\.py"
    r"|\.coveragerc|(site|user)customize\.py|pytest\.py|\.mocharc.*|\.rspec|phpunit\.xml.*|.*\.pth"
    r"|(jest|vitest|playwright|cypress|karma|babel)\.(config|conf|setup|workspace)\..*"
)


def is_test(path: str) -> bool:
    """Whether it is a test by its name, or source code in a folder of tests."""
    name = path.rpartition("/")[2]
    if name in NO_TESTS:
        return False
    if _TEST_NAME.fullmatch(name):
        return _CODE.fullmatch(name) is not None
    return bool(_TEST_FOLDER.search(path)) and _CODE.fullmatch(name) is not None


def is_code(path: str) -> bool:
    return _CODE.fullmatch(path.rpartition("/")[2]) is not None


def is_test_material(path: str) -> bool:
    """Whether it belongs to tests, such as a fixture, and doesn't configure their runner."""
    if _RUNNER_FILE.fullmatch(path.rpartition("/")[2]):
        return False
    if is_test(path) or _TEST_FOLDER.search(path):
        return True
    return _TEST_DATA.search(path) is not None and not is_code(path)
