"""Signatures: the type a model answers with, its JSON Schema, and an answer read by it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

S = TypeVar("S", bound=Struct)


def schema_of(kind: type[Struct]) -> dict[str, object]:
    """One closed object without references: not every server follows them."""
    _, parts = msgspec.json.schema_components([kind])
    schema = parts[kind.__name__]
    properties = {name: _inlined(each, parts) for name, each in schema["properties"].items()}
    return {**schema, "properties": properties, "additionalProperties": False}


def read(text: str, kind: type[S]) -> S | str:
    """What a model answered; or why that can't be taken for an answer."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return "there is no JSON object in it"
    try:
        raw = msgspec.json.decode(text[start : end + 1].encode(errors="replace"))
        return msgspec.convert(raw, kind, strict=False)  # "0.62" is a number, too
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)


def _inlined(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    chosen = parts[schema["$ref"].rpartition("/")[2]]
    return {"type": "string", "enum": chosen["enum"]}
