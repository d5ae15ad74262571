"""A turn as one question to a model, and how many tokens it may take."""

from __future__ import annotations

import hashlib

from msgspec import Struct

from allstop.core.moves import Failed, FailureKind
from allstop.core.prompt import CacheLifetime, Part
from allstop.ports import Turn

LEAST_OUTPUT = 16
"""Fewer tokens make no reply, and providers refuse them."""

_FRAME = 64  # what a provider adds around the text
_BYTES_A_TOKEN = 3


class Question(Struct, frozen=True, kw_only=True):
    system: str
    parts: tuple[Part, ...]
    lifetime: CacheLifetime = CacheLifetime.NONE
    schema: dict[str, object] | None = None
    cache_key: str = ""
    max_output: int | None = None

    @property
    def chars(self) -> int:
        return len(self.system) + sum(len(part.text) for part in self.parts)

    def marked(self, most: int) -> frozenset[int]:
        """The parts at whose end the provider is to remember the front: the last ones count."""
        if self.lifetime is CacheLifetime.NONE:
            return frozenset()
        kept = [place for place, part in enumerate(self.parts) if part.keep]
        return frozenset(kept[-most:] if most > 0 else ())


def ask(turn: Turn, agent: str) -> Question | Failed:
    """The question of a turn.

    `max_tokens` is for prompt and reply together. What the prompt takes is not known before the
    call, so it is taken for more than it is: one token for 3 bytes and some for the frame, where
    prose has about 4 and code a little more than 3. The rest is what the reply may have. A prompt
    that leaves nothing for a reply is not sent.
    """
    talk = turn.prompt.talk
    system = sendable(talk.system) if talk else ""
    parts = talk.parts if talk else (Part(text=turn.prompt.whole),)
    sent = tuple(Part(text=sendable(p.text), keep=p.keep) for p in parts if p.text.strip())
    if not sent:
        return Failed(kind=FailureKind.BAD_REQUEST, message="the prompt is empty")
    question = Question(
        system=system,
        parts=sent,
        lifetime=talk.lifetime if talk else CacheLifetime.NONE,
        schema=talk.reply_schema if talk else None,
        cache_key=_cache_key(turn.run, agent),
    )
    return question if turn.max_tokens is None else _limited(question, turn.max_tokens)


def sendable(text: str) -> str:
    """Without halves of characters, which no provider takes."""
    return text.encode("utf-8", "replace").decode()


def _limited(question: Question, max_tokens: int) -> Question | Failed:
    texts = (question.system, *(part.text for part in question.parts), str(question.schema or ""))
    prompt = _FRAME + sum(len(text.encode()) for text in texts) // _BYTES_A_TOKEN
    if max_tokens - prompt < LEAST_OUTPUT:
        message = f"the prompt takes up to {prompt:,} of the {max_tokens:,} tokens of this turn"
        return Failed(kind=FailureKind.BAD_REQUEST, message=message)
    return Question(
        system=question.system,
        parts=question.parts,
        lifetime=question.lifetime,
        schema=question.schema,
        cache_key=question.cache_key,
        max_output=max_tokens - prompt,
    )


def _cache_key(run: str, agent: str) -> str:
    """The calls of one agent in one run should meet the same cache."""
    return hashlib.blake2b(f"{run}/{agent}".encode(), digest_size=16).hexdigest()
