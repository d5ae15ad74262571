"""Turns msgspec's validation errors into plain sentences, with the allowed names as a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from allstop.core.errors import AllstopError

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "datetime": "a time such as 2030-01-31T18:00:00Z",
    "date": "a date such as 2030-01-31",
    "time": "a time of day such as 18:00:00",
}
_BOUNDS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}

_SUFFIX = re.compile(r" - at (?:`key` in )?`([^`]*)`$")


class InvalidRequestError(AllstopError):
    """A parameter or the body of a request has a wrong name or value."""

    default_code = "invalid"


def decode_body(body: bytes, expected: Any) -> Any:
    """Decode JSON. Raises InvalidRequestError, or msgspec.DecodeError if it isn't JSON."""
    try:
        return msgspec.json.decode(body, type=expected)
    except msgspec.ValidationError as error:
        raise _invalid(error, expected, msgspec.json.decode(body)) from error


def convert_parameters(values: Mapping[str, str], expected: Any) -> Any:
    """Convert path and query parameters. Raises InvalidRequestError."""
    try:
        return msgspec.convert(values, expected, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error, expected, values) from error


def _invalid(error: msgspec.ValidationError, expected: Any, value: Any) -> InvalidRequestError:
    message, hint = str(error), ""
    kind = _type_at(_field(message)[1], inspect.type_info(expected), value)
    if allowed := _allowed(message, kind):
        noun = "known fields" if isinstance(kind, inspect.StructType) else "allowed"
        hint = f"{noun}: {', '.join(allowed)}"
    return InvalidRequestError(sentence(message), hint)


def sentence(message: str) -> str:
    """Return the plain sentence for a message of msgspec; "the body" is its top level."""
    text, path = _field(message)
    for pattern, words in _SENTENCES:
        if found := re.fullmatch(pattern, text):
            return words(path or "the body", f"{path}." if path else "", *found.groups())
    return f"{path or 'the body'} is invalid: {text}"


def _field(message: str) -> tuple[str, str]:
    """Split a message of msgspec into its text and the path of the field, such as `texts[1]`."""
    found = _SUFFIX.search(message)
    return (message[: found.start()], found[1].lstrip("$.")) if found else (message, "")


def _type(name: str, _: str, types: str) -> str:
    found = [_TYPES.get(each, each) for each in types.split(" | ") if each != "null"]
    *first, last = found
    return f"{name} must be {', '.join(first)} or {last}" if first else f"{name} must be {last}"


def _length(name: str, _: str, kind: str, bound: str, number: str) -> str:
    if bound == ">=" and number == "1":
        return f"{name} is empty"
    if kind == "str":
        return (
            f"{name} is {'longer' if bound == '<=' else 'shorter'} than {int(number):,} characters"
        )
    return f"{name} has {'more' if bound == '<=' else 'fewer'} than {int(number):,} entries"


def _bound(name: str, _: str, bound: str, number: str) -> str:
    return f"{name} must be {_BOUNDS[bound]} {float(number):,.15g}"


_SENTENCES: tuple[tuple[str, Callable[..., str]], ...] = (
    (r"Object missing required field `(.*)`", lambda _, above, field: f"{above}{field} is missing"),
    (r"Object contains unknown field `(.*)`", lambda _, above, field: f"{above}{field} is unknown"),
    (r"Expected `(str|array|object)` of length (>=|<=) (\d+)", _length),
    (r"Expected `array` of (.*?)(?:, got \d+)?", lambda name, _, text: f"{name} must be a list of {text}"),
    (r"Expected `(?:int|float)` (>=|>|<=|<) (\S+)", _bound),
    (r"Expected `.*` (that's a multiple of .*)", lambda name, _, text: f"{name} isn't a number {text}"),
    (r"Expected `.*` matching regex (.*)", lambda name, _, text: f"{name} doesn't match {text}"),
    (r"Expected `.*` with (a|no) timezone component", lambda name, _, text: f"{name} must have {text} time zone"),
    (r"Expected `([^`]*)`(?:, got `.*`)?", _type),
    (r"Invalid (?:enum )?value (.*)", lambda name, _, value: f"{name} can't be {value}"),
    (r"Invalid RFC3339 encoded (.*)", _type),
    (r"Invalid (.*)", lambda name, _, text: f"{name} isn't a valid {text}"),
    (r"(.*) (?:value )?(?:is )?out of range ?", lambda name, _, text: f"{name} is out of range"),
)  # fmt: skip


def _type_at(path: str, kind: inspect.Type, value: Any) -> inspect.Type:
    """Return the type of a field, following the tags of `value` in unions of structs."""
    kind = _chosen(kind, value)
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(kind, inspect.StructType):
            fields = {each.encode_name: each.type for each in kind.fields}
            kind, value = fields.get(step, inspect.AnyType()), value.get(step)
        elif isinstance(kind, inspect.VarTupleType | inspect.ListType):
            kind, value = kind.item_type, value[int(step)]
        kind = _chosen(kind, value)
    return kind


def _chosen(kind: inspect.Type, value: Any) -> inspect.Type:
    """Return the member of a union that fits a value; a union whose tag is wrong stays."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if not isinstance(kind, inspect.UnionType):
        return kind
    found = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    if len(found) == 1:
        return found[0]
    given = value if isinstance(value, dict) else {}
    for each in found:
        if isinstance(each, inspect.StructType) and given.get(each.tag_field) == each.tag:
            return each
    return kind


def _allowed(message: str, kind: inspect.Type) -> list[str]:
    """Return the names or values to choose from, for a wrong one."""
    match kind:
        case inspect.StructType(fields=fields) if "unknown field" in message:
            return [each.encode_name for each in fields]
        case inspect.UnionType(types=types) if "Invalid value" in message:
            return [str(each.tag) for each in types if isinstance(each, inspect.StructType)]
        case inspect.EnumType(cls=cls):
            return [str(each.value) for each in cls]
        case inspect.LiteralType(values=values):
            return [str(each) for each in values]
        case _:
            return []
