"""How much of a talk an agent is sent, and whether its provider should remember the front of it.

A provider that remembers bills what it has seen before at a tenth, and what is new at a quarter
more. A window that loses its oldest item at every turn has a new front each time: nothing is ever
remembered, and everything costs a quarter more than without. So an elastic window grows, with its
front byte for byte the same, and is then cut back at once.
"""

import math
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.prompt import DIGEST_CHARS, FORGOTTEN, MINUTES, Lifetime, Part, part

CHARS_A_TOKEN = 4.0
"""The first guess; what providers report corrects it."""

LEAST_CHARS, MOST_CHARS = 1.0, 8.0
"""A report that says otherwise is not believed."""

CALIBRATION = 0.2
"""How much one report counts against all before it."""

HOUR_S = 3600
NEARLY = 0.8
"""How much of the time that something is remembered for may pass before it is asked for again."""

GAP_SHARE = 0.3
"""The same for the time between two calls."""


class Policy(StrEnum):
    ELASTIC = "elastic"
    STRICT = "strict"


STRICT = Policy.STRICT


class WindowSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    policy: Policy = Policy.ELASTIC
    items: int = 8
    items_max: int = 24
    tokens: int = 3_000
    tokens_max: int = 9_000


class Window(Struct, frozen=True, gc=False, kw_only=True):
    """The newest items of a talk, oldest first."""

    parts: tuple[Part, ...] = ()
    digests: str = ""  # of the parts, in a row
    chars: int = 0
    cuts: int = 0  # how often its front has changed


def add(window: Window, item: Part, spec: WindowSpec, chars_a_token: float) -> Window:
    """One more item; cut back when there are too many of them or they are too long."""
    length = len(item.text)
    if length > (most_chars := int(spec.tokens * chars_a_token)):
        item = part(shortened(item.text, most_chars))
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
    return replace(newest(grown, spec.items, most_chars), cuts=window.cuts + 1)


def newest(window: Window, most: int, most_chars: int) -> Window:
    """As many of the last items as fit, and the very last in any case."""
    parts = window.parts
    kept = 1
    chars = len(parts[-1].text) if parts else 0
    for each in reversed(parts[-max(most, 1) : -1]):
        if chars + len(each.text) > most_chars:
            break
        chars += len(each.text)
        kept += 1
    digests = window.digests[-kept * DIGEST_CHARS :]
    return Window(parts=parts[-kept:], digests=digests, chars=chars, cuts=window.cuts)


def shortened(text: str, most: int) -> str:
    """With its middle left out, and a mark where that was."""
    if len(text) <= most:
        return text
    mark = f"\n[… {len(text):,} characters, the middle is left out …]\n"
    room = max(0, most - len(mark))
    return (text[: room - room // 2] + mark + text[len(text) - room // 2 :])[: max(most, len(mark))]


def calibrated(chars_a_token: float, chars: int, tokens: int) -> float:
    """What one more report says about how long a token is; an absurd one says nothing."""
    if tokens <= 0 or chars <= 0 or not LEAST_CHARS <= chars / tokens <= MOST_CHARS:
        return chars_a_token
    return chars_a_token + CALIBRATION * (chars / tokens - chars_a_token)


def estimate(chars: int, chars_a_token: float) -> int:
    return math.ceil(chars / chars_a_token)


# --- what a provider remembers ---


class Memory(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How a model's provider remembers the front of a prompt, and what that costs."""

    least: int = 1024  # tokens; a shorter front is not remembered
    write: float = 1.25  # for what is new, as a share of the plain price
    write_hour: float | None = 2.0  # for an hour; None where a longer time can't be had
    read: float = 0.1
    minutes: float = 5.0


FORGETFUL = Memory(least=0, write=1.0, read=1.0, write_hour=None)
"""An agent that bills nothing, or bills everything alike."""


def lifetime(memory: Memory, gap_s: float | None) -> Lifetime:
    """For how long it must be remembered, by the time between two calls of the same agent."""
    if memory.read >= 1.0:
        return FORGOTTEN
    if gap_s is None or gap_s < memory.minutes * 60 * NEARLY:
        return MINUTES
    if memory.write_hour is not None and gap_s < HOUR_S * NEARLY:
        return Lifetime.HOUR
    return FORGOTTEN


@lru_cache(maxsize=64)  # it is asked for when a turn is chosen, and again when it has begun
def is_worth(
    spec: WindowSpec, memory: Memory, kept: Lifetime, *, front: float, item: float, step: float
) -> bool:
    """Whether a window that grows will be cheaper than one that doesn't and is not remembered.

    `front` is what comes before the items, `item` their mean length, both in tokens; `step` is how
    many items come between two calls of this agent.
    """
    if kept is FORGOTTEN:
        return False
    write = memory.write if kept is MINUTES else (memory.write_hour or memory.write)
    most = max(spec.items, min(spec.items_max, spec.tokens_max / max(item, 1.0)))
    cost, calls, count = 0.0, 0, float(spec.items)
    seen = front if front >= memory.least else 0.0  # the system's own part outlives a cut
    while count <= most:
        whole = front + count * item
        remembered = whole >= memory.least
        new = whole - seen
        cost += seen * memory.read + new * (write if remembered else 1.0)
        seen = whole if remembered else 0.0
        calls += 1
        count += step
    return cost / calls < front + spec.items * item


class Pace(Struct, frozen=True, gc=False, kw_only=True):
    """How often one agent is called, and how its window is kept."""

    at: datetime | None = None  # the last call
    gap_s: float | None = None  # between two calls, on average
    is_elastic: bool = True  # as it was decided when the window was last cut
    cuts: int = -1  # which cut that was


def called(pace: Pace, at: datetime) -> Pace:
    gap_s = pace.gap_s
    if pace.at is not None:
        since_s = max(0.0, (at - pace.at).total_seconds())
        gap_s = since_s if gap_s is None else gap_s + GAP_SHARE * (since_s - gap_s)
    return replace(pace, at=at, gap_s=gap_s)
