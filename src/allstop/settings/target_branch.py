"""Settings of the target branch: its allstop.toml applies to runs as soon as it has one."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from allstop.settings.loader import FILE_NAME, Loaded, load
from allstop.settings.problems import Problem, SettingsError
from allstop.settings.sources.environment import Environment

_TARGET = "project.target"


class Branches(Protocol):
    """Reads a repository's branches."""

    def checked_out(self) -> str | None:
        """The checked-out branch; None if HEAD is detached."""

    def file(self, branch: str) -> bytes | None:
        """allstop.toml of the branch's last commit, or None."""


def load_for_work(
    environment: Environment,
    *,
    repository: Path,
    branches: Branches,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Load the settings for runs; a note says if the checkout's file differs.

    Only the checkout chooses the target branch, so that a branch can't redirect work to another one.

    Raises SettingsError if the settings in force can't be used. Problems in the checkout's file are
    only noted if the target branch's file applies.
    """
    try:
        checkout = load(environment, repository=repository, flags=flags)
    except SettingsError as broken:
        return _load_with_broken_checkout(broken, environment, repository, branches, flags)
    branch, committed = _committed(checkout, branches)
    target = checkout
    if committed is None:
        return _with_note(checkout, _not_committed(repository, branch))
    if committed != _bytes(repository / FILE_NAME):
        target = _load(environment, repository, branch, committed, flags)
    return _with_ignored_note(
        _on_target_of(checkout, target), _difference(repository, branch, checkout, target)
    )


def load_last_valid(
    broken: SettingsError,
    environment: Environment,
    *,
    repository: Path,
    earlier: Iterable[tuple[str, bytes]],
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Load the newest valid version of the repository's file, or else no file; a note says so.

    For commands that repair a repository: the file may be what has to be repaired.
    """
    problem = f"{broken.problems[0]}."
    for commit, content in earlier:
        try:
            loaded = load(environment, repository=repository, committed=content, flags=flags)
        except SettingsError:
            continue
        return _with_note(loaded, f"{problem} The {FILE_NAME} of commit {commit[:10]} applies.")
    loaded = load(environment, flags=flags)
    return _with_note(loaded, f"{problem} Your own settings and the defaults apply.")


def _load_with_broken_checkout(
    broken: SettingsError,
    environment: Environment,
    repository: Path,
    branches: Branches,
    flags: Mapping[str, object] | None,
) -> Loaded:
    """Use the target branch's file, because a person may be editing the checkout's."""
    try:
        without_file = load(environment, flags=flags)
    except SettingsError:
        raise broken from None
    branch, committed = _committed(without_file, branches)
    if committed is None:
        raise broken
    target = _load(environment, repository, branch, committed, flags)
    note = f"{broken.problems[0]}. The {FILE_NAME} on {branch} applies."
    return _with_ignored_note(_on_target_of(without_file, target), note)


def _committed(loaded: Loaded, branches: Branches) -> tuple[str, bytes | None]:
    branch = loaded.settings.project.target or branches.checked_out()
    return ("", None) if branch is None else (branch, branches.file(branch))


def _load(
    environment: Environment,
    repository: Path,
    branch: str,
    committed: bytes,
    flags: Mapping[str, object] | None,
) -> Loaded:
    try:
        return load(environment, repository=repository, committed=committed, flags=flags)
    except SettingsError as error:
        raise SettingsError(_on_branch(each, branch) for each in error.problems) from None


def _on_branch(problem: Problem, branch: str) -> Problem:
    return replace(problem, file=f"{branch}:{FILE_NAME}") if problem.file == FILE_NAME else problem


def _on_target_of(checkout: Loaded, target: Loaded) -> Loaded:
    settings = replace(target.settings, project=checkout.settings.project)
    return replace(
        target, settings=settings, origins={**target.origins, _TARGET: checkout.origins[_TARGET]}
    )


def _not_committed(repository: Path, branch: str) -> str:
    if not branch or not (repository / FILE_NAME).exists():
        return ""
    return f"{FILE_NAME} isn't committed on {branch}: the one in your checkout applies."


def _difference(repository: Path, branch: str, checkout: Loaded, target: Loaded) -> str:
    """A note if the settings differ; comments and line endings don't matter."""
    if not (repository / FILE_NAME).exists():
        return f"{FILE_NAME} isn't in your checkout: the one on {branch} applies."
    if (checkout.settings, checkout.sensitive) == (target.settings, target.sensitive):
        return ""
    return f"{FILE_NAME} has changes that aren't on {branch}: they don't apply yet."


def _with_note(loaded: Loaded, note: str) -> Loaded:
    return replace(loaded, notes=(*loaded.notes, note)) if note else loaded


def _with_ignored_note(loaded: Loaded, note: str) -> Loaded:
    return replace(_with_note(loaded, note), ignored_note=note)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
