"""Structured output: JSON Schema of an answer type, and parsing of a model's answer."""

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

S = TypeVar("S", bound=Struct)


def schema_of(kind: type[Struct]) -> dict[str, object]:
    """A closed object schema without references, which not every server resolves."""
    _, parts = msgspec.json.schema_components([kind])
    schema = parts[kind.__name__]
    properties = {name: _inlined(each, parts) for name, each in schema["properties"].items()}
    return {**schema, "properties": properties, "additionalProperties": False}


def read(text: str, kind: type[S]) -> S | str:
    """Parse a model's answer; returns the reason if it is invalid."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return "there is no JSON object in it"
    try:
        raw = msgspec.json.decode(text[start : end + 1].encode(errors="replace"))
        return msgspec.convert(raw, kind, strict=False)  # accepts "0.62" as a number
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)


def _inlined(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    chosen = parts[schema["$ref"].rpartition("/")[2]]
    return {"type": "string", "enum": chosen["enum"]}
