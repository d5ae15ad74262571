"""Adapts JSON schemas to the dialects that providers enforce, and converts the replies back."""

import json
from collections.abc import Mapping
from typing import Any, cast

Schema = Mapping[str, Any]

_UNENFORCED = frozenset({
    "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "default", "examples",
    "$schema", "$id",
})  # fmt: skip
"""Keywords that at least one provider rejects; the receiver of the reply checks them anyway."""


def close_objects(schema: Schema) -> dict[str, Any]:
    """For providers that require `additionalProperties: false` in every object."""
    return _walk(schema, _close)


def require_all(schema: Schema) -> dict[str, Any]:
    """For providers that require every property: optional ones may be null instead."""
    return _walk(schema, _require)


def without_nulls(text: str, schema: Schema) -> str:
    """Convert a reply to the schema of `require_all` into one to the original schema."""
    try:
        value = json.loads(text)
        original = _drop_nulls(value, schema, schema)
        return text if original == value else json.dumps(original, ensure_ascii=False)
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


def _drop_nulls(value: object, schema: Schema, root: Schema) -> object:
    schema = _resolve(schema, root)
    if isinstance(value, list):
        return [_drop_nulls(each, schema.get("items", {}), root) for each in value]
    if not isinstance(value, dict):
        return value
    properties, needed = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _drop_nulls(each, properties.get(name, {}), root)
        for name, each in value.items()
        if each is not None or name in needed or name not in properties
    }


def _resolve(schema: Schema, root: Schema) -> Schema:
    """The schema behind a reference, or the only alternative to null."""
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
