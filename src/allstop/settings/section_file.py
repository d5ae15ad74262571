"""One table of the settings in a file of its own, to be tried before it is taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import convert

from allstop.settings.files.settings_file import Missing, Text, read_file
from allstop.settings.key_path import Document
from allstop.settings.model import Settings
from allstop.settings.origins import UserFile
from allstop.settings.problems import Fault, Problem, SettingsError, locate
from allstop.settings.sources.layers import file_layer, origin_of


def settings_apart(
    path: Path,
    table: str,
    *,
    faults: Callable[[Document], Iterable[Fault]] = lambda document: (),
) -> Settings:
    """With the table under its name as in allstop.toml, or only what is in it.

    Raises:
        SettingsError: it is no such file; with the line of each mistake.
    """
    return table_apart(path, table, faults=faults).settings


class Apart(NamedTuple):
    settings: Settings
    said: frozenset[str]  # the keys of the table that the file has; the rest are defaults


def table_apart(
    path: Path,
    table: str,
    *,
    faults: Callable[[Document], Iterable[Fault]] = lambda document: (),
) -> Apart:
    """The same, and what of it the file says.

    Raises:
        SettingsError: it is no such file; with the line of each mistake.
    """
    content = read_file(path)
    if isinstance(content, Missing):
        raise SettingsError([Problem(file=str(path), message="there is no such file")])
    if isinstance(content, Text) and table not in content.document:
        if not content.document:
            raise SettingsError([Problem(file=str(path), message=f"it says nothing of [{table}]")])
        lines = {(table, *key): line for key, line in content.lines.items()}
        content = Text(document={table: content.document}, lines={(table,): 1, **lines})
    layer = file_layer(path, content, UserFile)
    found = [locate(fault, origin_of((layer,), fault.path)) for fault in faults(layer.document)]
    if problems := [*layer.problems, *found]:
        raise SettingsError(problems)
    said = layer.document.get(table, {})
    keys = frozenset(said) if isinstance(said, dict) else frozenset()
    return Apart(convert(layer.document, Settings), keys)
