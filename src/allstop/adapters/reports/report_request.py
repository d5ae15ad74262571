"""Asks a runner of tests for a report, by shell commands around the check, and reads it.

The report is made in a folder of the box's home with a random name, outside the work's tree. A
program of the work can still find it while it runs; the canary notices a forged one.
"""

import os
import re
import secrets
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from anyio import to_thread

from allstop.adapters.reports import cargo_text, go_json, jest_json, junit
from allstop.gate.facts import Report, Runner, TestCommand
from allstop.gate.failed_tests.test_selection import LEFT_OUT
from allstop.gate.runners import invocation
from allstop.ports import Box, Collected, ReportError, ReportRequest

LARGEST_BYTES = 64 * 1024**2
KEPT_BYTES = 16 * 1024

_START = 'ALLSTOP_D="$HOME/{token}" ALLSTOP_R="$HOME/{token}/report"\nmkdir -m 700 -- "$ALLSTOP_D" || exit 125\n'
_FILE = "cat >\"$ALLSTOP_D/{name}\" <<'ALLSTOP_END'\n{text}\nALLSTOP_END\n"

_PYTEST = (
    'export PYTEST_ADDOPTS="${PYTEST_ADDOPTS-} -o junit_family=xunit1 --continue-on-collection-errors'
    " --junitxml='$ALLSTOP_R'\"\n"
)
_NODE = '--test-reporter="{report}" --test-reporter-destination="{dest}" --test-reporter=spec --test-reporter-destination=stdout'
_GO = """\
go() {
  if [ "${1-}" = test ]; then shift; command go test -json "$@" >>"$ALLSTOP_R"
  else command go "$@"; fi
}
"""
_CARGO = """\
cargo() {
  case "${1-} ${2-}" in
    test*) shift; set -- test --no-fail-fast "$@" ;;
    +*' test') allstop_chain=$1; shift 2; set -- "$allstop_chain" test --no-fail-fast "$@" ;;
    *) command cargo "$@"; return ;;
  esac
  command cargo "$@" >"$ALLSTOP_R" 2>&1
  set -- $?
  cat "$ALLSTOP_R"
  return "$1"
}
"""
_PROGRAM = """\
mkdir -- "$ALLSTOP_D/bin"
ALLSTOP_P=$(command -v {name})
export ALLSTOP_P ALLSTOP_R
cat >"$ALLSTOP_D/bin/{name}" <<'ALLSTOP_END'
#!/bin/sh
{text}
ALLSTOP_END
chmod 700 -- "$ALLSTOP_D/bin/{name}"
PATH="$ALLSTOP_D/bin:$PATH"
export PATH
"""
_GO_PROGRAM = """\
[ "${1-}" = test ] || exec "$ALLSTOP_P" "$@"
shift
exec "$ALLSTOP_P" test -json "$@" >>"$ALLSTOP_R\""""
_CARGO_PROGRAM = """\
[ "${1-}" = test ] || exec "$ALLSTOP_P" "$@"
shift
"$ALLSTOP_P" test --no-fail-fast "$@" >>"$ALLSTOP_R" 2>&1
set -- $?
cat "$ALLSTOP_R"
exit "$1\""""
_PLUGIN = "allstop_left_out"
_CI = "export CI=true\n"
_JEST = ' --reporters=default --reporters="$ALLSTOP_D/jest_report.cjs" --ci'
_VITEST = ' --reporter=default --reporter=junit --outputFile.junit="$ALLSTOP_R"'
_SCRIPT_CALL = re.compile(r"\s*(npm|pnpm|yarn|bun)\s(?:[^;&|<>()`$']|'[^']*')*")

_READERS: Mapping[Runner, Callable[[bytes, str], Report]] = {
    Runner.JEST: jest_json.read,
    Runner.GO: go_json.read,
    Runner.CARGO: cargo_text.read,
}


class RunnerReports:
    """How each runner is asked, and how its report is read."""

    def request(self, command: TestCommand, run: str, path: str = "") -> ReportRequest | None:
        """None if this command can't be asked. `path`: of a report that the command writes itself."""
        token = f".{secrets.token_hex(8)}"
        asked = f"rm -f -- {shlex.quote(path)}\n{run}" if path else _asked(command, run)
        if asked is None:
            return None
        return ReportRequest(
            runner=command.runner, run=_START.format(token=token) + asked, token=token, path=path
        )

    async def collect(self, request: ReportRequest, box: Box) -> Collected:
        return await to_thread.run_sync(_collect, request, box)

    async def differing(self, box: Box, texts: Mapping[str, str]) -> Sequence[str]:
        if not box.workspace:
            return ()
        return await to_thread.run_sync(_differing, box.workspace, texts)


