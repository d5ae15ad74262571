"""JSON schemas in the dialects that providers enforce, and replies brought back from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

Schema = Mapping[str, Any]

_UNENFORCED = frozenset({
    "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "default", "examples",
    "$schema", "$id",
})  # fmt: skip
"""What at least one of the providers refuses; the receiver checks it in any case."""


def closed(schema: Schema) -> dict[str, Any]:
    """For providers that want every object closed, and leave out what is optional."""
    return _walk(schema, _close)


def strict(schema: Schema) -> dict[str, Any]:
    """For providers where every property is required: what is optional may be null instead."""
    return _walk(schema, _require)


def without_nulls(text: str, schema: Schema) -> str:
    """A reply to the strict schema as one to the schema itself."""
    try:
        value = json.loads(text)
        plain = _plain(value, schema, schema)
        return text if plain == value else json.dumps(plain, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _walk(schema: Schema, finish: Any) -> dict[str, Any]:
    done: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _UNENFORCED:
            continue
        if key in ("properties", "$defs", "definitions"):
            done[key] = {name: _walk(each, finish) for name, each in value.items()}
        elif key in ("anyOf", "oneOf", "allOf"):
            done["anyOf" if key == "oneOf" else key] = [_walk(each, finish) for each in value]
        elif key == "items":
            done[key] = _walk(value, finish)
        elif key != "discriminator":
            done[key] = value
    return cast("dict[str, Any]", finish(done)) if "properties" in done else done


def _close(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False}


def _require(schema: dict[str, Any]) -> dict[str, Any]:
    needed = schema.get("required", ())
    properties = {
        name: each if name in needed or _may_be_null(each) else {"anyOf": [each, {"type": "null"}]}
        for name, each in schema["properties"].items()
    }
    return {**_close(schema), "properties": properties, "required": list(properties)}


def _may_be_null(schema: Schema) -> bool:
    kind = schema.get("type")
    return (
        kind == "null"
        or (isinstance(kind, list) and "null" in kind)
        or ("enum" in schema and None in schema["enum"])
        or any(map(_may_be_null, schema.get("anyOf", schema.get("oneOf", ()))))
    )


def _plain(value: object, schema: Schema, root: Schema) -> object:
    schema = _meant(schema, root)
    if isinstance(value, list):
        return [_plain(each, schema.get("items", {}), root) for each in value]
    if not isinstance(value, dict):
        return value
    properties, needed = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _plain(each, properties.get(name, {}), root)
        for name, each in value.items()
        if each is not None or name in needed or name not in properties
    }


def _meant(schema: Schema, root: Schema) -> Schema:
    """What is behind a reference, and the one alternative to null."""
    for _ in range(32):
        others = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        if "$ref" in schema:
            *_, table, name = ["", *str(schema["$ref"]).split("/")]
            schema = root.get(table, {}).get(name, {})
        elif len(others) == 1:
            schema = others[0]
        else:
            break
    return schema
