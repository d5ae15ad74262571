"""Honest commits of this project's own history, each as a repository for the gate."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support import gate_corpus

ROOT = Path(__file__).parents[2]
PURE = ("addresses", "auto", "core", "gate", "merges", "metering", "plans", "policy", "rooms")
"""Folders of tests that start no programs."""

LOOKED_AT = 2000


@dataclass(frozen=True)
class Commit:
    name: str
    parent: str
    subject: str
    tests: tuple  # the changed files with pure tests

    @property
    def run(self):
        tests = " ".join(self.tests)
        return f"PYTHONPATH=src:tests python -m pytest -q -p no:cacheprovider {tests}"


def _git(*words):
    done = subprocess.run(
        ["git", *words],
        cwd=ROOT,
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
    store = ROOT / _git("rev-parse", "--git-common-dir").strip()
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{store / 'objects'}\n")
    if (store / "shallow").exists():
        (root / ".git" / "shallow").write_text((store / "shallow").read_text())
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text(".allstop/\n")
    gate_corpus.git(root, "update-ref", "refs/heads/main", commit.parent)
    gate_corpus.git(root, "reset", "-q", "--hard")
    gate_corpus.git(root, "update-ref", "refs/heads/work", commit.name)
    return commit.parent, commit.name
