"""Value types: checks a value against a setting's type and describes the type in errors."""

import enum
import re
from collections.abc import Iterable
from typing import TypeGuard

from msgspec import inspect, json

from allstop.settings.schema import bare


def fits(value: object, kind: inspect.Type) -> bool:
    """Whether a value that isn't a table has the type; tables are checked key by key."""
    match bare(kind):
        case inspect.UnionType(types=types):
            return any(fits(value, each) for each in types)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType() as number:
            return isinstance(value, int) and not isinstance(value, bool) and _in(value, number)
        case inspect.FloatType() as number:
            return _is_number(value) and _in(value, number)
        case inspect.StrType() as text:
            return isinstance(value, str) and _is_text(value, text)
        case inspect.EnumType(cls=cls):
            return isinstance(value, str) and value in choices(cls)
        case inspect.VarTupleType(item_type=item):
            return isinstance(value, list) and all(fits(each, item) for each in value)
        case _:
            return False


def choices(cls: Iterable[enum.Enum]) -> tuple[str, ...]:
    return tuple(str(each.value) for each in cls)


def expected(kind: inspect.Type) -> str:
    """The description of a type, for example "a whole number from 1 to 256"."""
    while isinstance(kind, inspect.Metadata):
        if kind.extra and "expected" in kind.extra:
            return str(kind.extra["expected"])
        kind = kind.type
    match kind:
        case inspect.UnionType(types=types):
            wanted = (expected(each) for each in types if not isinstance(each, inspect.NoneType))
            return " or ".join(dict.fromkeys(wanted))
        case inspect.IntType() as number:
            return "a whole number" + _range(number)
        case inspect.FloatType() as number:
            return "a number" + _range(number)
        case inspect.EnumType(cls=cls):
            return "one of " + ", ".join(choices(cls))
        case inspect.VarTupleType(item_type=item):
            return (
                "a list of tables"
                if isinstance(bare(item), inspect.StructType)
                else "a list of strings"
            )
        case _:
            return _PLAIN.get(type(kind), "another type")


_PLAIN: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.StrType: "a string",
    inspect.StructType: "a table",
    inspect.DictType: "a table",
}


_LONGEST = 40


def shown(value: object) -> str:
    """A value as errors quote it: short and on one line."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.encode(value if len(value) <= _LONGEST else value[:_LONGEST] + "…").decode()
        case int() if abs(value) >= 10**18:
            return "a very large number"
        case int() | float():
            return str(value)
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in(value: float, bounds: inspect.IntType | inspect.FloatType) -> bool:
    """Whether the value is within bounds; NaN never is."""
    return (
        (bounds.ge is None or value >= bounds.ge)
        and (bounds.gt is None or value > bounds.gt)
        and (bounds.le is None or value <= bounds.le)
    )


def _range(bounds: inspect.IntType | inspect.FloatType) -> str:
    if bounds.ge is not None:
        return f" from {bounds.ge:,}" + (f" to {bounds.le:,}" if bounds.le is not None else "")
    parts = [
        f" above {bounds.gt:,}" if bounds.gt is not None else "",
        f" at most {bounds.le:,}" if bounds.le is not None else "",
    ]
    return ",".join(part for part in parts if part)


def _is_text(value: str, kind: inspect.StrType) -> bool:
    return (
        (kind.min_length is None or len(value) >= kind.min_length)
        and (kind.max_length is None or len(value) <= kind.max_length)
        and (kind.pattern is None or re.search(kind.pattern, value) is not None)
    )
