"""Shared by all commands: their context, output as text or JSON, errors and exit codes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from allstop.core.errors import AllstopError
from allstop.core.text import escape_json, plain
from allstop.glance import cells as cells
from allstop.glance import columns as columns
from allstop.glance import fitting as fitting
from allstop.glance import look as look
from allstop.glance import run as run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.supervisor import RunKinds
    from allstop.core.moves import Outcome

USAGE = 2
FINISHED, FAILED, WAITS, LIMIT, STOPPED = 0, 1, 3, 4, 130  # exit codes of commands that drive runs
BROKEN_PIPE = 141  # the exit code that shells report for a program ended by SIGPIPE


class Context(NamedTuple):
    folder: Path
    flags: tuple[str, ...]
    kinds: RunKinds | None = None  # instead of the program's own table

    @property
    def run_kinds(self) -> RunKinds:
        """How to open and resume each kind of run."""
        if self.kinds is not None:
            return self.kinds
        from allstop.app.kinds import RUN_KINDS

        return RUN_KINDS

    @contextmanager
    def project(
        self, more: Mapping[str, object] | None = None, *, repairs: bool = False
    ) -> Iterator[Project]:
        from allstop.app.project import Project
        from allstop.settings.sources.environment import this_environment

        flags = {**dict(_pair(flag) for flag in self.flags), **(more or {})}
        pure = self.kinds.pure if self.kinds is not None else None
        project = Project(self.folder.resolve(), this_environment(), flags, pure, repairs=repairs)
        try:
            if self.flags:
                _ = project.settings  # refuses unknown keys, also for commands that read none
            yield project
        finally:
            project.close()


def _pair(flag: str) -> tuple[str, object]:
    key, equals, value = flag.partition("=")
    if not equals:
        raise click.BadParameter(f"{flag!r} is not KEY=VALUE", param_hint="--set")
    return key, _value(value)


def _value(text: str) -> object:
    """The value as TOML reads it, else the text itself."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


def code_of(outcome: Outcome | None) -> int:
    """The exit code for how a run ended; None: it waits for a person."""
    from allstop.core.moves import Outcome

    match outcome:
        case None:
            return WAITS
        case Outcome.DONE:
            return FINISHED
        case Outcome.BRAKED | Outcome.TIMED_OUT:
            return LIMIT
        case Outcome.ABORTED:
            return STOPPED
        case _:
            return FAILED


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print text, made safe for a terminal. All commands print with this or as JSON.

    `style` is that of `click.style`; click removes it if the output is no terminal.
    """
    text = plain(text)
    styled = click.style(text, **style) if style and "NO_COLOR" not in os.environ else text
    click.echo(styled, err=err, nl=nl)


def in_words(text: str, indent: str = "    ") -> str:
    """The text with long lines broken between words; a terminal breaks them anywhere."""
    import textwrap

    width = columns()
    if width is None:
        return text
    wrapper = textwrap.TextWrapper(
        width,
        subsequent_indent=indent,
        expand_tabs=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = plain(text).split("\n")
    return "\n".join(wrapper.fill(line) if len(line) > width else line for line in lines)


def print_json(value: object) -> None:
    """Print one document, indented."""
    import msgspec

    echo(escape_json(msgspec.json.format(msgspec.json.encode(value)).decode()))


def print_json_line(value: object) -> None:
    """Print one document as one line."""
    import msgspec

    echo(escape_json(msgspec.json.encode(value).decode()))


class ErrorReport(NamedTuple):
    """An error for people, or for programs that asked for JSON."""

    code: str
    message: str
    hint: str = ""

    def print(self, *, as_json: bool) -> None:
        if as_json:
            import json

            echo(escape_json(json.dumps({"error": self._asdict()}, ensure_ascii=False)))
            return
        for line in self.message.split("\n"):
            echo(in_words(f"error: {line}"), err=True)
        if self.hint:
            echo(in_words(f"hint: {self.hint}"), err=True)


def asks_for_json(args: Sequence[str]) -> bool:
    """Whether --json is among the options, even if the rest of the command line is wrong."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def report_usage_error(error: click.ClickException, *, as_json: bool) -> int:
    """Print an error in the command line itself and return the exit code."""
    if not as_json:
        import io

        shown = io.StringIO()
        error.show(shown)
        echo(shown.getvalue(), err=True, nl=False)
        return error.exit_code
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"see `{context.command_path} --help`" if context else ""
    code = next(code for kind, code in USAGE_CODES if isinstance(error, kind))
    ErrorReport(code, error.format_message(), hint).print(as_json=True)
    return error.exit_code


class UnknownCommandError(click.UsageError):
    """There is no command of that name."""


USAGE_CODES = (
    (UnknownCommandError, "unknown_command"),
    (click.NoSuchOption, "unknown_option"),
    (click.MissingParameter, "missing_argument"),
    (click.BadParameter, "invalid_argument"),
    (click.ClickException, "usage"),
)


def report_error(error: Exception, *, as_json: bool = False) -> int:
    """Print an error that a person can fix and return the exit code; raise any other again."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        only = error.exceptions[0]
        if isinstance(only, Exception):
            return report_error(only, as_json=as_json)
    if isinstance(error, BrokenPipeError):
        _discard_output()
        return BROKEN_PIPE
    report = _report(error)
    if report is None:
        raise error
    report.print(as_json=as_json)
    return USAGE


def _report(error: Exception) -> ErrorReport | None:
    from allstop.settings.problems import SettingsError

    if isinstance(error, SettingsError):
        return ErrorReport("settings", "\n".join(map(str, error.problems)))
    if isinstance(error, AllstopError):
        return ErrorReport(error.code, error.message, error.hint)
    if isinstance(error, FileNotFoundError) and error.filename == "git":
        return ErrorReport("git_missing", f"git: {error.strerror}", "install git")
    if isinstance(error, OSError) and error.errno in SYSTEM_ERRORS:
        code, hint = SYSTEM_ERRORS[error.errno]
        return ErrorReport(code, f"{error.filename or 'the disk'}: {error.strerror}", hint)
    return None


SYSTEM_ERRORS = {
    errno.EACCES: ("permission_denied", "make it readable and writable for you"),
    errno.EPERM: ("permission_denied", "make it readable and writable for you"),
    errno.ENOTDIR: ("not_a_folder", "a file stands where a folder is needed: move it away"),
    errno.EEXIST: ("not_a_folder", "a file stands where a folder is needed: move it away"),
    errno.ENOTEMPTY: ("folder_not_empty", "empty it, or remove it"),
    errno.EROFS: ("read_only_disk", "use a disk that can be written"),
    errno.ENOSPC: ("disk_full", "free some space"),
    errno.EDQUOT: ("disk_full", "free some space"),
}
"""Errors of the machine, with their code and hint. Any other OSError may be a mistake of ours."""


def _discard_output() -> None:
    """After a broken pipe, as after `| head`, send further output nowhere."""
    import sys

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
