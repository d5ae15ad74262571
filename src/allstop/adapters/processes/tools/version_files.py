"""Reads the files that pin versions of tools: in the repository, its parents, or the home."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

LARGEST_BYTES = 100_000
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class Asker(Struct, frozen=True, kw_only=True):
    """The person who would run a program, and the folder they would run it in."""

    home: Path
    folder: Path | None = None
    variables: Mapping[str, str] = {}

    def root(self, variable: str, default: str) -> Path:
        """The folder that a variable names, or its place in the home."""
        named = Path(self.variables.get(variable, ""))
        return named if named.is_absolute() else self.home / default

    def folders_up(self) -> Iterator[Path]:
        """The folder, and the folders above it."""
        if self.folder is not None:
            yield from (self.folder, *self.folder.parents)

    def nearest(self, *names: str) -> Iterator[Path]:
        """The files of these names, the nearest first; those in the home last."""
        places = dict.fromkeys((*self.folders_up(), self.home))
        files = (place / name for place in places for name in names)
        return (file for file in files if file.is_file())


def read_text(file: Path) -> str:
    """The text of a small file; "" if there is none."""
    try:
        if not file.is_file() or file.stat().st_size > LARGEST_BYTES:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_lines(file: Path) -> list[list[str]]:
    """The words of each line, without comments."""
    lines = (line.partition("#")[0].split() for line in read_text(file).splitlines())
    return [words for words in lines if words]


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(file))
    except (ValueError, RecursionError):
        return {}


def read_json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(file) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def table(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def installed(folder: Path, version: str) -> list[Path]:
    """The folder of an installed version; of the newest one if only its first numbers are given.

    A version comes from files of the repository, so it must be a plain name.
    """
    if not _VERSION.fullmatch(version):
        return []
    if (folder / version).is_dir():
        return [folder / version]
    fitting = (each for sign in ".-" for each in folder.glob(f"{version}{sign}*") if each.is_dir())
    return sorted(fitting, key=_numbers)[-1:]


def _numbers(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]
