"""The schema of the settings: keys, types, defaults and descriptions, read from the model."""

from collections.abc import Iterator
from functools import cache, lru_cache

from msgspec import NODEFAULT, UNSET, inspect, to_builtins

from allstop.settings.key_path import KeyPath
from allstop.settings.model import Entry, Settings


@cache
def root() -> inspect.StructType:
    found = inspect.type_info(Settings)
    assert isinstance(found, inspect.StructType)
    return found


def bare(kind: inspect.Type) -> inspect.Type:
    """The type without metadata and without None, which TOML doesn't have."""
    while True:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        elif isinstance(kind, inspect.UnionType) and len(some := _but_none(kind)) == 1:
            kind = some[0]
        else:
            return kind


def _but_none(kind: inspect.UnionType) -> tuple[inspect.Type, ...]:
    return tuple(each for each in kind.types if not isinstance(each, inspect.NoneType))


def fields(kind: inspect.StructType) -> dict[str, inspect.Field]:
    return {field.name: field for field in kind.fields}


def is_entry(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.StructType) and issubclass(kind.cls, Entry)


def merges(kind: inspect.Type) -> bool:
    """Whether layers merge tables of this type key by key."""
    kind = bare(kind)
    return isinstance(kind, inspect.DictType) or (
        isinstance(kind, inspect.StructType) and not is_entry(kind)
    )


def inside(kind: inspect.Type, name: str) -> inspect.Type | None:
    """The type of a table's key; None if there is no such key."""
    kind = bare(kind)
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    if isinstance(kind, inspect.StructType):
        found = fields(kind).get(name)
        return None if found is None else found.type
    return None


@lru_cache(maxsize=2048)  # called for each listed setting
def kind_at(path: KeyPath) -> inspect.Type | None:
    kind: inspect.Type | None = root()
    for part in path:
        if kind is None or not isinstance(part, str):
            return None
        kind = inside(kind, part)
    return kind


def description_at(path: KeyPath) -> str:
    """The description of the key, or of the nearest table around it."""
    for length in range(len(path), 0, -1):
        text = _description(kind_at(path[:length]))
        if text:
            return text
    return ""


def _description(kind: inspect.Type | None) -> str:
    if isinstance(kind, inspect.Metadata):
        return str((kind.extra_json_schema or {}).get("description", ""))
    return ""


def default_at(path: KeyPath) -> object:
    """The default as a TOML value; UNSET for a required key or a key with a free name."""
    kind = kind_at(path[:-1])
    if kind is None or not isinstance(struct := bare(kind), inspect.StructType):
        return UNSET
    found = fields(struct).get(str(path[-1]))
    if found is None or found.required:
        return UNSET
    if found.default is NODEFAULT:
        return to_builtins(found.default_factory())
    return to_builtins(found.default)


def leaves(value: object, kind: inspect.Type, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of single values; a list or an entry counts as one value."""
    if not (merges(kind) and isinstance(value, dict) and (value or not path)):
        yield path
        return
    for name in value:
        inner = inside(kind, name)
        if inner is not None:
            yield from leaves(value[name], inner, (*path, name))


def fixed_keys(
    kind: inspect.Type | None = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """All keys with a fixed path; a table with free names counts as one key."""
    kind = bare(root() if kind is None else kind)
    if isinstance(kind, inspect.StructType) and not is_entry(kind):
        for name, field in fields(kind).items():
            yield from fixed_keys(field.type, (*path, name))
    else:
        yield path
