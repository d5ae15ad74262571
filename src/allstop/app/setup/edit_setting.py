"""Editing one setting in the checkout's allstop.toml."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from allstop.core.errors import AllstopError
from allstop.core.secrets import HIDDEN
from allstop.settings.aliases import rename
from allstop.settings.files.toml_editor import NotEditableError, with_value, without
from allstop.settings.key_path import split_dotted
from allstop.settings.loader import FILE_NAME
from allstop.settings.problems import SettingsError

if TYPE_CHECKING:
    from allstop.app.project import Project

_BOM = "\ufeff"


class BadSettingError(AllstopError):
    """The value is invalid; the file is unchanged."""

    default_code = "bad_setting"


class ChangedMeanwhileError(AllstopError):
    """The file changed after it was shown to the person."""

    default_code = "changed_meanwhile"


class Change(Struct, frozen=True, kw_only=True):
    """The new value of one setting; UNSET restores the default."""

    key: str
    value: object = UNSET
    digest: str
    """Of the file as the person saw it."""


def digest_of(project: Project) -> str:
    """A hash of the file's content; "" if there is no file."""
    content = content_of(project.repository / FILE_NAME)
    return "" if content is None else hashlib.sha256(content).hexdigest()


def write_setting(project: Project, change: Change) -> None:
    """Write the setting; the rest of the file keeps every byte.

    Raises BadSettingError if there is no such setting, or the value is invalid,
    ChangedMeanwhileError if the file has changed since it was shown, and NotEditableError if the
    file is written in a way that this can't edit.
    """
    path = project.repository / FILE_NAME
    before = content_of(path)
    if digest_of(project) != change.digest:
        raise ChangedMeanwhileError(f"{FILE_NAME} was changed meanwhile", "reload it and try again")
    after = _edited((before or b"").decode(), change).encode()
    _validate(project, change, after)
    if after != before:
        _write(path, after)


def _edited(content: str, change: Change) -> str:
    names = split_dotted(change.key)
    if names is None or len(names) < 2:
        hint = "`allstop config` lists them"
        raise BadSettingError(f"{change.key!r} is no setting", hint)
    if _has_hidden(change.value):
        message = f"a part of the value of {change.key} is hidden, so it can't be written back"
        raise BadSettingError(message, "give the whole value")
    bom = _BOM if content.startswith(_BOM) else ""
    text = content.removeprefix(_BOM)
    try:
        written = rename(_document(text)).written.get(names, names)
        if change.value is UNSET:
            return bom + without(text, written)
        return bom + with_value(text, written, change.value)
    except ValueError as error:
        message = f"{FILE_NAME} has a mistake: {error}"
        raise NotEditableError(message, "fix it in the file first") from None


def _document(text: str) -> dict[str, object]:
    import tomllib

    return tomllib.loads(text)


def _has_hidden(value: object) -> bool:
    match value:
        case str():
            return HIDDEN in value
        case dict():
            return any(map(_has_hidden, value.values()))
        case list():
            return any(map(_has_hidden, value))
        case _:
            return False


def _validate(project: Project, change: Change, content: bytes) -> None:
    """Load all settings with the edited file."""
    try:
        project.with_file(content)
    except SettingsError as error:
        own = [each for each in error.problems if (each.key or "").startswith(change.key)]
        problem = (own or error.problems)[0]
        message = problem.message if own else str(problem)
        raise BadSettingError(message, problem.hint or "") from None


def content_of(path: Path) -> bytes | None:
    """Raises NotEditableError if it is no regular file: a link may lead out of the repository."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            hint = "edit it where it is"
            raise NotEditableError(f"{FILE_NAME} is no plain file", hint)
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{FILE_NAME} can't be read: {error.strerror}"
        raise NotEditableError(message) from None


def _write(path: Path, content: bytes) -> None:
    """Replace the file atomically, with the same permissions."""
    fresh = path.with_name(f".{FILE_NAME}.{os.getpid()}.new")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    try:
        with fresh.open("xb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        message = f"{FILE_NAME} can't be written: {error.strerror}"
        raise NotEditableError(message) from None
