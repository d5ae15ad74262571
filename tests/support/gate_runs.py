"""Puts changes before the real gate, in this process, with real boxes."""

import os
import shutil
import subprocess
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from msgspec.structs import replace

from allstop.app.project import Project
from allstop.app.runtime import start_runtime
from allstop.app.target_gate import gate
from allstop.core.asks import Answer, Permission
from allstop.core.gate import Verdict
from allstop.core.moves import Failed, RunChecks
from allstop.gate.intent import asks_for_fix
from allstop.settings.sources.environment import Environment
from support import gate_corpus, gate_history, gate_programs

TOML = """\
[loop]
agent = "nobody"

[agents.nobody]
driver = "command"
command = ["true"]

[verification]
integrity = "ask"

[[verification.commands]]
name = "Tests"
run = {run}
{more}
"""


@dataclass(frozen=True)
class Outcome:
    """What the gate said of one change."""

    word: str  # passed, note, ask, fail
    findings: tuple = ()
    seconds: float = 0.0
    problem: str = ""
    results: tuple = field(default=(), repr=False)

    @property
    def is_caught(self):
        return self.word in ("ask", "fail")


class Silent:
    """A watcher that keeps what it is told."""

    def __init__(self):
        self.items = []

    def live(self, live):
        pass

    async def saw(self, item):
        self.items.append(item.text)

    async def opened(self, thread):
        pass

    async def words(self):
        await anyio.sleep_forever()

    async def reached(self):
        pass

    async def ask(self, ask):
        return Answer(leave=Permission.DENY, by="nobody is there")


def word_of(done):
    """The worst verdict of a gate."""
    if isinstance(done, Failed):
        return "fail"
    if any(not result.passed and result.required for result in done.results):
        return "fail"
    verdicts = {finding.verdict or Verdict.NOTE for finding in done.findings}
    if any(finding.fatal for finding in done.findings):
        return "fail"
    for verdict in (Verdict.FAIL, Verdict.ASK, Verdict.NOTE):
        if verdict in verdicts:
            return verdict.value
    return "passed"


@asynccontextmanager
async def gate_of(root, home, path=(), new_watch=Silent):
    """The gate of a repository: a function from a move's fields to the gate's result.

    `path` are folders with programs, before those of this process.
    """
    variables = {
        **{name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ},
        "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]),
        "HOME": str(home),
    }
    project = Project(root, Environment(home=home, variables=variables))
    try:
        async with start_runtime(project) as runtime:
            hands = runtime.engine._context.hands  # the very hands that a board would use

            async def run(**move):
                watch = new_watch()
                checks = replace(RunChecks.for_gate(gate(project.settings), "w"), **move)
                return await hands.perform("t", checks, watch, 600.0), watch.items

            yield run
    finally:
        project.close()


async def judge(case, folder, *, declared=True, unreviewed=False, more=""):
    """Make a case's repository in a folder, and put its candidate before the gate."""
    root = folder / "repository"
    base, candidate = gate_corpus.make(case, root)
    if modules := gate_programs.node_modules(case.ecosystem):
        (root / "node_modules").symlink_to(modules)
    (root / "allstop.toml").write_text(TOML.format(run=_quoted(case.run), more=more))
    return await _judged(
        root,
        gate_programs.folders(case.ecosystem),
        base=base,
        commit=candidate,
        may_change=case.may_change if declared else (),
        fixes=case.fixes,
        unreviewed=unreviewed,
    )


async def judge_commit(commit, folder, may_change=(), settings=""):
    """Put a commit of a history before the gate: of this one, with the pure tests it changes.

    `settings` are the person's own.
    """
    root = folder / "repository"
    base, candidate = gate_history.make(commit, root)
    (root / "allstop.toml").write_text(TOML.format(run=_quoted(commit.run), more=""))
    _write_settings(folder / "home", settings)
    return await _judged(
        root,
        gate_programs.folders_of(commit),
        base=base,
        commit=candidate,
        may_change=tuple(may_change),
        fixes=asks_for_fix(commit.subject),
    )


def _write_settings(home, settings):
    own = home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(settings)


@dataclass(frozen=True)
class Times:
    """The seconds of one commit's checks alone, and of the whole gate."""

    plain: float
    whole: float
    again: float  # the whole gate with the target's own run known

    def __bool__(self):
        return self.plain > 0


async def times_of(commit, folder, settings=""):
    """How long the gate takes for a commit; nothing if its checks fail. `settings`: the person's."""
    root = folder / "repository"
    base, candidate = gate_history.make(commit, root)
    (root / "allstop.toml").write_text(TOML.format(run=_quoted(commit.run), more=""))
    home = folder / "home"
    _write_settings(home, settings)
    seconds = []
    async with gate_of(root, home, gate_programs.folders_of(commit)) as run:
        for what in ({"integrity": None}, {}, {}):
            began = time.perf_counter()
            done, _ = await run(base=base, commit=candidate, **what)
            seconds.append(time.perf_counter() - began)
            if isinstance(done, Failed) or not all(each.passed for each in done.results):
                return Times(0, 0, 0)
    return Times(*seconds)


async def _judged(root, path, **move):
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    async with gate_of(root, home, path) as run:
        began = time.perf_counter()
        done, _ = await run(**move)
        seconds = time.perf_counter() - began
    if isinstance(done, Failed):
        return Outcome("fail", (), seconds, done.message)
    problem = "".join(result.output[-600:] for result in done.results if not result.passed)
    return Outcome(word_of(done), done.findings, seconds, problem, done.results)


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- proof that an attack is one ---


def proof(case, folder):
    """The exit code of the case's own command on its candidate, and whether the outside is content."""
    path = os.pathsep.join([*gate_programs.folders(case.ecosystem), os.environ["PATH"]])
    env = {**os.environ, "PATH": path}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
    work = folder / "work"
    gate_corpus.make(case, work)
    gate_corpus.git(work, "checkout", "-q", "work")
    if modules := gate_programs.node_modules(case.ecosystem):
        (work / "node_modules").symlink_to(modules)

    def run(command, cwd):
        return subprocess.run(
            ["sh", "-c", command], cwd=cwd, env=env, capture_output=True, text=True, check=False
        )

    own = run(case.run, work)
    shutil.rmtree(work)
    gate_corpus.write(case.candidate, work)
    gate_corpus.write(case.outside_files, folder)
    outside = run(case.outside, folder)
    content = outside.returncode == 0 and "as required" in outside.stdout
    return own.returncode, content
