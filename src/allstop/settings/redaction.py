"""What is not shown of a setting because it may be a secret."""

from __future__ import annotations

import re

from allstop.settings.keys import KeyPath

HIDDEN = "***"

_SECRETS = (
    re.compile(
        r"()(?:sk-[\w-]{8,}|gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abprs]-[\w-]{8,}"
        r"|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w.-]{8,})"
    ),
    re.compile(r"(?i)(bearer\s+)[^\s\"']+"),
    re.compile(r"(?i)((?:key|token|secret|passw(?:or)?d)[\w-]*=)[^&;\s\"']+"),
    re.compile(r"(://)[^/@\s]+(?=@)"),
)


def redacted(value: object, path: KeyPath) -> object:
    """The value as it may be listed."""
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
        case ("notify", "urls", _):
            return text.partition("://")[0] + "://" + HIDDEN if "://" in text else HIDDEN
        case _:
            return scrubbed(text)


def scrubbed(text: str) -> str:
    """Without what looks like a key, a token or a password."""
    for secret in _SECRETS:
        text = secret.sub(rf"\g<1>{HIDDEN}", text)
    return text


def may_be_repeated(path: KeyPath) -> bool:
    """Whether an error may quote the value; people put keys where a key's name belongs."""
    match path:
        case ("agents", _, "env" | "api_key_env" | "pass_env", *_) | ("notify", "urls", *_):
            return False
        case _:
            return True
