"""Removes secrets from text: known values, and text that looks like a key, token or password."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

HIDDEN = "***"
MIN_SECRET_CHARS = 8
MIN_LETTERS = 16
"""A secret of letters only is at least this long, and mixes upper and lower case."""
MIN_PREFIX_CHARS = 4
CONTEXT_CHARS = 64
MAX_HELD_CHARS = 4096
"""At most this many characters of a stream are held back as a possible start of a secret."""

T = TypeVar("T")

_CERTAIN_PATTERNS = (
    re.compile(
        r"()(?<![A-Za-z0-9])(?:sk-[\w-]{8,}|gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}"
        r"|xox[abprs]-[\w-]{8,}|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,300}\.[\w.-]{8,})"
    ),
    re.compile(r"(://[^/@\s\\:]*:)[^/@\s\\]+(?=@)"),
    re.compile(
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
        r"(?:(?:(?!-----BEGIN)[\s\S]){0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\+[nrt]|[^\w/-]){0,40}[A-Za-z0-9+/]{16,}={0,2})+)"
    ),
)
_PATTERNS = (
    *_CERTAIN_PATTERNS,
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
_UNFINISHED = re.compile(
    r"(?i)(?:bearer\s+|authorization[\"'\\]*\s*[:=][\s\"'\\]*(?:basic|token|digest)?\s*"
    r"|(?:key|token|secret|passw|cookie)[\w-]{0,64}[\"'\\]*\s*[:=][\s\"'\\]*|://"
    r"|\b(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|A[KS]IA|AIza|eyJ))\S*$"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?:(?!-----(?:BEGIN|END))[\s\S])*$"
)
_PREFIXES = (b"sk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"pat_", b"glpat-", b"xox",
           b"akia", b"asia", b"aiza", b"eyj", b"bearer", b"authorization", b"-----begin ")  # fmt: skip
_NAMES = (b"key", b"token", b"secret", b"passw", b"cookie")
_HINTS = (*_PREFIXES, *_NAMES, b"://")
_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|credential|auth")
_ASSIGNMENT = re.compile(
    r"""^[ \t{,-]*(?:export[ \t]+)?["']?([\w.-]{1,200})["']?[ \t]*[:=][ \t]*(.+?)[ \t,}]*$""",
    re.MULTILINE,
)
_COMMENT = re.compile(r"[ \t]+#.*$")
_OPAQUE_RUN = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{8,}")
_URL_PASSWORD = re.compile(r"://[^/@\s:]*:([^/@\s]+)@")
_QUERY_PASSWORD = re.compile(r"([?&](?:ssl)?password=)([^&#\s]+)")
_URL_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
_encode = msgspec.json.Encoder(enc_hook=str).encode


def is_secret_name(variable: str) -> bool:
    """Whether an environment variable of this name is likely to hold a secret."""
    return _SECRET_NAME.search(variable) is not None


def assigned_secrets(text: str) -> Iterator[str]:
    """The secrets in a file of settings such as .env: values of secret names, and opaque values.

    A file of one word, such as a key file, is a secret as a whole.
    """
    stripped = text.strip()
    if len(stripped.split()) == 1 and "=" not in stripped.rstrip("="):
        yield stripped
    for name, raw in _ASSIGNMENT.findall(text):
        value = _unquoted(raw)
        if is_secret_name(name) or is_opaque(value):
            yield value
        yield from url_passwords(value)


def without_password(address: str) -> str:
    """An address with everything hidden that may be a password, even where it is malformed."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    login, at, place = rest.rpartition("@")
    user = login.partition(":")[0]
    hidden = f":{HIDDEN}" if ":" in login else ""
    place = _QUERY_PASSWORD.sub(rf"\g<1>{HIDDEN}", place)
    return redact_patterns(f"{scheme}://{user}{hidden}{at}{place}")


def url_passwords(text: str) -> list[str]:
    """The passwords in addresses, as they are written there."""
    return [*_URL_PASSWORD.findall(text), *(found for _, found in _QUERY_PASSWORD.findall(text))]


def _unquoted(raw: str) -> str:
    quote = raw[0]
    if quote in "\"'" and (end := raw.find(quote, 1)) > 0:
        return raw[1:end]
    return _COMMENT.sub("", raw)


def is_opaque(value: str) -> bool:
    """Whether a value looks random, so that it may be a secret whatever its name is.

    Addresses, paths, versions, names of models and regions don't.
    """
    if any(letter.isspace() for letter in value):
        return False
    if _OPAQUE_RUN.search(value):
        return True
    classes = (str.isupper, str.islower, str.isdigit)
    return "/" not in value and all(any(map(each, value)) for each in classes)


def redact_patterns(text: str) -> str:
    """Replace everything that looks like a key, a token or a password."""
    if not _may_contain_secret(text.encode(errors="surrogatepass")):
        return text
    return _substitute(_PATTERNS, text)


def _substitute(patterns: Iterable[re.Pattern[str]], text: str) -> str:
    for pattern in patterns:
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return text


class Secrets:
    """Known secret values, and three levels of redaction."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        kept = {form for value in values if _is_distinctive(value) for form in _encodings(value)}
        self._values = sorted(kept, key=len, reverse=True)
        self._encoded = [_encode(value)[1:-1] for value in self._values]

    def redact_known(self, text: str) -> str:
        """Replace known values only. For text of people and of this program."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def redact_certain(self, text: str) -> str:
        """Also replace unmistakable keys. For people's text, where `key=len` must stay."""
        return _substitute(_CERTAIN_PATTERNS, self.redact_known(text))

    def redact_all(self, text: str) -> str:
        """Also replace everything that looks like a secret. For text from outside."""
        return redact_patterns(self.redact_known(text))

    def partial_length(self, text: str) -> int:
        """The length of a known secret's prefix at the end of `text`; 0 below MIN_PREFIX_CHARS."""
        found = max((_overlap_length(text, value) for value in self._values), default=0)
        return found if found >= MIN_PREFIX_CHARS else 0

    def redact_known_in(self, value: T) -> T:
        """A copy of a struct without known secrets; the struct itself if it holds none."""
        if not self._values:
            return value
        encoded = _encode(value)
        if not any(secret in encoded for secret in self._encoded):
            return value
        return _rewrite(value, self.redact_known)

    def redact_certain_in(self, value: T) -> T:
        return self._redact_in(value, self.redact_certain)

    def redact_all_in(self, value: T) -> T:
        return self._redact_in(value, self.redact_all)

    def _redact_in(self, value: T, redact: Callable[[str], str]) -> T:
        encoded = _encode(value)
        if _may_contain_secret(encoded) or any(secret in encoded for secret in self._encoded):
            return _rewrite(value, redact)
        return value


class RedactedStream:
    """Redacts text that arrives in pieces: a secret may span several of them.

    One or two characters are shown at once although a secret may begin with them. They reveal
    nothing, and holding them back would cut the end of each sentence while the agent thinks.
    """

    def __init__(self) -> None:
        self._shown = ""  # the last CONTEXT_CHARS characters
        self._held = ""

    def feed(self, text: str, secrets: Secrets) -> str:
        """Add a piece and return the text that is safe to show."""
        joined = secrets.redact_known(self._shown + self._held + text)
        begun = max(secrets.partial_length(joined), _unfinished_length(joined))
        at = max(_common_prefix_length(joined, self._shown), len(joined) - begun)
        self._held = joined[at:]
        return self._next(joined[:at])

    def end(self) -> str:
        """Return the text that was held back, at the end of the stream."""
        held, self._held = self._held, ""
        return self._next(self._shown + held)

    def _next(self, joined: str) -> str:
        clean = redact_patterns(joined)
        following = clean[_common_prefix_length(clean, self._shown) :]
        self._shown = clean[-CONTEXT_CHARS:]
        return following


def _common_prefix_length(one: str, other: str) -> int:
    if one.startswith(other):
        return len(other)
    return next(at for at, letter in enumerate(other) if not one.startswith(letter, at))


def _unfinished_length(text: str) -> int:
    tail = text[-MAX_HELD_CHARS:].encode(errors="surrogatepass").lower()
    if not any(mark in tail for mark in _HINTS):
        return 0
    begun = _UNFINISHED.search(text, max(0, len(text) - MAX_HELD_CHARS))
    return len(text) - begun.start() if begun else 0


def _overlap_length(text: str, value: str) -> int:
    """How many characters at the end of `text` are a proper prefix of `value`."""
    tail = text[-(len(value) - 1) :]
    at = tail.find(value[0])
    while at >= 0 and not value.startswith(tail[at:]):
        at = tail.find(value[0], at + 1)
    return len(tail) - at if at >= 0 else 0


def _may_contain_secret(encoded: bytes) -> bool:
    """A quick test before the patterns run. Most text fails it, and every turn is tested.

    It searches literals, which is ten times faster than a pattern.
    """
    lower = encoded.lower()
    return (
        any(start in lower for start in _PREFIXES)
        or (b"://" in lower and b"@" in lower)
        or (
            (b"=" in lower or b": " in lower or b'\\"' in lower) and any(n in lower for n in _NAMES)
        )
    )


def _encodings(value: str) -> Iterator[str]:
    """The value as it is, escaped for JSON, and percent-encoded for a URL."""
    yield value
    yield _encode(value)[1:-1].decode()
    yield "".join(letter if letter in _URL_SAFE else _percent(letter) for letter in value)


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode(errors="replace"))


def _is_distinctive(value: str) -> bool:
    """A short word, or one of letters or digits only, would match unrelated text."""
    if value.isalpha():
        return len(value) >= MIN_LETTERS and not value[1:].islower() and not value.isupper()
    return len(value) >= MIN_SECRET_CHARS and not value.isdigit()


def _rewrite(value: T, clean: Callable[[str], str]) -> T:
    before = msgspec.to_builtins(value)
    after = _rewrite_value(before, clean)
    return value if after == before else msgspec.convert(after, type(value))


def _rewrite_value(value: object, clean: Callable[[str], str]) -> object:
    match value:
        case str():
            return clean(value)
        case dict():
            return {name: _rewrite_value(inner, clean) for name, inner in value.items()}
        case list() | tuple():
            return [_rewrite_value(inner, clean) for inner in value]
        case _:
            return value