def _asked(command: TestCommand, run: str) -> str | None:
    match command.runner:
        case Runner.PYTEST:
            plugin = _left_out() if LEFT_OUT in run else ""
            return (
                _PYTEST
                + plugin
                + re.sub(r"--junit-?xml(=|\s+)(\S+)", r'--junitxml="$ALLSTOP_R"', run)
            )
        case Runner.UNITTEST:
            return _unittest(command, run)
        case Runner.NODE:
            return _node(command, run)
        case Runner.JEST:
            file = _FILE.format(name="jest_report.cjs", text=_own_file("jest_report.cjs"))
            asked = _with_options(command, run, _JEST)
            return None if asked is None else file + asked
        case Runner.VITEST:
            return _with_options(command, run, _VITEST)
        case Runner.GO if command.script:  # make and npm know no functions of the shell
            return _PROGRAM.format(name="go", text=_GO_PROGRAM) + run
        case Runner.GO:
            return _GO + run
        case Runner.CARGO if command.script:
            return _PROGRAM.format(name="cargo", text=_CARGO_PROGRAM) + run
        case Runner.CARGO:
            return _CARGO + run
        case _:
            return None


def _left_out() -> str:
    """Lines that give pytest a plugin which leaves out the tests of the variable LEFT_OUT."""
    file = _FILE.format(name=f"{_PLUGIN}.py", text=_own_file("pytest_left_out.py"))
    return (
        f'{file}export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}$ALLSTOP_D"\n'
        f'export PYTEST_ADDOPTS="$PYTEST_ADDOPTS -p {_PLUGIN}"\n'
    )


def _unittest(command: TestCommand, run: str) -> str | None:
    begin, end = invocation(command)
    if begin < 0:
        return None
    python = re.sub(r"-m\s+unittest$", "", run[begin:end])
    file = _FILE.format(name="unittest_report.py", text=_own_file("unittest_report.py"))
    asked = f'{run[:begin]}{python}"$ALLSTOP_D/unittest_report.py"{run[end:]}'
    return f'{file}export ALLSTOP_REPORT="$ALLSTOP_R"\n{asked}'


def _node(command: TestCommand, run: str) -> str | None:
    if "--test-reporter" in (command.script or run):
        return None
    file = _FILE.format(name="report.mjs", text=_own_file("node_report.mjs"))
    begin, end = invocation(command)
    if begin < 0:
        words = _NODE.format(report='\\"$ALLSTOP_D/report.mjs\\"', dest='\\"$ALLSTOP_R\\"')
        words = words.replace('"\\', "\\").replace('\\""', '\\"')
        return f'{file}export NODE_OPTIONS="${{NODE_OPTIONS-}} {words}"\n{run}'
    words = _NODE.format(report="$ALLSTOP_D/report.mjs", dest="$ALLSTOP_R")
    return f"{file}{run[:end]} {words}{run[end:]}"


def _with_options(command: TestCommand, run: str, options: str) -> str | None:
    """Behind the runner's name, or at the end of a call of a script that is nothing else."""
    begin, end = invocation(command)
    if begin >= 0:
        return f"{_CI}{run[:end]}{options}{run[end:]}"
    if not _SCRIPT_CALL.fullmatch(run) or re.search(r"[;&|<>]", command.script):
        return None
    separator = "" if " -- " in run or run.lstrip().startswith("yarn") else " --"
    return f"{_CI}{run.rstrip()}{separator}{options}"


@cache
def _own_file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").rstrip()


def _collect(request: ReportRequest, box: Box) -> Collected:
    folder = box.home
    parts: tuple[str, ...] = (request.token, "report")
    if request.path:
        folder, parts = box.workspace or "", PurePosixPath(request.path).parts
    try:
        data = read_within(folder, parts, LARGEST_BYTES)
    except FileNotFoundError:
        return Collected()
    except OSError as error:
        return Collected(problem=f"the report can't be read: {error.strerror}")
    shown = go_json.text(data)[-KEPT_BYTES:] if request.runner is Runner.GO else b""
    try:
        report = _READERS.get(request.runner, junit.read)(data, box.at)
        if box.workspace and not report.cases and request.runner in (Runner.GO, Runner.CARGO):
            return Collected(output=shown.decode(errors="replace"))
    except ReportError as error:
        return Collected(output=shown.decode(errors="replace"), problem=str(error))
    return Collected(report=report, output=shown.decode(errors="replace"))


def _differing(folder: str, texts: Mapping[str, str]) -> list[str]:
    def differs(path: str, text: str) -> bool:
        try:
            data = read_within(folder, PurePosixPath(path).parts, LARGEST_BYTES)
        except OSError:
            return not Path(folder, path).is_symlink()
        return data.replace(b"\r\n", b"\n") != text.encode().replace(b"\r\n", b"\n")

    return [path for path, text in texts.items() if differs(path, text)]


def read_within(folder: str, parts: tuple[str, ...], most_bytes: int) -> bytes:
    """Read a file below a folder that others write to: no link on the way is followed.

    Raises OSError if it can't be read so, or is too large.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = inner
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "it isn't a file")
        if info.st_size > most_bytes:
            raise OSError(0, "it is too large")
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read(most_bytes)
    finally:
        os.close(handle)
