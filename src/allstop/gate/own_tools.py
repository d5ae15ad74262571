"""Own tools of the work: an interpreter, a runner or a script that its checks would use."""

import json
import re
from collections.abc import Iterator, Mapping

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.gate.facts import ChangedFile, CheckFacts, Facts, Runner
from allstop.gate.intent import is_declared
from allstop.gate.test_text import is_product

_PYTHON = frozenset({Runner.PYTEST, Runner.UNITTEST})
_JAVASCRIPT = frozenset({Runner.NODE, Runner.JEST, Runner.VITEST})

_SHADOWS = re.compile(
    r"(?:src/|lib/|tests?/)?(?:_?pytest|py\.test|unittest|pluggy|_pytest|coverage|xdist|iniconfig|doctest"
    r"|traceback|importlib|ast|inspect|runpy|trace)(?:\.py|/.*\.py|\.pyc|\.so)"
)
_STARTUP = re.compile(
    r"(?:.*/)?(?:sitecustomize|usercustomize)\.pyc?|(?:.*/)?[^/]*\.pth|(?:.*/)?pyvenv\.cfg"
)
_COMPILED = re.compile(r"(?:.*/)?__pycache__/.*|.*\.pyc")
_LIBRARY = re.compile(
    r"(?:abc|argparse|array|ast|asyncio|base64|binascii|bisect|builtins|calendar|cmath|codecs|collections"
    r"|concurrent|configparser|contextlib|copy|csv|ctypes|dataclasses|datetime|decimal|difflib|dis|doctest"
    r"|enum|errno|filecmp|fnmatch|fractions|ftplib|functools|gc|glob|gzip|hashlib|heapq|hmac|html|http|inspect"
    r"|io|itertools|json|linecache|locale|logging|math|mimetypes|multiprocessing|numbers|operator|os|pathlib"
    r"|pickle|platform|pprint|random|re|reprlib|sched|secrets|select|shlex|shutil|signal|socket|sqlite3|ssl"
    r"|stat|statistics|string|struct|subprocess|sys|sysconfig|tempfile|textwrap|threading|time|timeit|tokenize"
    r"|tomllib|traceback|types|typing|unicodedata|urllib|uuid|warnings|weakref|xml|zipfile|zlib|zoneinfo)"
    r"(?:\.py|/__init__\.py)"
)
_PLUGIN = re.compile(r"(?:.*/)?[^/]*\.(?:dist-info|egg-info)/entry_points\.txt")
_MODULES = re.compile(
    r"(?:.*/)?node_modules/.*|(?:.*/)?\.npmrc|(?:.*/)?\.yarnrc(?:\.yml)?|(?:.*/)?\.pnpmfile\.cjs"
)
_PROGRAM = re.compile(
    r"(?:.*/)?(?:bin|\.bin|scripts?)/(?:python[\d.]*|pytest|py\.test|node|npm|npx|jest|vitest|go|cargo|rustc|make|sh|bash)"
    r"|(?:python[\d.]*|pytest|node|npm|npx|jest|vitest|go|cargo|make)"
)
_CARGO = re.compile(r"(?:.*/)?\.cargo/config(?:\.toml)?")
_CARGO_TOOL = re.compile(r"^\s*(?:\[alias\]|runner|rustc|rustc-wrapper|rustc-workspace-wrapper|rustdoc|linker|rustflags|test)\b", re.MULTILINE)  # fmt: skip
_GO = re.compile(r"^\s*(?:replace\b.*\btestify|toolchain\b)", re.MULTILINE)
_TEST_PACKAGES = re.compile(
    r"pytest.*|pluggy|coverage|hypothesis|unittest2|jest.*|@jest/.*|vitest|@vitest/.*|mocha|chai|ts-jest|c8|nyc|tap|ava"
)
_ELSEWHERE = re.compile(r"^(?:file:|link:|portal:|git|github:|https?:|npm:|\.{0,2}/)")
_SOURCES = re.compile(
    r"^\s*(?:pytest[\w-]*|pluggy|coverage|hypothesis)\s*=\s*\{[^}]*\b(?:path|git|url)\s*=",
    re.MULTILINE,
)
_ENTRY_POINTS = re.compile(r"^\s*\[(?:project\.entry-points\.[\"']?|tool\.poetry\.plugins\.[\"']?|.*)pytest11[\"']?\]|^\s*pytest11\s*=", re.MULTILINE)  # fmt: skip
_TARGET_CALL = re.compile(r"\bg?make(?:\s+-\S+)*\s+([\w.-]+)|\bg?make\s*$")
_SCRIPT_CALL = re.compile(
    r"\b(?:npm|pnpm|yarn|bun)\s+(?:-\S+\s+)*(?:run(?:-script)?\s+)?(?P<script>t\b|tst\b|[\w:.-]+)"
)


def findings(facts: Facts) -> Iterator[Finding]:
    known = {check.runner for check in facts.checks if check.runner}
    packages = {_folder(each.path) for each in facts.changes if each.before is not None}
    for change in facts.changes:
        why = _why(change, known, packages) if known else ""
        why = why or _script(change, facts.checks)
        if why:
            yield _finding(facts, change, why)


