"""Which test runner a check command starts, and its command with other test files."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from allstop.core.gate import Check
from allstop.gate import affected
from allstop.gate.facts import Runner, TestCommand

_EDGE = r"(?:^|(?<=[\s;&|(]))"
_END = r"(?=$|[\s;&|)<>])"
_PYTHON = r"(?:[^\s;&|()]*/)?(?:python|pypy)[\d.]*(?:\s+-[A-Za-z]+)*?"
_PROGRAM = r"(?:[^\s;&|()]*/)?"
_FORMS: Mapping[Runner, re.Pattern[str]] = {
    Runner.PYTEST: re.compile(
        rf"{_EDGE}(?:{_PYTHON}\s+-m\s+|(?:coverage|[^\s;&|()]*/coverage)\s+run\s+(?:-\S+\s+)*?-m\s+)?"
        rf"{_PROGRAM}(?:pytest|py\.test){_END}"
    ),
    Runner.UNITTEST: re.compile(rf"{_EDGE}{_PYTHON}\s+-m\s+unittest{_END}"),
    Runner.NODE: re.compile(rf"{_EDGE}{_PROGRAM}node(?:\s+--?[\w-]+(?:=\S+)?)*?\s+--test{_END}"),
    Runner.JEST: re.compile(rf"{_EDGE}{_PROGRAM}jest(?:\.js)?{_END}"),
    Runner.VITEST: re.compile(rf"{_EDGE}{_PROGRAM}vitest(?:\.mjs)?(?:\s+run)?{_END}"),
    Runner.GO: re.compile(rf"{_EDGE}go\s+test{_END}"),
    Runner.CARGO: re.compile(rf"{_EDGE}cargo(?:\s+\+\S+)?\s+test{_END}"),
}
_INSTALLS = re.compile(
    r"\b(?:pip3?|npm|pnpm|yarn|uv|go|cargo|poetry)\s+(?:pip\s+)?(?:install|add|i|get|sync)\b[^;&|\n]*"
)
_SCRIPT = re.compile(
    rf"{_EDGE}(?:npm|pnpm|yarn|bun)\s+(?:(?:-\S+|--\S+)\s+)*(?:run(?:-script)?\s+)?"
    rf"(?P<script>t|tst|test[\w:.-]*)(?={_END[3:-1]})"
)
_MAKE = re.compile(rf"{_EDGE}g?make(?:\s+-\S+)*\s+(?P<target>[\w.-]+){_END}")
_OPERATORS = re.compile(r"[;&|<>()`\n]|\$\(")
MAX_STEPS = 4


def find(
    command: str, files: Mapping[str, str] = {}, *, writes_report: bool = False
) -> TestCommand | None:
    """The runner that a command starts; None if there is none, or several.

    `files`: the package.json and the Makefile of the target, which may name it.
    """
    if writes_report:
        return TestCommand(runner=Runner.OWN, run=command)
    script = _script_of(command, files)
    found = _named(script or command)
    if len(found) != 1:
        return None
    return TestCommand(runner=found[0], run=command, script=script)


def test_commands(checks: Sequence[Check], files: Mapping[str, str]) -> dict[str, TestCommand]:
    """The checks that start a known runner, by name; if none does, those that must pass."""
    asked = [check for check in checks if not affected.names_changes(check)]
    found = {
        check.name: find(check.run, files, writes_report=bool(check.report)) for check in asked
    }
    known = {name: command for name, command in found.items() if command is not None}
    return known or {
        check.name: TestCommand(runner=Runner.PLAIN, run=check.run)
        for check in asked
        if check.required
    }


def needs_files(command: str) -> bool:
    """Whether `package.json` or a Makefile says what the command starts."""
    return bool(_SCRIPT.search(command) or _MAKE.search(command))


SCRIPT_FILES = ("package.json", "Makefile", "makefile", "GNUmakefile")


def _named(command: str) -> list[Runner]:
    """The runners that a command line starts, each as often as it does."""
    return [
        runner for runner, form in _FORMS.items() for _ in form.finditer(_without_installs(command))
    ]


def _without_installs(command: str) -> str:
    """The command with blanks in place of what installs something, which names runners too."""
    return _INSTALLS.sub(lambda found: " " * len(found[0]), command)


def _script_of(command: str, files: Mapping[str, str]) -> str:
    """The text of the script or rule that a command runs; "" if it runs none that is known."""
    text, here = "", command
    for _ in range(MAX_STEPS):
        if (
            (found := _SCRIPT.search(here)) and (script := _npm_script(files, found["script"]))
        ) or ((found := _MAKE.search(here)) and (script := _recipe(files, found["target"]))):
            text = here = script
        else:
            break
    return text


def _npm_script(files: Mapping[str, str], name: str) -> str:
    import json

    try:
        scripts = json.loads(files.get("package.json", "{}")).get("scripts", {})
        return str(scripts.get("test" if name in ("t", "tst") else name, ""))
    except (ValueError, AttributeError, RecursionError):
        return ""


def _recipe(files: Mapping[str, str], target: str) -> str:
    text = next((files[name] for name in SCRIPT_FILES[1:] if name in files), "")
    rule = re.search(rf"^{re.escape(target)}[^\n=:]*:.*\n((?:\t.*\n?|\n)*)", text, re.MULTILINE)
    return "\n".join(line.strip().lstrip("@-") for line in rule[1].splitlines()) if rule else ""


# --- a selection of test files ---

_TAKES_VALUE: Mapping[Runner, frozenset[str]] = {
    Runner.PYTEST: frozenset(
        {
            "-k",
            "-m",
            "-n",
            "-p",
            "-o",
            "-c",
            "-W",
            "-r",
            "--rootdir",
            "--confcutdir",
            "--tb",
            "--cov",
        }
        | {"--maxfail", "--durations", "--ignore", "--deselect", "--timeout", "--dist", "--color"}
        | {
            "--cov-report",
            "--cov-config",
            "--junitxml",
            "--junit-xml",
            "--import-mode",
            "--basetemp",
        }
    ),
    Runner.NODE: frozenset({"--require", "-r", "--import", "--loader", "-C", "--conditions"}),
    Runner.VITEST: frozenset({"-c", "--config", "-r", "--root", "--dir", "-t", "--project"}),
    Runner.JEST: frozenset({"-c", "--config", "--rootDir", "-t", "-w", "--maxWorkers"}),
}


_ALL_PACKAGES = "./..."
"""Go can select packages, of which a command that names all of them has at least those."""

_NO_PACKAGE = re.compile(r"(^|/)([_.]|(testdata|vendor)(/|$))")


def can_select(command: TestCommand) -> bool:
    """Whether it can be made to run only some test files."""
    if command.runner not in (*_TAKES_VALUE, Runner.UNITTEST, Runner.GO):
        return False
    if command.runner is Runner.GO and command.run.split().count(_ALL_PACKAGES) != 1:
        return False
    return is_plain(command)


def is_plain(command: TestCommand) -> bool:
    """Whether it is one call of its runner and nothing else, so that arguments can be added."""
    if command.script or command.runner is Runner.OWN:
        return False
    if _OPERATORS.search(command.run) or "$" in command.run:
        return False
    found = _FORMS[command.runner].search(_without_installs(command.run))
    return found is not None and not re.match(r"\s*cd\b", command.run)


def without_tracebacks(command: TestCommand) -> str:
    """The same run without tracebacks: where very many tests must fail, these take most of the time."""
    if command.runner is not Runner.PYTEST:
        return command.run
    return 'export PYTEST_ADDOPTS="${PYTEST_ADDOPTS-} --tb=no"\n' + command.run


def with_tests(command: TestCommand, tests: Sequence[str], known: Iterable[str]) -> str:
    """The command with these test files instead of its own; its options stay.

    `known`: all paths of the tree, by which an argument is known as a path.
    """
    found = _FORMS[command.runner].search(_without_installs(command.run))
    if found is None or not can_select(command):
        return command.run
    head, tail = command.run[: found.end()], command.run[found.end() :]
    try:
        words = shlex.split(tail)
    except ValueError:
        return command.run
    if command.runner is Runner.GO:
        return _with_packages(command.run, tests, known)
    kept = _options(command.runner, words, frozenset(known))
    return " ".join((head, *map(shlex.quote, kept), *map(shlex.quote, tests)))


def _with_packages(run: str, tests: Iterable[str], known: Iterable[str]) -> str:
    """The packages of these files, as far as `./...` has them; all if it has none.

    Without vet: it takes a quarter of the time of a small package, and can stop a mix of two trees.
    """
    modules = [path.removesuffix("go.mod") for path in known if path.endswith("/go.mod")]
    folders = {path.rpartition("/")[0] for path in tests if not path.startswith(tuple(modules))}
    packages = [f"./{folder}" for folder in sorted(folders) if not _NO_PACKAGE.search(folder)]
    named = " ".join(map(shlex.quote, ("-vet=off", *packages))) if packages else ""
    return re.sub(r"(?<!\S)\./\.\.\.(?!\S)", lambda _: named, run) if named else run


def _options(runner: Runner, words: Sequence[str], known: frozenset[str]) -> list[str]:
    if runner is Runner.UNITTEST:
        return [word for word in words if word in ("-v", "-q", "-b", "--buffer", "--verbose")]
    folders = {path[: path.index("/", at)] for path in known for at in _slashes(path)}
    kept: list[str] = []
    for number, word in enumerate(words):
        is_value = number > 0 and words[number - 1] in _TAKES_VALUE.get(runner, frozenset())
        path = word.split("::")[0].removeprefix("./").rstrip("/")
        is_path = path in known or path in folders or path in ("", ".") or "*" in path
        if is_value or word.startswith("-") or not is_path:
            kept.append(word)
    return kept


def _slashes(path: str) -> Iterable[int]:
    return (at for at, char in enumerate(path) if char == "/")


def invocation(command: TestCommand) -> tuple[int, int]:
    """Where the runner's name begins and ends in the command; (-1, -1) if a script starts it."""
    found = (
        None
        if command.runner is Runner.OWN
        else _FORMS[command.runner].search(_without_installs(command.run))
    )
    return found.span() if found else (-1, -1)
