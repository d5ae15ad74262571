"""A section file: one section of the settings in a separate file."""

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


class Section(NamedTuple):
    settings: Settings
    keys: frozenset[str]  # the keys that the file sets; the rest are defaults


def read_section(
    path: Path,
    table: str,
    *,
    faults: Callable[[Document], Iterable[Fault]] = lambda document: (),
) -> Section:
    """Settings from a file that has the section's table, or only the table's keys.

    Raises SettingsError if the file can't be used; with the line of each problem.
    """
    content = read_file(path)
    if isinstance(content, Missing):
        raise SettingsError([Problem(file=str(path), message="the file doesn't exist")])
    if isinstance(content, Text) and table not in content.document:
        if not content.document:
            raise SettingsError(
                [Problem(file=str(path), message=f"the file is empty; expected [{table}]")]
            )
        lines = {(table, *key): line for key, line in content.lines.items()}
        content = Text(document={table: content.document}, lines={(table,): 1, **lines})
    layer = file_layer(path, content, UserFile)
    found = [locate(fault, origin_of((layer,), fault.path)) for fault in faults(layer.document)]
    if problems := [*layer.problems, *found]:
        raise SettingsError(problems)
    section = layer.document.get(table, {})
    keys = frozenset(section) if isinstance(section, dict) else frozenset()
    return Section(convert(layer.document, Settings), keys)
