"""Parses text values of environment variables and flags by the type of their key."""

import re

from msgspec import inspect

from allstop.settings.schema import bare

_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")


def read_text(text: str, kind: inspect.Type) -> object:
    """Text that can't be parsed is returned unchanged; validation then reports it."""
    stripped = text.strip()
    match bare(kind):
        case inspect.BoolType():
            return _WORDS.get(stripped.lower(), text)
        case inspect.IntType():
            return int(stripped) if _WHOLE.fullmatch(stripped) else text
        case inspect.FloatType():
            return float(stripped) if _NUMBER.fullmatch(stripped) else text
        case inspect.VarTupleType():
            parts = [part.strip() for part in text.split(",") if part.strip()]
            return _toml(text) if stripped.startswith("[") else parts
        case inspect.DictType() | inspect.StructType():
            return _toml(text) if stripped.startswith("{") else text
        case inspect.UnionType() if stripped.startswith("["):
            return _toml(text)
        case _:
            return text


def _toml(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except (ValueError, RecursionError):
        return text
