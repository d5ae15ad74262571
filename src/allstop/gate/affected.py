"""Affected checks: which checks a change concerns, and the commands with its files."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from allstop.core.gate import Check
from allstop.gate.path_kinds import matches

CHANGED = "{changed}"
"""In a check's command: the changed files, as quoted arguments."""

MAX_COMMAND_CHARS = 100_000
"""Linux takes at most 128 KiB as one argument; longer commands become several."""


class ChangedFile(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def status(self) -> str: ...


def names_changes(check: Check) -> bool:
    """Whether its command has a place for the changed files."""
    return CHANGED in check.run


def needs_changes(checks: Iterable[Check]) -> bool:
    return any(check.paths or names_changes(check) for check in checks)


def is_affected(check: Check, changes: Sequence[ChangedFile]) -> bool:
    """Whether a file changed that the check names; without paths it names all."""
    return not check.paths or any(matches(change.path, check.paths) for change in changes)


def commands(check: Check, changes: Sequence[ChangedFile]) -> tuple[str, ...]:
    """The commands that run for a check; none if no changed file is left that it could read."""
    if not names_changes(check):
        return (check.run,)
    there = [change.path for change in changes if change.status != "D"]
    files = [path for path in dict.fromkeys(there) if not check.paths or matches(path, check.paths)]
    return tuple(_with_files(check.run, some) for some in _groups(files))


def _with_files(command: str, files: Sequence[str]) -> str:
    """The files follow `--`, so that none of them can be an option."""
    arguments = " ".join(map(shlex.quote, files))
    before, _, after = command.partition(CHANGED)
    ends_options = "" if before.rstrip().endswith(" --") else "-- "
    return f"{before}{ends_options}{arguments}{after.replace(CHANGED, arguments)}"


def _groups(files: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    chars = 0
    for path in files:
        chars += 2 * len(path.encode(errors="surrogateescape")) + 3
        if group and chars > MAX_COMMAND_CHARS:
            yield group
            group, chars = [], 2 * len(path) + 3
        group.append(path)
    if group:
        yield group
