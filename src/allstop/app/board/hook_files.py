"""Hook files: hooks run in a copy of the repository's files, made when a person trusts them.

Agents change the files of the checkout by their merges, so a hook that ran there would run what
they wrote. The copy is in .allstop, where git still finds the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from allstop.adapters.git.repository.tree_copy import changed_files, copy_tree, tree_of
from allstop.settings.loader import FILE_NAME
from allstop.settings.repository_trust.accepted import trust_hook_tree, trusted_hook_tree

if TYPE_CHECKING:
    from allstop.app.project import Project

_FOLDER = "hooks"
_BETWEEN_WORDS = re.compile(r"[\s'\"`;&|()<>{}$=,:]+")
_TOP_LEVEL = re.compile(r"--show-(?:toplevel|cdup)")


class HookFiles(Struct, frozen=True, kw_only=True):
    """The files of the target branch, which hooks will use once a person accepts them."""

    branch: str
    tree: str
    changed: tuple[str, ...]
    """The files that differ from those accepted before; empty if none were."""

    def __str__(self) -> str:
        text = f"hooks run with the files of {self.branch} as they are now"
        if not self.changed:
            return text
        shown = ", ".join(self.changed[:5])
        more = f" and {len(self.changed) - 5} more" if len(self.changed) > 5 else ""
        return f"{text}; changed: {shown}{more}"


def hooks(project: Project) -> dict[str, str]:
    """The commands of [hooks], by the hook's name."""
    found = asdict(project.settings.hooks)
    return {name: command for name, command in found.items() if command is not None}


def proposed(project: Project) -> HookFiles | None:
    """The files that a person can accept; None if no hook is set or those are accepted."""
    commands = (*hooks(project).values(), *asdict(project.checkout.settings.hooks).values())
    asked = (project.loaded.sensitive, project.checkout.sensitive)
    if not any(commands) and not any(document.get("hooks") for document in asked):
        return None
    branch, tree = _target(project)
    if tree is None:
        return None
    old = _accepted(project)
    if old is None:
        return HookFiles(branch=branch, tree=tree, changed=())
    changed = [name for name in changed_files(project.repository, old, tree) if name != FILE_NAME]
    if not changed:
        return None
    named = {word for command in commands if command for word in _words(command)}
    changed.sort(key=lambda name: (not _is_named(name, named), name))
    return HookFiles(branch=branch, tree=tree, changed=tuple(changed))


def accept_files(project: Project, files: HookFiles) -> None:
    """Copy the files for the hooks, in place of those accepted before."""
    folder = project.folder / _FOLDER
    project.make_folder()
    copy_tree(project.repository, files.tree, folder / files.tree)
    trust_hook_tree(project.environment.trust_file, project.repository, files.tree)
    for other in folder.iterdir():
        if other.name != files.tree and not other.name.startswith("none-"):
            shutil.rmtree(other, ignore_errors=True)


@contextmanager
def no_files(project: Project) -> Iterator[Path]:
    """An empty folder, for hooks of a repository whose files nobody has accepted."""
    folder = project.folder / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix="none-", dir=folder, ignore_cleanup_errors=True
    ) as empty:
        yield Path(empty)


def hook_folder(project: Project, empty: Path) -> Path:
    """Where a hook runs."""
    tree = _accepted(project)
    return empty if tree is None else project.folder / _FOLDER / tree


def refusal(project: Project, command: str) -> str:
    """Why a hook isn't run, or "": it must not go back to the checkout."""
    paths = {str(project.repository), os.path.realpath(project.repository)}
    names_it = any(re.search(rf"{re.escape(path)}(?![\w.-])", command) for path in paths)
    if not names_it and not _TOP_LEVEL.search(command):
        return ""
    return (
        "not run: it names the checkout, whose files agents change. Name its files by relative "
        "paths and run `allstop trust`, or move them out of the repository"
    )


def notes(project: Project) -> list[str]:
    """What a person should know before hooks run."""
    named = {word for command in hooks(project).values() for word in _words(command)}
    present = sorted(word for word in named if (project.repository / word).exists())
    if not present:
        return []
    old = _accepted(project)
    if old is None:
        return [
            f"Hooks name {', '.join(present)}, but run without the files of the repository until you accept them: run `allstop trust`."
        ]
    branch, tree = _target(project)
    changes = [] if tree is None else changed_files(project.repository, old, tree)
    changed = sorted(name for name in changes if _is_named(name, named))
    if not changed:
        return []
    return [
        f"Hooks use {', '.join(changed)} as you accepted it, not as on {branch}: run `allstop trust` to see and accept the change."
    ]


def _accepted(project: Project) -> str | None:
    tree = trusted_hook_tree(project.environment.trust_file, project.repository)
    return tree if tree and (project.folder / _FOLDER / tree).is_dir() else None


def _target(project: Project) -> tuple[str, str | None]:
    from allstop.app.settings_in_git import Branches

    branches = Branches(project.repository, project.environment.variables)
    branch = project.settings.project.target or branches.checked_out()
    revision = f"refs/heads/{branch}" if branch else "HEAD"
    return branch or "HEAD", tree_of(project.repository, revision)


def _words(command: str) -> Iterator[str]:
    """The words that may name a file of the repository. Only hints for people depend on them."""
    for word in _BETWEEN_WORDS.split(command):
        path = os.path.normpath(word) if word else "."
        if path not in (".", "..") and not path.startswith(("/", "../", "-", "~")):
            yield path


def _is_named(name: str, words: set[str]) -> bool:
    return name in words or any(name.startswith(f"{word}/") for word in words)
