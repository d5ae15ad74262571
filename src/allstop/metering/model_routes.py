"""The methods and paths of each provider that a box may use."""

import re
from collections.abc import Mapping

from msgspec import Struct

from allstop.metering.wire_formats import Provider, WireFormat

QUERY_NAMES = frozenset(
    {"alt", "beta", "after_id", "before_id", "client_version", "limit", "pageSize", "pageToken"}
)
"""Parameters that are passed on; `key`, which can hold an API key, is not among them."""

MAX_TARGET_CHARS = 2048

_VALUE = re.compile(r"[A-Za-z0-9._~%+=-]*")

_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:@-]*"


class Route(Struct, frozen=True, kw_only=True):
    """An allowed request."""

    path: str  # below the provider's base address, with the query
    wire: WireFormat | None = None  # None: free of charge, such as a list of models
    model: str = ""  # if the path names it
    is_stream: bool = False  # if the path says so


class _Pattern(Struct, frozen=True, kw_only=True):
    method: str
    path: re.Pattern[str]
    wire: WireFormat | None = None
    is_stream: bool = False


def _pattern(
    method: str, path: str, wire: WireFormat | None = None, *, is_stream: bool = False
) -> _Pattern:
    return _Pattern(method=method, path=re.compile(path), wire=wire, is_stream=is_stream)


_ALLOWED: Mapping[Provider, tuple[_Pattern, ...]] = {
    Provider.OPENAI: (
        _pattern("POST", r"/v1(?P<path>/responses)", WireFormat.RESPONSES),
        _pattern("POST", r"/v1(?P<path>/chat/completions)", WireFormat.CHAT),
        _pattern("GET", r"/v1(?P<path>/models)"),
        _pattern("GET", rf"/v1(?P<path>/models/{_MODEL}(?:/{_MODEL})?)"),
    ),
    Provider.ANTHROPIC: (
        _pattern("POST", r"(?P<path>/v1/messages)", WireFormat.MESSAGES),
        _pattern("POST", r"(?P<path>/v1/messages/count_tokens)"),
        _pattern("GET", r"(?P<path>/v1/models)"),
        _pattern("GET", rf"(?P<path>/v1/models/{_MODEL})"),
    ),
    Provider.GEMINI: (
        _pattern(
            "POST",
            rf"(?P<path>/v1(?:beta|alpha)?/models/(?P<model>{_MODEL}):generateContent)",
            WireFormat.GEMINI,
        ),
        _pattern(
            "POST",
            rf"(?P<path>/v1(?:beta|alpha)?/models/(?P<model>{_MODEL}):streamGenerateContent)",
            WireFormat.GEMINI,
            is_stream=True,
        ),
        _pattern("POST", rf"(?P<path>/v1(?:beta|alpha)?/models/{_MODEL}:countTokens)"),
        _pattern("GET", r"(?P<path>/v1(?:beta|alpha)?/models)"),
        _pattern("GET", rf"(?P<path>/v1(?:beta|alpha)?/models/{_MODEL})"),
    ),
}


def find_route(provider: Provider, method: str, target: str) -> Route | None:
    """The route of a request line; None if it isn't allowed.

    The path must match literally: one with an escape, `..` or a double slash matches nothing.
    """
    if len(target) > MAX_TARGET_CHARS or not target.isascii():
        return None
    path, _, query = target.partition("?")
    if ".." in path:
        return None
    for allowed in _ALLOWED[provider]:
        found = allowed.path.fullmatch(path) if allowed.method == method else None
        if found is not None:
            return Route(
                path=found["path"] + _passed_query(query),
                wire=allowed.wire,
                model=found.groupdict().get("model") or "",
                is_stream=allowed.is_stream,
            )
    return None


def _passed_query(query: str) -> str:
    pairs = [pair for pair in query.split("&") if _is_passed(*pair.partition("=")[::2])]
    return f"?{'&'.join(pairs)}" if pairs else ""


def _is_passed(name: str, value: str) -> bool:
    return name in QUERY_NAMES and _VALUE.fullmatch(value) is not None
