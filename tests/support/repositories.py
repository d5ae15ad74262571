"""Copies a prepared repository with one commit: faster than making it with git each time."""

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

ME = ("-c", "user.name=P", "-c", "user.email=p@example.invalid")


def make_repository(folder, text):
    """A repository on `main` in this empty folder, with `a.txt` in its one commit."""
    shutil.copytree(_prepared(text) / ".git", folder / ".git")
    _git(folder, "reset", "-q", "--hard")  # an index knows its files by their inodes


@cache
def _prepared(text):
    folder = Path(tempfile.mkdtemp(prefix="allstop-repository-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _git(folder, "init", "-q", "-b", "main", ".")
    for sample in (folder / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    (folder / "a.txt").write_text(text)
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "first")
    return folder


def _git(folder, *arguments):
    subprocess.run(["git", *ME, *arguments], cwd=folder, check=True, capture_output=True)
