"""The context window of a conversation, and whether the provider should cache its prefix.

With prompt caching a provider bills cached input at a tenth of the price and new input at a
quarter more. A window that drops its oldest item at each turn has a new prefix each time, so
nothing is read from the cache and everything costs a quarter more. An elastic window therefore
grows with an unchanged prefix and is then cut back in one step.
"""

import math
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.prompt import DIGEST_CHARS, MINUTES, NOT_CACHED, CacheLifetime, Part, part

CHARS_PER_TOKEN = 4.0
"""The first estimate; the usage that providers report corrects it."""

MIN_CHARS_PER_TOKEN, MAX_CHARS_PER_TOKEN = 1.0, 8.0
"""A report outside this range is ignored."""

CALIBRATION = 0.2
"""The weight of one report in the moving average."""

HOUR_S = 3600
LIFETIME_SHARE = 0.8
"""A cache entry counts as usable while less than this share of its lifetime has passed."""

GAP_SHARE = 0.3
"""The weight of one gap between two calls in the moving average."""


class WindowPolicy(StrEnum):
    ELASTIC = "elastic"
    STRICT = "strict"


STRICT = WindowPolicy.STRICT


class WindowSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    policy: WindowPolicy = WindowPolicy.ELASTIC
    items: int = 8
    items_max: int = 24
    tokens: int = 3_000
    tokens_max: int = 9_000
    edition: int = 1  # since 2, the last two items are always in the window


class Window(Struct, frozen=True, gc=False, kw_only=True):
    """The newest items of a conversation, oldest first."""

    parts: tuple[Part, ...] = ()
    digests: str = ""  # of the parts, concatenated
    chars: int = 0
    cuts: int = 0  # how often its front has changed


def add(window: Window, item: Part, spec: WindowSpec, chars_a_token: float) -> Window:
    """Append an item; cut the window back when it has too many items or characters."""
    length = len(item.text)
    if length > (most_item := longest_item(spec, chars_a_token)):
        item = part(shortened(item.text, most_item))
        length = len(item.text)
    if spec.policy is STRICT:
        most_items, most_tokens = spec.items, spec.tokens
    else:
        most_items = max(spec.items, spec.items_max)
        most_tokens = max(spec.tokens, spec.tokens_max)
    grown = Window(
        parts=(*window.parts, item),
        digests=window.digests + item.digest,
        chars=window.chars + length,
        cuts=window.cuts,
    )
    if len(grown.parts) <= most_items and grown.chars <= most_tokens * chars_a_token:
        return grown
    return replace(newest(grown, spec, chars_a_token), cuts=window.cuts + 1)


def longest_item(spec: WindowSpec, chars_a_token: float) -> int:
    """The characters of an item before its middle is left out; a quarter is for the one before."""
    whole = int(spec.tokens * chars_a_token)
    return whole if spec.edition < 2 else whole * 3 // 4


def newest(window: Window, spec: WindowSpec, chars_a_token: float) -> Window:
    """As many of the last items as fit, always including the last one.

    A handoff follows the message it belongs to, so the last two are kept: the message is shortened
    if both don't fit.
    """
    parts, most_chars = window.parts, int(spec.tokens * chars_a_token)
    kept = 1
    chars = len(parts[-1].text) if parts else 0
    for each in reversed(parts[-max(spec.items, 1) : -1]):
        if chars + len(each.text) > most_chars:
            break
        chars += len(each.text)
        kept += 1
    if kept == 1 and len(parts) > 1 and spec.items > 1 and spec.edition >= 2:
        message = part(shortened(parts[-2].text, most_chars - chars))
        return Window(
            parts=(message, parts[-1]),
            digests=message.digest + parts[-1].digest,
            chars=chars + len(message.text),
            cuts=window.cuts,
        )
    digests = window.digests[-kept * DIGEST_CHARS :]
    return Window(parts=parts[-kept:], digests=digests, chars=chars, cuts=window.cuts)


def shortened(text: str, most: int) -> str:
    """The text with its middle replaced by a note, if it is longer than `most`."""
    if len(text) <= most:
        return text
    mark = f"\n[… {len(text):,} characters, the middle is left out …]\n"
    room = max(0, most - len(mark))
    return (text[: room - room // 2] + mark + text[len(text) - room // 2 :])[: max(most, len(mark))]


def calibrated(chars_a_token: float, chars: int, tokens: int) -> float:
    """The average length of a token after one more report; implausible reports are ignored."""
    if (
        tokens <= 0
        or chars <= 0
        or not MIN_CHARS_PER_TOKEN <= chars / tokens <= MAX_CHARS_PER_TOKEN
    ):
        return chars_a_token
    return chars_a_token + CALIBRATION * (chars / tokens - chars_a_token)


def estimate(chars: int, chars_a_token: float) -> int:
    return math.ceil(chars / chars_a_token)


# --- prompt caching ---


class CachePricing(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a model's provider charges for prompt caching, as shares of the plain input price."""

    least: int = 1024  # tokens; a shorter prefix is not cached
    write: float = 1.25  # for new input
    write_hour: float | None = 2.0  # for a lifetime of an hour; None if it is not offered
    read: float = 0.1
    minutes: float = 5.0


NO_CACHING = CachePricing(least=0, write=1.0, read=1.0, write_hour=None)
"""For agents that charge nothing, or the same for all input."""


def lifetime(memory: CachePricing, gap_s: float | None) -> CacheLifetime:
    """The cache lifetime to request, by the average gap between two calls of the agent."""
    if memory.read >= 1.0:
        return NOT_CACHED
    if gap_s is None or gap_s < memory.minutes * 60 * LIFETIME_SHARE:
        return MINUTES
    if memory.write_hour is not None and gap_s < HOUR_S * LIFETIME_SHARE:
        return CacheLifetime.HOUR
    return NOT_CACHED


@lru_cache(maxsize=64)  # computed when a turn is chosen, and again when it starts
def is_growing_cheaper(
    spec: WindowSpec,
    memory: CachePricing,
    kept: CacheLifetime,
    *,
    front: float,
    item: float,
    step: float,
) -> bool:
    """Whether a growing, cached window costs less than a window of fixed size without caching.

    `front` is the prefix before the items and `item` their mean length, both in tokens; `step` is
    the number of items between two calls of this agent.
    """
    if kept is NOT_CACHED:
        return False
    write = memory.write if kept is MINUTES else (memory.write_hour or memory.write)
    most = max(spec.items, min(spec.items_max, spec.tokens_max / max(item, 1.0)))
    cost, calls, count = 0.0, 0, float(spec.items)
    seen = front if front >= memory.least else 0.0  # the system prompt stays cached after a cut
    while count <= most:
        whole = front + count * item
        remembered = whole >= memory.least
        new = whole - seen
        cost += seen * memory.read + new * (write if remembered else 1.0)
        seen = whole if remembered else 0.0
        calls += 1
        count += step
    return cost / calls < front + spec.items * item


class CallPace(Struct, frozen=True, gc=False, kw_only=True):
    """How often one agent is called, and whether its window is elastic."""

    at: datetime | None = None  # the last call
    gap_s: float | None = None  # between two calls, on average
    is_elastic: bool = True  # decided when the window was last cut
    cuts: int = -1  # the number of that cut


def record_call(pace: CallPace, at: datetime) -> CallPace:
    gap_s = pace.gap_s
    if pace.at is not None:
        since_s = max(0.0, (at - pace.at).total_seconds())
        gap_s = since_s if gap_s is None else gap_s + GAP_SHARE * (since_s - gap_s)
    return replace(pace, at=at, gap_s=gap_s)
