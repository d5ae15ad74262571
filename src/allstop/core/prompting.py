"""What an agent is told, and what of it goes on record."""

from enum import StrEnum
from functools import lru_cache

from msgspec import Struct


class Lifetime(StrEnum):
    """How long a provider is asked to remember the front of a prompt."""

    NONE = ""  # it would not pay
    MINUTES = "5m"
    HOUR = "1h"


class Part(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A block of a talk as a model is shown it."""

    text: str
    keep: bool = False  # the front up to its end will be the same next time
    digest: str = ""  # of the text: most parts of a talk are sent again and again


def part(text: str) -> Part:
    return Part(text=text, digest=_digest(text))


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
    return Prompt(digest=_digest(text + review), chars=len(text), text=text, review=review)


def prompt_of(talk: Talk) -> Prompt:
    digests = [part.digest or _digest(part.text) for part in talk.parts]
    chars = len(talk.system) + sum([len(part.text) for part in talk.parts])
    digest = _digest("".join([_known_digest(talk.system), *digests]))
    return Prompt(digest=digest, chars=chars, talk=talk)


def _digest(text: str) -> str:
    import hashlib  # it loads OpenSSL, and whoever only looks makes no prompt

    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


_known_digest = lru_cache(maxsize=256)(_digest)
"""For the few texts that many talks begin with."""
