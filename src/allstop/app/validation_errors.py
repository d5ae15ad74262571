"""Turns msgspec's validation errors into plain sentences, with the allowed names as a hint."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
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
}
_LENGTHS = {
    "str` of length <=": "is longer than {:,} characters",
    "str` of length >=": "is shorter than {:,} characters",
    "array` of length <=": "has more than {:,} entries",
    "array` of length >=": "has fewer than {:,} entries",
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
        value = None
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = msgspec.json.decode(body)
        raise _invalid(error, expected, value) from error


def convert_arguments(values: object, expected: Any) -> Any:
    """Convert decoded JSON. Raises InvalidRequestError."""
    try:
        return msgspec.convert(values, expected)
    except msgspec.ValidationError as error:
        raise _invalid(error, expected, values) from error


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
        if found := re.fullmatch(pattern, text, re.DOTALL):
            return words(path or "the body", f"{path}." if path else "", *found.groups())
    return f"{path or 'the body'} is invalid: {text}"


def _field(message: str) -> tuple[str, str]:
    """Split a message of msgspec into its text and the path of the field, such as `texts[1]`."""
    found = _SUFFIX.search(message)
    return (message[: found.start()], found[1].lstrip("$.")) if found else (message, "")


def _type(name: str, _: str, types: str) -> str:
    *others, last = [_TYPES.get(each, each) for each in types.split(" | ") if each != "null"]
    return f"{name} must be {', '.join(others)} or {last}" if others else f"{name} must be {last}"


def _length(name: str, _: str, limit: str, number: str) -> str:
    is_empty = limit.endswith(">=") and number == "1"
    return f"{name} {'is empty' if is_empty else _LENGTHS[limit].format(int(number))}"


def _bound(name: str, _: str, bound: str, number: str) -> str:
    return f"{name} must be {_BOUNDS[bound]} {float(number):,.15g}"


_SENTENCES: tuple[tuple[str, Callable[..., str]], ...] = (
    (r"Object missing required field `(.*)`", lambda _, above, field: f"{above}{field} is missing"),
    (r"Object contains unknown field `(.*)`", lambda _, above, field: f"{above}{field} is unknown"),
    (r"Expected `((?:str|array)` of length (?:>=|<=)) (\d+)", _length),
    (r"Expected `(?:int|float)` (>=|>|<=|<) (\S+)", _bound),
    (r"Expected `(?!null`)([^`]*)`(?:, got `.*`)?", _type),
    (r"Invalid (?:enum )?value (.*)", lambda name, _, value: f"{name} can't be {value}"),
    (r"Invalid RFC3339 encoded (.*)", _type),
    (r".* out of range ?", lambda name, _: f"{name} is out of range"),
)


def _type_at(path: str, kind: inspect.Type, value: Any) -> inspect.Type:
    """Return the type of a field, following the tags of `value` in unions of structs."""
    kind = _member(kind, value)
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(kind, inspect.StructType):
            fields = {each.encode_name: each.type for each in kind.fields}
            kind = fields.get(step, inspect.AnyType())
        elif isinstance(kind, inspect.VarTupleType):
            kind = kind.item_type
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list):
            value = {str(index): each for index, each in enumerate(value)}.get(step)
        kind = _member(kind, value)
    return kind


def _member(kind: inspect.Type, value: Any) -> inspect.Type:
    """Return the member of a union that fits a value; a union whose tag is wrong stays."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if not isinstance(kind, inspect.UnionType):
        return kind
    members = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    tags = value if isinstance(value, dict) else {}
    for each in members:
        is_tagged = isinstance(each, inspect.StructType) and tags.get(each.tag_field) == each.tag
        if len(members) == 1 or is_tagged:
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
