"""A canary: tests that must fail, planted beside the others under their names.

What reports them as passed would report a broken product as passed, too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.gate.facts import Case, CheckFacts, Facts, Report, Run, Runner
from allstop.gate.test_text import bare_name

CHANGED = "allstop-changed: "
"""Begins the failure of a planted test that has found a changed test tool."""

MOST_NAMES = 4
MOST_MODULES = 5


class Canary(Struct, frozen=True, gc=False, kw_only=True):
    """A planted file."""

    path: str
    text: str


def plant(
    runner: Runner,
    report: Report,
    files: Mapping[str, str],
    modules: Sequence[str],
    token: str,
) -> Canary | None:
    """The file to plant; None where no place for one is known.

    `files`: test files by path, beside one of which it goes. `modules`: the changed product files,
    which it loads. `token`: a word that nobody can know beforehand.
    """
    counts = {path: sum(_is_of(case, path) for case in report.cases) for path in files}
    if runner is Runner.CARGO:
        return Canary(path=f"tests/{_word(token)}.rs", text=_rust(_names(report.cases)))
    beside = max(counts, key=lambda path: (counts[path], path), default="")
    if not beside:
        return None
    names = _names([case for case in report.cases if _is_of(case, beside)] or report.cases)
    text = _text(runner, files[beside], beside, names, modules, token)
    return Canary(path=_path(beside, token), text=text) if text else None


def _is_of(case: Case, path: str) -> bool:
    return case.file == path


def _names(cases: Sequence[Case]) -> list[str]:
    names = dict.fromkeys(bare_name(case.id) for case in cases)
    return list(names)[:MOST_NAMES] or ["works"]


def _path(beside: str, token: str) -> str:
    """A name of the same form: `test_a.py` → `test_a_token.py`, `a.test.js` → `a-token.test.js`."""
    folder, _, name = beside.rpartition("/")
    stem, _, ending = name.partition(".")
    if ending in ("py", "go", "mjs", "js", "ts", "cjs") and re.search(r"_tests?$", stem):
        own = re.sub(r"_(tests?)$", rf"_{token}_\1", stem)
    else:
        own = f"{stem}{'_' if ending == 'py' else '-'}{token}"
    return f"{folder}/{own}.{ending}" if folder else f"{own}.{ending}"


def _text(
    runner: Runner,
    sibling: str,
    beside: str,
    names: Sequence[str],
    modules: Sequence[str],
    token: str,
) -> str:
    match runner:
        case Runner.PYTEST | Runner.UNITTEST:
            return _python(names, modules, only_classes=runner is Runner.UNITTEST)
        case Runner.NODE | Runner.JEST | Runner.VITEST:
            return _javascript(runner, sibling, beside, names, modules)
        case Runner.GO:
            package = re.search(r"^package\s+(\w+)", sibling, re.MULTILINE)
            return _go(package[1], names, token) if package else ""
        case _:
            return ""


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "works"


def _python(names: Sequence[str], modules: Sequence[str], *, only_classes: bool) -> str:
    loaded = "\n".join(
        f"try:\n    importlib.import_module({name!r})\nexcept Exception:\n    pass"
        for path in modules[:MOST_MODULES]
        for name in _module_names(path)
    )
    words = [word if word.startswith("test") else f"test_{word}" for word in map(_word, names)]
    functions = "\n\n".join(f"def {word}():\n    assert sum([1, 2]) == 4" for word in words)
    methods = "\n\n".join(
        f"    def {word}(self):\n        self.assertEqual(sum([1, 2]), 4)" for word in words
    )
    classes = f"class TestMore(unittest.TestCase):\n{methods}"
    watched = [name for path in modules[:MOST_MODULES] for name in _module_names(path)]
    parts = [
        "import importlib\nimport os\nimport subprocess\nimport sys\nimport unittest",
        loaded,
        "" if only_classes else functions,
        classes + (_PYTHON_TOOLS.format(code=_PYTHON_CODE, names=watched) if watched else ""),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


_PYTHON_TOOLS = """

    def test_tools(self):
        told = subprocess.run(
            [sys.executable, "-c", {code!r}, *{names}], capture_output=True, text=True, timeout=60,
            env={{**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))}},
        )
        self.fail(told.stdout or "unchanged")