def _finding(facts: Facts, change: ChangedFile, why: str) -> Finding:
    declared = is_declared(facts.intent.may_change, change.path)
    return Finding(
        kind="own_tool",
        path=change.path,
        text=why,
        verdict=Verdict.NOTE if declared else Verdict.FAIL,
        declared=declared,
        to_agent=f"leave {change.path} as it is on the target branch: {why}",
    )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _why(change: ChangedFile, known: set[str], packages: set[str]) -> str:
    """`packages`: folders with files of the target, which took no new place."""
    if change.after is None:
        return ""
    found = (
        _of_python(change, packages) if known & _PYTHON else "",
        _of_javascript(change) if known & _JAVASCRIPT else "",
        _of_others(change, known),
    )
    return next(filter(None, found), "")


def _of_python(change: ChangedFile, packages: set[str]) -> str:
    path = change.path
    is_there = _folder(path) not in ("", "src", "lib", "tests") and _folder(path) in packages
    if _SHADOWS.fullmatch(path) and change.before is None and not is_there:
        return "takes the place of the test runner or of a library"
    if _COMPILED.fullmatch(path):
        return "is run in place of its source"
    if _LIBRARY.fullmatch(path) and change.before is None:
        return "takes the place of a standard library"
    if _STARTUP.fullmatch(path):
        return "is run by every Python"
    if _PLUGIN.fullmatch(path) or _adds(_ENTRY_POINTS, change):
        return "adds a plugin to pytest"
    return "takes the test runner from another source" if _adds(_SOURCES, change) else ""


def _of_javascript(change: ChangedFile) -> str:
    if _MODULES.fullmatch(change.path):
        return "is part of the installed tools"
    name = _moved_package(change) if change.path.endswith("package.json") else ""
    return f"takes {name} from another source" if name else ""


def _of_others(change: ChangedFile, known: set[str]) -> str:
    path = change.path
    if Runner.CARGO in known and _CARGO.fullmatch(path) and _adds(_CARGO_TOOL, change):
        return "lets Cargo use another program"
    if Runner.GO in known and path.endswith(("go.mod", "go.work")) and _adds(_GO, change):
        return "takes a tool or test library from another source"
    if _PROGRAM.fullmatch(path) and change.before is None and not is_product(path):
        return "has the name of a tool"
    return ""


def _adds(form: re.Pattern[str], change: ChangedFile) -> bool:
    return len(form.findall(change.after or "")) > len(form.findall(change.before or ""))


def _moved_package(change: ChangedFile) -> str:
    """A test package that now comes from somewhere else than the registry."""
    before, after = _packages(change.before), _packages(change.after)
    for name, source in after.items():
        is_elsewhere = _TEST_PACKAGES.fullmatch(name) and _ELSEWHERE.match(source)
        if is_elsewhere and before.get(name) != source:
            return name
    return ""


def _packages(text: str | None) -> dict[str, str]:
    content = _json(text)
    groups = ("dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions")
    found: dict[str, str] = {}
    for group in groups:
        part = content.get(group)
        found |= (
            {n: v for n, v in part.items() if isinstance(v, str)} if isinstance(part, dict) else {}
        )
    return found


def _json(text: str | None) -> Mapping[str, object]:
    try:
        content = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


# --- what a check's command leads to ---


def _script(change: ChangedFile, checks: tuple[CheckFacts, ...]) -> str:
    name = change.path.rpartition("/")[2]
    if name == "package.json":
        return _changed_script(change, checks)
    if name in ("Makefile", "makefile", "GNUmakefile"):
        return _changed_rule(change, checks)
    if change.before is not None and any(_runs(check.run, change.path) for check in checks):
        return "is the program that a check runs"
    return ""


def _runs(command: str, path: str) -> bool:
    """Whether a command's own words run a file of the repository."""
    words = re.split(r"[\s;&|()]+", command)
    return f"./{path}" in words or (path in words and path.endswith((".sh", ".bash")))


def _changed_script(change: ChangedFile, checks: tuple[CheckFacts, ...]) -> str:
    before, after = _json(change.before).get("scripts"), _json(change.after).get("scripts")
    before = before if isinstance(before, dict) else {}
    after = after if isinstance(after, dict) else {}
    for check in checks:
        for found in _SCRIPT_CALL.finditer(check.run):
            name = "test" if found["script"] in ("t", "tst") else found["script"]
            for each in (name, f"pre{name}", f"post{name}"):
                if before.get(each) != after.get(each) and (each in before or each != name):
                    return f"the script {each}, which a check runs, is another one"
    return ""


def _changed_rule(change: ChangedFile, checks: tuple[CheckFacts, ...]) -> str:
    for check in checks:
        for found in _TARGET_CALL.finditer(check.run):
            target = found[1] or "all"
            if change.before is None and change.after is not None:
                return "takes the place of the Makefile that a check runs"
            if _rule(change.before, target) != _rule(change.after, target):
                return f"the target {target}, which a check runs, is another one"
    return ""


def _rule(text: str | None, target: str) -> str:
    found = re.search(
        rf"^{re.escape(target)}[^\n=:]*:.*\n(?:(?:\t.*)?(?:\n|$))*", text or "", re.MULTILINE
    )
    variables = re.findall(r"^(?:export\s+)?(?:SHELL|PATH|MAKEFLAGS|\.SHELLFLAGS)\s*[:?+]?=.*$", text or "", re.MULTILINE)  # fmt: skip
    return "\n".join(((found[0].rstrip() if found else ""), *variables))
