"""Whose allstop.toml counts for work: the target branch's, once it has one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from allstop.settings.loader import FILE_NAME, Loaded, load
from allstop.settings.problems import Problem, SettingsError
from allstop.settings.sources.environment import Environment

_TARGET = "project.target"


class Branches(Protocol):
    """What there is to know of a repository's branches."""

    def checked_out(self) -> str | None:
        """None where HEAD is on no branch."""

    def file(self, branch: str) -> bytes | None:
        """allstop.toml as the branch's last commit has it; None where it has none."""


def load_for_work(
    environment: Environment,
    *,
    repository: Path,
    branches: Branches,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """The settings that work stands on; their notes say where the checkout differs from them.

    Which branch is the target is the checkout's word: it is the person's own, and a branch can't
    send its work to another one.

    Raises:
        SettingsError: what counts can't be used; a mistake in a file that doesn't is only noted.
    """
    try:
        here = load(environment, repository=repository, flags=flags)
    except SettingsError as broken:
        return _despite(broken, environment, repository, branches, flags)
    branch, committed = _committed(here, branches)
    there = here
    if committed is None:
        return _with_note(here, _not_committed(repository, branch))
    if committed != _bytes(repository / FILE_NAME):
        there = _load(environment, repository, branch, committed, flags)
    return _apart(_on_target_of(here, there), _difference(repository, branch, here, there))


def _despite(
    broken: SettingsError,
    environment: Environment,
    repository: Path,
    branches: Branches,
    flags: Mapping[str, object] | None,
) -> Loaded:
    """Somebody is in the middle of changing the checkout's file: that stops no work."""
    try:
        alone = load(environment, flags=flags)
    except SettingsError:
        raise broken from None
    branch, committed = _committed(alone, branches)
    if committed is None:
        raise broken
    there = _load(environment, repository, branch, committed, flags)
    note = f"{broken.problems[0]}. The {FILE_NAME} on {branch} counts."
    return _apart(_on_target_of(alone, there), note)


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


def _on_target_of(here: Loaded, there: Loaded) -> Loaded:
    settings = replace(there.settings, project=here.settings.project)
    return replace(
        there, settings=settings, origins={**there.origins, _TARGET: here.origins[_TARGET]}
    )


def _not_committed(repository: Path, branch: str) -> str:
    if not branch or not (repository / FILE_NAME).exists():
        return ""
    return (
        f"{FILE_NAME} is not on {branch} yet: the one in your checkout counts until you commit it."
    )


def _difference(repository: Path, branch: str, here: Loaded, there: Loaded) -> str:
    """By what it says, not by its bytes: a comment or a line's end changes nothing."""
    if not (repository / FILE_NAME).exists():
        return f"{FILE_NAME} is not in your checkout: the one on {branch} counts."
    if (here.settings, here.asked) == (there.settings, there.asked):
        return ""
    return f"{FILE_NAME} has changes that are not on {branch}: they don't count yet."


def _with_note(loaded: Loaded, note: str) -> Loaded:
    return replace(loaded, notes=(*loaded.notes, note)) if note else loaded


def _apart(loaded: Loaded, note: str) -> Loaded:
    return replace(_with_note(loaded, note), uncounted=note)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
