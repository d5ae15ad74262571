"""What every command shares: where it works, how it prints, how it complains."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.core.errors import AllstopError
from allstop.glance import fitting as fitting
from allstop.glance import look as look
from allstop.glance import run as run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.supervisor import RunKinds

USAGE = 2
FINISHED, FAILED, WAITS, LIMIT, STOPPED = 0, 1, 3, 4, 130  # of whatever does work
NOBODY_READS = 141  # as a shell says of a program that SIGPIPE ended


class Context(NamedTuple):
    folder: Path
    flags: tuple[str, ...]
    kinds: RunKinds | None = None  # the table that the program's entry was given

    @property
    def run_kinds(self) -> RunKinds:
        """What the app does with each kind of run."""
        if self.kinds is not None:
            return self.kinds
        from allstop.app.kinds import RUN_KINDS

        return RUN_KINDS

    @contextmanager
    def project(self, more: Mapping[str, object] | None = None) -> Iterator[Project]:
        from allstop.app.project import Project
        from allstop.settings.sources.environment import this_environment

        flags = {**dict(_pair(flag) for flag in self.flags), **(more or {})}
        pure = self.kinds.pure if self.kinds is not None else None
        project = Project(self.folder.resolve(), this_environment(), flags, pure)
        try:
            yield project
        finally:
            project.close()


def _pair(flag: str) -> tuple[str, object]:
    key, equals, value = flag.partition("=")
    if not equals:
        raise click.BadParameter(f"{flag!r} is not KEY=VALUE", param_hint="--set")
    return key, _value(value)


def _value(text: str) -> object:
    """As TOML reads it; what TOML can't read is a string."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


def print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def complain(error: Exception) -> int:
    """Say what is wrong and what to do; a mistake of ours keeps its trace."""
    from allstop.settings.problems import SettingsError

    if isinstance(error, SettingsError):
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        return USAGE
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        only = error.exceptions[0]
        if isinstance(only, Exception):
            return complain(only)
    if isinstance(error, BrokenPipeError):
        _forget_output()
        return NOBODY_READS
    if isinstance(error, OSError) and (hint := _outside(error)):
        what = error.filename or "the disk"
        click.echo(f"error: {what}: {error.strerror}", err=True)
        click.echo(f"hint: {hint}", err=True)
        return USAGE
    if isinstance(error, AllstopError):
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        return USAGE
    raise error


def _outside(error: OSError) -> str:
    """What to do where the machine is at fault; "" where we may be."""
    if isinstance(error, FileNotFoundError) and error.filename == "git":
        return "install git; everything here is kept with it"
    return {
        errno.EACCES: "it has to be readable and writable for you",
        errno.EPERM: "it has to be readable and writable for you",
        errno.ENOTDIR: "something is in the way of a folder",
        errno.EEXIST: "something is in the way of a folder",
        errno.ENOTEMPTY: "empty it, or remove it",
        errno.EROFS: "it has to be on a disk that can be written",
        errno.ENOSPC: "make room",
        errno.EDQUOT: "make room",
    }.get(error.errno or 0, "")


def _forget_output() -> None:
    """Whoever read it is gone, as after `| head`: what is left to say is for nobody."""
    import os
    import sys

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
