"""Copies the files of a tree into a folder, and compares two trees."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from allstop.adapters.git.repository.git_command import environment, git_argv
from allstop.core.errors import AllstopError


def tree_of(repository: Path, revision: str) -> str | None:
    """The id of a revision's tree; None if there is no such revision."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}")
    done = _git(repository, arguments)
    return done.stdout.decode().strip() or None if done.returncode == 0 else None


def changed_files(repository: Path, old: str, new: str) -> list[str]:
    """The files that differ between two trees; all of the new one if the old one is missing."""
    done = _git(repository, ("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new))
    if done.returncode:
        done = _checked(repository, ("ls-tree", "-r", "-z", "--name-only", new))
    return [name.decode(errors="replace") for name in done.stdout.split(b"\0") if name]


def copy_tree(repository: Path, tree: str, folder: Path) -> None:
    """Write the files of a tree to a folder that doesn't exist; never leave a part of them.

    Raises AllstopError if git can't.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=folder.parent) as new:
        files = Path(new, "files")
        files.mkdir()
        index = {"GIT_INDEX_FILE": str(Path(new, "index"))}
        _checked(repository, ("read-tree", tree), index)
        _checked(repository, ("checkout-index", "--all", "--force", f"--prefix={files}/"), index)
        shutil.rmtree(folder, ignore_errors=True)
        files.rename(folder)


def _checked(
    repository: Path, arguments: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    done = _git(repository, arguments, env)
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()
        raise AllstopError(f"git {arguments[0]} failed: {why}", code="git_failed")
    return done


def _git(
    repository: Path, arguments: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    variables = {**environment(), **(env or {})}
    return subprocess.run(
        git_argv(arguments), cwd=repository, env=variables, capture_output=True, check=False
    )
