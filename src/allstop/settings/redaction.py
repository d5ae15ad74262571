"""Redaction: hides parts of settings that may be secrets."""

from allstop.core.secrets import HIDDEN, redact_patterns, without_password
from allstop.settings.key_path import KeyPath


def redacted(value: object, path: KeyPath) -> object:
    """The value with secrets hidden."""
    match value:
        case dict():
            return {name: redacted(inner, (*path, name)) for name, inner in value.items()}
        case list() | tuple():
            return [redacted(inner, (*path, place)) for place, inner in enumerate(value)]
        case str():
            return _redacted_text(value, path)
        case _:
            return value


def _redacted_text(text: str, path: KeyPath) -> str:
    match path:
        case ("agents", _, "env", _):
            return HIDDEN
        case ("store", "url"):
            return without_password(text)
        case ("notify", "urls", _):
            return text.partition("://")[0] + "://" + HIDDEN if "://" in text else HIDDEN
        case _:
            return redact_patterns(text)


def may_quote(path: KeyPath) -> bool:
    """Whether an error may quote the value. People sometimes put a key where its name belongs."""
    match path:
        case (
            ("agents", _, "env" | "api_key_env" | "api_key_file" | "pass_env", *_)
            | ("notify", "urls", *_)
            | ("store", "url")
        ):
            return False
        case ("verification", "env", *_):
            return False
        case _:
            return True
