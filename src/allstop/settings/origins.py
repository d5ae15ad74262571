"""Origins: the source of a setting's value."""

from pathlib import Path
from typing import assert_never

from msgspec import Struct


class Default(Struct, frozen=True, kw_only=True, tag=True):
    """No source sets the value."""


class UserFile(Struct, frozen=True, kw_only=True, tag=True):
    path: Path
    line: int


class RepositoryFile(Struct, frozen=True, kw_only=True, tag=True):
    path: Path
    line: int


class Variable(Struct, frozen=True, kw_only=True, tag=True):
    name: str


class Flag(Struct, frozen=True, kw_only=True, tag=True):
    """Set on the command line or by another caller."""


Origin = Default | UserFile | RepositoryFile | Variable | Flag


def source_of(origin: Origin) -> str:
    """The file or other source, as shown to people."""
    match origin:
        case Default():
            return "default"
        case UserFile(path=path):
            return str(path)
        case RepositoryFile(path=path):
            return path.name
        case Variable():
            return "environment"
        case Flag():
            return "command line"
        case _:
            assert_never(origin)


def describe_origin(origin: Origin) -> str:
    """For example default, allstop.toml:12, ALLSTOP_LOOP_MODE, command line."""
    match origin:
        case UserFile(line=line) | RepositoryFile(line=line):
            return f"{source_of(origin)}:{line}"
        case Variable(name=name):
            return name
        case _:
            return source_of(origin)
