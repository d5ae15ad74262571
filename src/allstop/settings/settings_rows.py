"""Settings rows: each setting with value, origin, description and default."""

from collections.abc import Iterator

from msgspec import Struct, to_builtins

from allstop.settings.key_path import KeyPath, dotted, value_at
from allstop.settings.loader import Loaded
from allstop.settings.origins import Origin
from allstop.settings.redaction import redacted
from allstop.settings.schema import default_at, description_at, leaves, root


class Row(Struct, frozen=True, kw_only=True):
    key: str
    value: object
    """As a TOML value, with secrets hidden; None if unset."""
    origin: Origin
    description: str
    default: object
    """UNSET for a required key or a key with a free name."""


def rows(loaded: Loaded) -> Iterator[Row]:
    """In the order of the model."""
    values = to_builtins(loaded.settings)
    for path in leaves(values, root()):
        yield _row(path, value_at(values, path), loaded.origins[dotted(path)])


def _row(path: KeyPath, value: object, origin: Origin) -> Row:
    return Row(
        key=dotted(path),
        value=redacted(value, path),
        origin=origin,
        description=description_at(path),
        default=default_at(path),
    )