"""
_PYTHON_CODE = f"""
import filecmp, importlib, math, operator, sys, unittest
try:
    import pytest
except ImportError:
    pass
TOOLS = ("_pytest", "pluggy", "unittest", "builtins", "filecmp", "math", "operator")
def known():
    found = {{}}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in TOOLS:
            for key, value in list(vars(module).items()):
                found[name, key] = value
                if isinstance(value, type) and value.__module__ == name:
                    found.update({{(name, key, k): v for k, v in list(vars(value).items())}})
    return found
before = known()
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception:
        pass
after = known()
for key, value in before.items():
    if callable(value) and after.get(key) is not value:
        print("{CHANGED}" + ".".join(key), flush=True)
        break
"""


def _module_names(path: str) -> Iterator[str]:
    if not path.endswith(".py"):
        return
    parts = path.removesuffix(".py").split("/")
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if parts and all(part.isidentifier() for part in parts):
        yield ".".join(parts[1:] if parts[0] == "src" and len(parts) > 1 else parts)


def _javascript(
    runner: Runner, sibling: str, beside: str, names: Sequence[str], modules: Sequence[str]
) -> str:
    is_module = re.search(r"^\s*(import\b|export\b)", sibling, re.MULTILINE) is not None
    up = "../" * beside.count("/") or "./"
    call = "  await import({}).catch(() => {{}});\n"
    if runner is Runner.JEST and not is_module:  # jest imports only files that it has compiled
        call = "  try {{ require({}); }} catch {{}}\n"
    loaded = "".join(
        call.format(repr(up + path))
        for path in modules[:MOST_MODULES]
        if re.search(r"\.[cm]?[jt]sx?$", path)
    )
    checks = (
        "  assert.strictEqual(1 + 2, 4);" if runner is Runner.NODE else "  expect(1 + 2).toBe(4);"
    )
    tests = "\n".join(
        f"test({name!r}, async () => {{\n{loaded}{checks}\n}});" for name in map(_quotable, names)
    )
    tools = ""
    if loaded and runner is not Runner.NODE:
        tools = _MATCHERS.replace("LOADED", loaded).replace("CHANGED", CHANGED)
    elif loaded:
        paths = [path for path in modules[:MOST_MODULES] if re.search(r"\.[cm]?js$", path)]
        code = _NODE_CODE.replace("PATHS", repr([f"./{path}" for path in paths]))
        tools = _NODE_TOOLS.replace("CODE", json.dumps(code)).replace("CHANGED", CHANGED)
    return f"{_imports(runner, is_module=is_module)}{tests}\n{tools}"


_MATCHERS = """\
test('tools', async () => {
  const own = globalThis[Symbol.for('$$jest-matchers-object')]?.matchers ?? {};
  const before = { ...own };
LOADED  const changed = Object.keys(before).find((name) => own[name] !== before[name]);
  throw new Error(changed ? `CHANGED${changed}` : 'unchanged');
});
"""
_NODE_TOOLS = """\
test('tools', async () => {
  const { execFileSync } = await import('node:child_process');
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', CODE], { encoding: 'utf8' });
  throw new Error(told.trim() ? `CHANGED${told.trim()}` : 'unchanged');
});
"""
_NODE_CODE = """\
import assert from 'node:assert';
import test from 'node:test';
const known = () => [assert, assert.strict, test].flatMap((tool) =>
  Object.getOwnPropertyNames(tool).map((name) => [name, tool[name]]));
