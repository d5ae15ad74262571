"""Changing one setting in the checkout's allstop.toml."""

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
    """The value can't be used; the file is as it was."""

    default_code = "bad_setting"


class ChangedMeanwhileError(AllstopError):
    """The file is not what the person was shown."""

    default_code = "changed_meanwhile"


class Change(Struct, frozen=True, kw_only=True):
    """One setting as it shall be; UNSET goes back to the default."""

    key: str
    value: object = UNSET
    digest: str
    """Of the file as the person saw it."""


def digest_of(project: Project) -> str:
    """What tells one state of the file from another; "" where there is none."""
    content = content_of(project.repository / FILE_NAME)
    return "" if content is None else hashlib.sha256(content).hexdigest()


def change(project: Project, wish: Change) -> None:
    """Write it; the rest of the file keeps every byte.

    Raises:
        BadSettingError: no such setting, or it can't have this value.
        ChangedMeanwhileError: somebody else changed the file first.
        NotEditableError: it is written in a way that only a person should change.
    """
    path = project.repository / FILE_NAME
    before = content_of(path)
    if digest_of(project) != wish.digest:
        raise ChangedMeanwhileError(
            f"{FILE_NAME} was changed meanwhile", "look at it again, then change it"
        )
    after = _edited((before or b"").decode(), wish).encode()
    _try(project, wish, after)
    if after != before:
        _write(path, after)


def _edited(content: str, wish: Change) -> str:
    names = split_dotted(wish.key)
    if names is None or len(names) < 2:
        raise BadSettingError(f"{wish.key!r} is no setting", "`allstop config` lists them")
    if _has_hidden(wish.value):
        raise BadSettingError(
            "a part of it is hidden, so it can't be written back", "give the whole value"
        )
    bom = _BOM if content.startswith(_BOM) else ""
    text = content.removeprefix(_BOM)
    try:
        written = rename(_document(text)).written.get(names, names)
        if wish.value is UNSET:
            return bom + without(text, written)
        return bom + with_value(text, written, wish.value)
    except ValueError as error:
        raise NotEditableError(
            f"{FILE_NAME} has a mistake: {error}", "put it right in the file first"
        ) from None


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


def _try(project: Project, wish: Change, content: bytes) -> None:
    """With everything else that has a say, by what reads the settings."""
    try:
        project.with_file(content)
    except SettingsError as error:
        told = [each for each in error.problems if (each.key or "").startswith(wish.key)]
        problem = (told or error.problems)[0]
        message = problem.message if told else str(problem)
        raise BadSettingError(message, problem.hint or "") from None


def content_of(path: Path) -> bytes | None:
    """Raises NotEditableError for what is no plain file: a link leads out of the repository."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotEditableError(f"{FILE_NAME} is no plain file", "change it where it is")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotEditableError(f"{FILE_NAME} can't be read: {error.strerror}") from None


def _write(path: Path, content: bytes) -> None:
    """At once or not at all, with the rights it had."""
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
        raise NotEditableError(f"{FILE_NAME} can't be written: {error.strerror}") from None
