"""What an agent is told, and what of it goes on record."""

from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from hashlib import blake2b

DIGEST_CHARS = 32


class Lifetime(StrEnum):
    """How long a provider is asked to remember the front of a prompt."""

    NONE = ""  # it would not pay
    MINUTES = "5m"
    HOUR = "1h"


FORGOTTEN, MINUTES = Lifetime.NONE, Lifetime.MINUTES


class Part(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A block of a talk as a model is shown it."""

    text: str
    keep: bool = False  # the front up to its end will be the same next time
    digest: str = ""  # of the text: most parts of a talk are sent again and again


def part(text: str) -> Part:
    return Part(text=text, digest=digest_of(text))


class Talk(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A prompt taken apart, for models that remember the front of one from call to call."""

    system: str
    parts: tuple[Part, ...]
    lifetime: Lifetime = Lifetime.NONE
    reply_schema: dict[str, object] | None = None  # of the JSON that is wanted


class Prompt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What an agent is told. The record keeps the digest; a replay makes the text again."""

    digest: str
    chars: int
    text: str = ""
    talk: Talk | None = None  # in place of the text
    review: str = ""  # … and for an agent with a review of its own, what that is to look at

    @property
    def whole(self) -> str:
        """All of it in one piece, for who takes only that."""
        if self.talk is None:
            return self.text
        return "\n\n".join([self.talk.system, *(part.text for part in self.talk.parts)])


def prompt(text: str, *, review: str = "") -> Prompt:
    return Prompt(digest=digest_of(text + review), chars=len(text), text=text, review=review)


def prompt_of(talk: Talk) -> Prompt:
    digests = [part.digest or digest_of(part.text) for part in talk.parts]
    return prompt_knowing(talk, "".join(digests), sum([len(part.text) for part in talk.parts]))


def prompt_knowing(talk: Talk, digests: str, chars: int) -> Prompt:
    """The same, where the digests of all parts, in a row, and their length are known."""
    digest = digest_of(_known_digest(talk.system) + digests)
    return Prompt(digest=digest, chars=len(talk.system) + chars, talk=talk)


def digest_of(text: str) -> str:
    hashed = _blake2b()(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_CHARS // 2)
    return hashed.hexdigest()


@cache
def _blake2b() -> "type[blake2b]":
    from hashlib import blake2b  # it loads OpenSSL, and whoever only looks makes no prompt

    return blake2b


_known_digest = lru_cache(maxsize=256)(digest_of)
"""For the few texts that many talks begin with."""
