"""Validation of one source against the model: its faults, and the document without them."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.inspect import DictType, EnumType, StructType, Type, VarTupleType

from allstop.core.secrets import redact_patterns
from allstop.settings import schema
from allstop.settings.aliases import ALIAS_TABLES, ALIASES
from allstop.settings.key_path import Document, KeyPath, dotted
from allstop.settings.model import Entry
from allstop.settings.problems import Fault, did_you_mean
from allstop.settings.redaction import may_quote
from allstop.settings.value_types import choices, expected, fits, shown


class Checked(Struct, frozen=True, kw_only=True):
    document: Document
    """Only the valid values, with shorthands expanded."""
    faults: tuple[Fault, ...]


def check(document: Document) -> Checked:
    faults: list[Fault] = []
    return Checked(document=_table(document, schema.root(), (), faults), faults=tuple(faults))


_WRONG = object()


def _value(value: object, kind: Type, path: KeyPath, faults: list[Fault]) -> object:
    """The valid value, or _WRONG after adding a fault."""
    plain = schema.bare(kind)
    match plain, value:
        case StructType(), str() if shorthand := _shorthand(plain):
            return _entry({shorthand: value}, plain, path, faults)
        case StructType(), dict() if schema.is_entry(plain):
            return _entry(value, plain, path, faults)
        case StructType() | DictType(), dict():
            return _table(value, plain, path, faults)
        case VarTupleType(item_type=item), list():
            return _list(value, item, path, faults)
        case _ if fits(value, kind):
            return value
        case _:
            faults.append(_type_fault(value, kind, path))
            return {} if schema.merges(plain) else _WRONG


def _table(table: Document, kind: Type, path: KeyPath, faults: list[Fault]) -> Document:
    right: Document = {}
    for name, value in table.items():
        here = (*path, name)
        inner = _kind_of(kind, here)
        if inner is None:
            faults.append(_unknown(here, kind, value))
            continue
        faults.extend(_bad_name(name, kind, path))
        checked = _value(value, inner, here, faults)
        if checked is not _WRONG:
            right[name] = checked
    return right


def _kind_of(kind: Type, path: KeyPath) -> Type | None:
    """The type of a key, looked up by its own name or an alias."""
    names = tuple(part for part in path if isinstance(part, str))
    if names in ALIASES:
        return schema.kind_at(ALIASES[names])
    if names in ALIAS_TABLES:
        return schema.kind_at(ALIAS_TABLES[names])
    return schema.inside(kind, str(path[-1]))


def _entry(entry: Document, kind: StructType, path: KeyPath, faults: list[Fault]) -> object:
    """An entry is valid as a whole or not at all, so that later checks see no partial entry."""
    before = len(faults)
    missing = [field.name for field in kind.fields if field.required and field.name not in entry]
    faults.extend(Fault(path, f"{name} is missing") for name in missing)
    right = _table(entry, kind, path, faults)
    return right if len(faults) == before else _WRONG


def _list(items: list[object], kind: Type, path: KeyPath, faults: list[Fault]) -> object:
    right = [_value(each, kind, (*path, place), faults) for place, each in enumerate(items)]
    return _WRONG if _WRONG in right else right


def _shorthand(kind: StructType) -> str | None:
    return kind.cls.shorthand if issubclass(kind.cls, Entry) else None


def _bad_name(name: str, kind: Type, path: KeyPath) -> Iterator[Fault]:
    if isinstance(kind, DictType) and not fits(name, kind.key_type):
        yield Fault((*path, name), f"expected {expected(kind.key_type)} here")


def _unknown(path: KeyPath, kind: Type, value: object) -> Fault:
    name = str(path[-1])
    what = "unknown section" if len(path) == 1 and isinstance(value, dict) else "unknown key"
    siblings = list(schema.fields(kind)) if isinstance(kind, StructType) else []
    siblings += [str(alias[-1]) for alias in ALIASES if alias[:-1] == path[:-1]]
    hint = did_you_mean(name, siblings) or _same_key_elsewhere(name)
    return Fault(path, what, hint)


def _same_key_elsewhere(name: str) -> str | None:
    """A hint if another table has a key of this name."""
    found = [key for key in schema.fixed_keys() if key[-1] == name]
    return f"did you mean {dotted(found[0])}?" if found else None


def _type_fault(value: object, kind: Type, path: KeyPath) -> Fault:
    got = redact_patterns(shown(value)) if may_quote(path) else "another value"
    return Fault(path, f"expected {expected(kind)}, got {got}", _type_hint(value, kind))


def _type_hint(value: object, kind: Type) -> str | None:
    match schema.bare(kind), value:
        case EnumType(cls=cls), str():
            return did_you_mean(value, choices(cls))
        case VarTupleType(), str():
            return "use a list: [ … ]"
        case _:
            return None
