"""Layers: the settings of each source, merged from the weakest to the strongest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path

from msgspec import Struct
from msgspec.inspect import Type

from allstop.settings.aliases import duplicates, rename
from allstop.settings.files.settings_file import Missing, Text, Unreadable
from allstop.settings.files.toml_lines import line_of
from allstop.settings.key_path import Document, KeyPath, is_set
from allstop.settings.origins import Default, Origin, RepositoryFile, UserFile
from allstop.settings.problems import Problem, locate
from allstop.settings.schema import inside, merges, root
from allstop.settings.validation import check


class Layer(Struct, frozen=True, kw_only=True):
    """The settings of one source, with aliases replaced."""

    document: Document = {}
    origins: Mapping[KeyPath, Origin] = {}
    problems: tuple[Problem, ...] = ()
    faulty: frozenset[KeyPath] = frozenset()
    """The paths of its problems."""
    is_complete: bool = True
    """False if the source couldn't be read."""


FileOrigin = type[UserFile] | type[RepositoryFile]


def file_layer(path: Path, content: Text | Unreadable | Missing, origin: FileOrigin) -> Layer:
    match content:
        case Missing():
            return Layer()
        case Unreadable():
            return Layer(problems=(_unreadable(path, content, origin),), is_complete=False)
        case Text():
            return _text_layer(content, lambda line: origin(path=path, line=line))


def _unreadable(path: Path, content: Unreadable, origin: FileOrigin) -> Problem:
    file = path.name if origin is RepositoryFile else str(path)
    return Problem(
        file=file,
        line=content.line,
        key=content.key,
        message=content.message,
        hint=content.hint,
    )


def _text_layer(content: Text, origin: Callable[[int], Origin]) -> Layer:
    checked = check(content.document)
    renamed = rename(checked.document)
    faults = sorted(
        (*checked.faults, *duplicates(content.document)),
        key=lambda fault: line_of(content.lines, fault.path),
    )
    origins: dict[KeyPath, Origin] = {path: origin(line) for path, line in content.lines.items()}
    for key, written in renamed.written.items():
        origins[key] = origin(line_of(content.lines, written))
    return Layer(
        document=renamed.document,
        origins=origins,
        faulty=frozenset(fault.path for fault in faults),
        problems=tuple(
            locate(fault, origin(line_of(content.lines, fault.path))) for fault in faults
        ),
    )


def merged(documents: Iterable[Document]) -> Document:
    """Merge tables key by key; other values of a stronger document replace weaker ones."""
    empty: Document = {}
    return reduce(lambda low, high: _merge(low, high, root()), documents, empty)


def _merge(low: Document, high: Document, kind: Type) -> Document:
    both = dict(low)
    for name, value in high.items():
        inner = inside(kind, name)
        under = both.get(name)
        if inner and merges(inner) and isinstance(under, dict) and isinstance(value, dict):
            both[name] = _merge(under, value, inner)
        else:
            both[name] = value
    return both


def origin_of(layers: Sequence[Layer], path: KeyPath) -> Origin:
    """The origin of the effective value; the last layer is the strongest."""
    for layer in reversed(layers):
        if is_set(layer.document, path):
            return _nearest_origin(layer, path)
    return Default()


def _nearest_origin(layer: Layer, path: KeyPath) -> Origin:
    for length in range(len(path), 0, -1):
        if path[:length] in layer.origins:
            return layer.origins[path[:length]]
    return Default()
