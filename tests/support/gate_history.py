"""Honest commits of a history, this project's own or another one, each as a repository for the gate."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from allstop.gate.path_kinds import is_test
from allstop.gate.test_text import is_product
from support import gate_corpus

ROOT = Path(__file__).parents[2]
PURE = ("addresses", "auto", "core", "gate", "merges", "metering", "plans", "policy", "rooms")
"""Folders of tests that start no programs."""

LOOKED_AT = 2000

_PLUGINS = ("anyio.pytest_plugin", "xdist.plugin", "pytest_timeout", "_hypothesis_pytestplugin")
_OWN = " ".join(
    (
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH=src:tests",
        "python -m pytest -q -n 0 -p no:cacheprovider",
        *(f"-p {name}" for name in _PLUGINS),
    )
)
"""Loads no other plugins, which take a second."""


@dataclass(frozen=True)
class Commit:
    name: str
    parent: str
    subject: str
    tests: tuple  # the changed files with pure tests
    repository: Path = ROOT
    command: str = ""  # of another repository
    has_product: bool = True  # whether it changes product code

    @property
    def run(self):
        tests = " ".join(self.tests)
        own = f"{_OWN} {tests}"
        return self.command or own


def _git(*words, repository=ROOT):
    done = subprocess.run(
        ["git", *words],
        cwd=repository,
        env={**os.environ, **gate_corpus.ENV},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def commits(most):
    """Commits that change product code and pure tests, the latest first, as far as this clone goes.

    A shallow clone has fewer, and an unpacked archive none.
    """
    rows = _git("log", "--no-merges", "-n", str(LOOKED_AT), "--name-only", "--format=%x00%H %P%n%s")
    found = []
    for row in rows.split("\0")[1:]:
        names, subject, *paths = row.strip().splitlines()
        name, *parents = names.split()
        tests = tuple(path for path in paths if _is_pure_test(path))
        has_product = any(path.startswith("src/") and path.endswith(".py") for path in paths)
        if tests and has_product and len(parents) == 1 and _has(parents[0], name, tests):
            found.append(Commit(name, parents[0], subject, tests))
        if len(found) == most:
            break
    return found


def commits_of(repository, command, most, *, any_code=False):
    """Commits of another repository that change product code and tests, the latest first.

    `any_code`: those that change either of them, too.
    """
    words = ("log", "--first-parent", "-m", "-n", str(LOOKED_AT), "--name-only")
    rows = _git(*words, "--format=%x00%H %P%n%s", repository=repository)
    found = []
    for row in rows.split("\0")[1:]:
        names, subject, *paths = row.strip().splitlines()
        name, *parents = names.split()
        tests = tuple(path for path in paths if is_test(path))
        has_product = any(map(is_product, paths))
        is_wanted = (tests or has_product) if any_code else (tests and has_product)
        if parents and is_wanted:
            found.append(Commit(name, parents[0], subject, tests, repository, command, has_product))
    return found[:most]


def _is_pure_test(path):
    parts = path.split("/")
    return len(parts) == 3 and parts[0] == "tests" and parts[1] in PURE and parts[2][:5] == "test_"


def _has(parent, name, tests):
    """Whether this clone has the parent with all these tests, and the commit deletes none."""
    return all(
        len(_git("ls-tree", "--name-only", commit, *tests).split()) == len(tests)
        for commit in (parent, name)
    )


def make(commit, root):
    """A repository with the commit's parent on `main`, which borrows this one's objects."""
    root.mkdir(parents=True)
    gate_corpus.git(root, "init", "-q", "-b", "main")
    told = _git("rev-parse", "--git-common-dir", repository=commit.repository)
    store = commit.repository / told.strip()
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{store / 'objects'}\n")
    if (store / "shallow").exists():
        (root / ".git" / "shallow").write_text((store / "shallow").read_text())
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text(".allstop/\n.venv\nnode_modules\n")
    for name in (".venv", "node_modules"):
        if commit.command and (commit.repository / name).is_dir():
            (root / name).symlink_to(commit.repository / name)
    gate_corpus.git(root, "update-ref", "refs/heads/main", commit.parent)
    gate_corpus.git(root, "reset", "-q", "--hard")
    gate_corpus.git(root, "update-ref", "refs/heads/work", commit.name)
    return commit.parent, commit.name
