"""Secrets are taken out of what is kept or shown: by their values, and by how they look."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

HIDDEN = "***"
SHORTEST = 8

T = TypeVar("T")

_LOOKS = (
    re.compile(
        r"()(?:sk-[\w-]{8,}|gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abprs]-[\w-]{8,}"
        r"|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w.-]{8,})"
    ),
    re.compile(r"(?i)(bearer\s+)[^\s\"'\\]+"),
    re.compile(r"(?i)((?:key|token|secret|passw(?:or)?d)[\w-]*=)[^&;\s\"'\\]+"),
    re.compile(r"(://)[^/@\s\\]+(?=@)"),
)
_GITHUB = re.compile(rb"gh[pousr]_")
_NAMES = (b"key", b"token", b"secret", b"passw")
_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|credential|auth")
_encode = msgspec.json.Encoder(enc_hook=str).encode


def is_secret_name(variable: str) -> bool:
    """Whether a variable of this name holds something that is nobody's business."""
    return _SECRET_NAME.search(variable) is not None


def scrubbed(text: str) -> str:
    """Without what looks like a key, a token or a password."""
    for look in _LOOKS:
        text = look.sub(rf"\g<1>{HIDDEN}", text)
    return text


class Secrets:
    """The secrets that are known here."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        kept = {value for value in values if _is_telling(value)}
        self._values = sorted(kept, key=len, reverse=True)
        self._encoded = [_encode(value)[1:-1] for value in self._values]

    def hide(self, text: str) -> str:
        """Without the secrets themselves: for what people say and what is our own."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def scrub(self, text: str) -> str:
        """Also without what only looks like one: for what comes from outside."""
        return scrubbed(self.hide(text))

    def begun_in(self, text: str) -> int:
        """How many characters at its end may be the beginning of a secret."""
        return max((_overlap(text, value) for value in self._values), default=0)

    def hidden_in(self, value: T) -> T:
        """A struct whose texts have no secrets in them; the same one if it had none."""
        if not self._values:
            return value
        encoded = _encode(value)
        if not any(secret in encoded for secret in self._encoded):
            return value
        return _rewritten(value, self.hide)

    def scrubbed_in(self, value: T) -> T:
        encoded = _encode(value)
        if not _may_look(encoded) and not any(secret in encoded for secret in self._encoded):
            return value
        return _rewritten(value, self.scrub)


class Flow:
    """Text that comes in pieces: a secret may begin in one and end in the next."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str, secrets: Secrets) -> str:
        """What can be shown of it now."""
        text = secrets.scrub(self._held + text)
        begun = secrets.begun_in(text)
        self._held = text[len(text) - begun :]
        return text[: len(text) - begun]


def _overlap(text: str, value: str) -> int:
    most = min(len(text), len(value) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(value[:size])), 0)


def _may_look(encoded: bytes) -> bool:
    """Whether it is worth a closer look: most is not, and every turn is asked this.

    Spelled out, because a search for a literal is ten times quicker than a pattern.
    """
    return (
        b"sk-" in encoded
        or b"pat" in encoded
        or b"xox" in encoded
        or b"AKIA" in encoded
        or b"ASIA" in encoded
        or b"AIza" in encoded
        or b"eyJ" in encoded
        or b"earer" in encoded
        or b"EARER" in encoded
        or _GITHUB.search(encoded) is not None
        or (b"://" in encoded and b"@" in encoded)
        or (b"=" in encoded and any(name in encoded.lower() for name in _NAMES))
    )


def _is_telling(value: str) -> bool:
    """A short or plain word would be found everywhere."""
    return len(value) >= SHORTEST and not value.isalpha() and not value.isdigit()


def _rewritten(value: T, clean: Callable[[str], str]) -> T:
    before = msgspec.to_builtins(value)
    after = _walked(before, clean)
    return value if after == before else msgspec.convert(after, type(value))


def _walked(value: object, clean: Callable[[str], str]) -> object:
    match value:
        case str():
            return clean(value)
        case dict():
            return {name: _walked(inner, clean) for name, inner in value.items()}
        case list() | tuple():
            return [_walked(inner, clean) for inner in value]
        case _:
            return value
