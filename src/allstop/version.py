"""The version that `allstop --version` names, with the commit if it is not a release."""

import os

from allstop import __version__

PACKAGE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib loads slowly
SHOWN = 10


def describe_version(package: str = PACKAGE) -> str:
    """`0.1.0` of a release; `0.1.0 (commit 0123456789)` of a checkout or a package built from one.

    The build of a package writes the file `_commit`, unless it is a release.
    """
    checkout = os.path.dirname(os.path.dirname(package))  # noqa: PTH120
    commit = _checked_out(os.path.join(checkout, ".git")) or _read(package, "_commit")  # noqa: PTH118
    return f"{__version__} (commit {commit[:SHOWN]})" if commit else __version__


def _checked_out(git: str) -> str:
    """The commit that HEAD names, read from files: starting git would take longer than the rest."""
    link = _read(git)  # a linked worktree has a file instead of the folder
    if link.startswith("gitdir: "):
        git = os.path.join(os.path.dirname(git), link.removeprefix("gitdir: "))  # noqa: PTH118, PTH120
    head = _read(git, "HEAD")
    if not head.startswith("ref: "):
        return head
    ref = head.removeprefix("ref: ")
    common = os.path.join(git, _read(git, "commondir"))  # noqa: PTH118
    if commit := _read(common, ref):
        return commit
    packed = (line.partition(" ") for line in _read(common, "packed-refs").splitlines())
    return next((commit for commit, _, name in packed if name == ref), "")


def _read(*parts: str) -> str:
    """The text of a file; "" if it can't be read."""
    try:
        with open(os.path.join(*parts), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            return file.read().strip()
    except (OSError, ValueError):
        return ""