const before = known();
const { pathToFileURL } = await import('node:url');
for (const path of PATHS) await import(pathToFileURL(path)).catch(() => {});
const after = known();
const changed = before.find(([, value], at) => typeof value === 'function' && after[at]?.[1] !== value);
if (changed) process.stdout.write(String(changed[0]));
"""


def _quotable(name: str) -> str:
    return re.sub(r"[\\'\"`\n\r]", " ", name)


def _imports(runner: Runner, *, is_module: bool) -> str:
    if runner is Runner.VITEST:
        return "import { expect, test } from 'vitest';\n"
    if runner is Runner.JEST:
        return ""
    if is_module:
        return "import test from 'node:test';\nimport assert from 'node:assert';\n"
    return "const test = require('node:test');\nconst assert = require('node:assert');\n"


def _go(package: str, names: Sequence[str], token: str) -> str:
    tests = "\n\n".join(
        f"func {name}(t *testing.T) {{\n"
        "\tif got := 1 + 2; got != 4 {\n"
        '\t\tt.Errorf("got %d, want %d", got, 4)\n\t}\n}'
        for name in dict.fromkeys(f"{_go_name(name)}{token.capitalize()}" for name in names)
    )
    return f'package {package}\n\nimport "testing"\n\n{tests}\n'


def _go_name(name: str) -> str:
    word = _word(name.split("/")[0])
    return word if word.startswith("Test") else f"Test{word.capitalize()}"


def _rust(names: Sequence[str]) -> str:
    words = dict.fromkeys(_word(name.rpartition("::")[2]) for name in names)
    return "\n".join(f"#[test]\nfn {word}() {{\n    assert_eq!(1 + 2, 4);\n}}\n" for word in words)


# --- judging ---


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        yield from _of_check(check)


def _of_check(check: CheckFacts) -> Iterator[Finding]:
    run = check.canary
    if run is None or check.own.report is None:
        return
    told = "don't change how tests are run or reported"
    if run.timed_out:
        text = f"{check.name}: doesn't end in time once a test fails"
        yield Finding(kind="canary", path=check.name, text=text, verdict=Verdict.ASK, to_agent=told)
        return
    if run.report is None:
        text = f"{check.name}: no report is made once a test fails, so failures can stay unseen"
        yield Finding(
            kind="canary", path=check.name, text=text, verdict=Verdict.FAIL, to_agent=told
        )
        return
    found = planted(run, check.canary_ids)
    changed = next((case.message for case in found if CHANGED in case.message), "")
    if changed and not _on_target(check):
        text = (
            f"{check.name}: product code changes {changed.partition(CHANGED)[2]} when it is loaded"
        )
        yield Finding(
            kind="canary", path=check.name, text=text, verdict=Verdict.FAIL, to_agent=told
        )
        return
    green = [case for case in found if not case.is_red]
    if green:
        how = "is skipped" if all(case.status == "skipped" for case in green) else "passes"
        text = f"{check.name}: a planted test that must fail {how}"
        yield Finding(
            kind="canary", path=check.name, text=text, verdict=Verdict.FAIL, to_agent=told
        )
    elif found and run.passed and "|" not in check.run:
        text = f"{check.name}: the command succeeds although a test fails"
        yield Finding(
            kind="canary", path=check.name, text=text, verdict=Verdict.FAIL, to_agent=told
        )


def planted(run: Run, ids: Sequence[str]) -> tuple[Case, ...]:
    """The planted tests that a run reports; `ids` are parts of their ids."""
    cases = run.report.cases if run.report else ()
    return tuple(case for case in cases if any(part in case.id for part in ids))


def with_planted(run: Run, alone: Run | None, ids: Sequence[str]) -> Run:
    """The run with the results that the planted tests have without the twisted ones."""
    found = planted(alone, ids) if alone else ()
    if not found:
        return run
    cases = run.report.cases if run.report else ()
    return replace(run, report=Report(cases=(*cases, *found)))


def changes_tools(check: CheckFacts) -> bool:
    """Whether a planted test has found a test tool that the product changes."""
    report = check.canary.report if check.canary else None
    return report is not None and any(CHANGED in case.message for case in report.cases)


def _on_target(check: CheckFacts) -> bool:
    report = check.canary_target.report if check.canary_target else None
    return report is not None and any(CHANGED in case.message for case in report.cases)
