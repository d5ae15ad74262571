"""Secrets are taken out of what is kept or shown: by their values, and by how they look."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

HIDDEN = "***"
SHORTEST = 8
SEVERAL = 4
REMEMBERED = 64
LONGEST_BEGUN = 4096
"""Characters of a text that are held back because a secret may have begun."""

T = TypeVar("T")

_UNMISTAKABLE = (
    re.compile(
        r"()(?<![A-Za-z0-9])(?:sk-[\w-]{8,}|gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}"
        r"|xox[abprs]-[\w-]{8,}|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,300}\.[\w.-]{8,})"
    ),
    re.compile(r"(://[^/@\s\\:]*:)[^/@\s\\]+(?=@)"),
)
_LOOKS = (
    *_UNMISTAKABLE,
    re.compile(r"(?i)(bearer\s+)[^\s\"'\\]+"),
    re.compile(r"(?i)(authorization[\"'\\]*\s*[:=][\s\"'\\]*(?:basic|token|digest)\s+)[^\s\"'\\]+"),
    re.compile(r"(?i)((?:api-key|auth-token|private-token|cookie)\s*:\s*)[^\s\"'\\]+"),
    re.compile(
        r"(?i)((?:api_?key|secret|secret_key|private_key|passw(?:or)?d|(?:access|auth|refresh)_token)"
        r"\\*\"\s*:\s*\\*\")[^\"\\]+"
    ),
    re.compile(r"(?i)((?:key|token|secret|passw(?:or)?d)[\w-]{0,64}=)[^&;\s\"'\\]+"),
    re.compile(r"(://)[^/@\s\\]+(?=@)"),
)
_BEGUN = re.compile(
    r"(?i)(?:bearer\s+|authorization[\"'\\]*\s*[:=][\s\"'\\]*(?:basic|token|digest)?\s*"
    r"|(?:key|token|secret|passw|cookie)[\w-]{0,64}[\"'\\]*\s*[:=][\s\"'\\]*|://"
    r"|\b(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|A[KS]IA|AIza|eyJ))\S*$"
)
_STARTS = (b"sk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"pat_", b"glpat-", b"xox",
           b"akia", b"asia", b"aiza", b"eyj", b"bearer", b"authorization")  # fmt: skip
_NAMES = (b"key", b"token", b"secret", b"passw", b"cookie")
_MARKS = (*_STARTS, *_NAMES, b"://")
_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|credential|auth")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
_encode = msgspec.json.Encoder(enc_hook=str).encode


def is_secret_name(variable: str) -> bool:
    """Whether a variable of this name holds something that is nobody's business."""
    return _SECRET_NAME.search(variable) is not None


def scrubbed(text: str) -> str:
    """Without what looks like a key, a token or a password."""
    if not _may_look(text.encode(errors="surrogatepass")):
        return text
    return _without(_LOOKS, text)


def _without(looks: Iterable[re.Pattern[str]], text: str) -> str:
    for look in looks:
        text = look.sub(rf"\g<1>{HIDDEN}", text)
    return text


class Secrets:
    """The secrets that are known here."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        kept = {form for value in values if _is_telling(value) for form in _forms(value)}
        self._values = sorted(kept, key=len, reverse=True)
        self._encoded = [_encode(value)[1:-1] for value in self._values]

    def hide(self, text: str) -> str:
        """Without the secrets themselves: for what people say and what is our own."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def veil(self, text: str) -> str:
        """Also without what can't be anything else: for what people say, of which `key=len` is
        not to become something else.
        """
        return _without(_UNMISTAKABLE, self.hide(text))

    def scrub(self, text: str) -> str:
        """Also without what only looks like one: for what comes from outside."""
        return scrubbed(self.hide(text))

    def begun_in(self, text: str) -> int:
        """How many characters at its end may be the beginning of a secret, if they are several."""
        found = max((_overlap(text, value) for value in self._values), default=0)
        return found if found >= SEVERAL else 0

    def hidden_in(self, value: T) -> T:
        """A struct whose texts have no secrets in them; the same one if it had none."""
        if not self._values:
            return value
        encoded = _encode(value)
        if not any(secret in encoded for secret in self._encoded):
            return value
        return _rewritten(value, self.hide)

    def veiled_in(self, value: T) -> T:
        encoded = _encode(value)
        if not _may_look(encoded) and not any(secret in encoded for secret in self._encoded):
            return value
        return _rewritten(value, self.veil)

    def scrubbed_in(self, value: T) -> T:
        encoded = _encode(value)
        if not _may_look(encoded) and not any(secret in encoded for secret in self._encoded):
            return value
        return _rewritten(value, self.scrub)


class Flow:
    """Text that comes in pieces: a secret may begin in one and end in the next.

    A letter or two are shown at once, although a secret may begin with them: they tell nothing,
    and people would miss the end of a sentence for as long as the agent thinks.
    """

    def __init__(self) -> None:
        self._shown = ""  # the end of it
        self._held = ""

    def feed(self, text: str, secrets: Secrets) -> str:
        """What can be shown of it now."""
        joined = secrets.hide(self._shown + self._held + text)
        begun = max(secrets.begun_in(joined), _look_begun_in(joined))
        at = max(_common(joined, self._shown), len(joined) - begun)
        self._held = joined[at:]
        return self._next(joined[:at])

    def end(self) -> str:
        """What was held back, once nothing more comes."""
        held, self._held = self._held, ""
        return self._next(self._shown + held)

    def _next(self, joined: str) -> str:
        clean = scrubbed(joined)
        following = clean[_common(clean, self._shown) :]
        self._shown = clean[-REMEMBERED:]
        return following


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    if one.startswith(other):
        return len(other)
    return next(at for at, letter in enumerate(other) if not one.startswith(letter, at))


def _look_begun_in(text: str) -> int:
    tail = text[-LONGEST_BEGUN:].encode(errors="surrogatepass").lower()
    if not any(mark in tail for mark in _MARKS):
        return 0
    begun = _BEGUN.search(text, max(0, len(text) - LONGEST_BEGUN))
    return len(text) - begun.start() if begun else 0


def _overlap(text: str, value: str) -> int:
    """Of the end of a text with the beginning of a value, which is not there as a whole."""
    tail = text[-(len(value) - 1) :]
    at = tail.find(value[0])
    while at >= 0 and not value.startswith(tail[at:]):
        at = tail.find(value[0], at + 1)
    return len(tail) - at if at >= 0 else 0


def _may_look(encoded: bytes) -> bool:
    """Whether it is worth a closer look: most is not, and every turn is asked this.

    Spelled out, because a search for a literal is ten times quicker than a pattern.
    """
    lower = encoded.lower()
    return (
        any(start in lower for start in _STARTS)
        or (b"://" in lower and b"@" in lower)
        or (
            (b"=" in lower or b": " in lower or b'\\"' in lower) and any(n in lower for n in _NAMES)
        )
    )


def _forms(value: str) -> Iterator[str]:
    """As it is, within JSON, and within an address."""
    yield value
    yield _encode(value)[1:-1].decode()
    yield "".join(letter if letter in _PLAIN else _percent(letter) for letter in value)


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode(errors="replace"))


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
