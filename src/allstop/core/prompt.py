"""Prompts: their parts, how long providers cache them, and the digest the journal keeps."""

from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from hashlib import blake2b

DIGEST_CHARS = 32


class CacheLifetime(StrEnum):
    """How long a provider is asked to cache the prefix of a prompt."""

    NONE = ""  # caching would cost more than it saves
    MINUTES = "5m"
    HOUR = "1h"


NOT_CACHED, MINUTES = CacheLifetime.NONE, CacheLifetime.MINUTES


class Part(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One block of a structured prompt."""

    text: str
    keep: bool = False  # the prompt up to the end of this part will be the same next time
    digest: str = ""  # of the text; stored because most parts are sent many times


def part(text: str) -> Part:
    return Part(text=text, digest=digest_of(text))


class StructuredPrompt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A prompt split into parts, for models that cache its prefix between calls."""

    system: str
    parts: tuple[Part, ...]
    lifetime: CacheLifetime = CacheLifetime.NONE
    reply_schema: dict[str, object] | None = None  # the JSON schema of the reply


class Prompt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A prompt for an agent. The journal keeps its digest; a replay builds the text again."""

    digest: str
    chars: int
    text: str = ""
    talk: StructuredPrompt | None = None  # in place of the text
    review: str = ""  # the subject of a review, for an agent with its own review command

    @property
    def whole(self) -> str:
        """The whole prompt as one text."""
        if self.talk is None:
            return self.text
        return "\n\n".join([self.talk.system, *(part.text for part in self.talk.parts)])


def prompt(text: str, *, review: str = "") -> Prompt:
    return Prompt(digest=digest_of(text + review), chars=len(text), text=text, review=review)


def prompt_from(talk: StructuredPrompt) -> Prompt:
    digests = [part.digest or digest_of(part.text) for part in talk.parts]
    return prompt_with_digests(talk, "".join(digests), sum([len(part.text) for part in talk.parts]))


def prompt_with_digests(talk: StructuredPrompt, digests: str, chars: int) -> Prompt:
    """Like `prompt_from`, given the concatenated digests and the total length of the parts."""
    digest = digest_of(_known_digest(talk.system) + digests)
    return Prompt(digest=digest, chars=len(talk.system) + chars, talk=talk)


def with_note(known: Prompt, note: str) -> Prompt:
    """The prompt with a last paragraph for the agent; its digest is of the words before."""
    if known.talk is None:
        return replace(known, text=f"{known.text}\n\n{note}")
    parts = (*known.talk.parts, Part(text=note))
    return replace(known, talk=replace(known.talk, parts=parts))


def digest_of(text: str) -> str:
    hashed = _blake2b()(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_CHARS // 2)
    return hashed.hexdigest()


@cache
def _blake2b() -> "type[blake2b]":
    from hashlib import blake2b  # loads OpenSSL, which read-only commands don't need

    return blake2b


_known_digest = lru_cache(maxsize=256)(digest_of)
"""For the few system prompts that many prompts share."""
