"""Builds the request to a model from a turn, within the turn's token limit."""

import hashlib

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.moves import Failed, FailureKind
from allstop.core.prompt import CacheLifetime, Part
from allstop.ports import Turn

LEAST_OUTPUT = 16
"""Providers reject a lower limit."""

_FRAME = 64  # tokens that a provider adds around the text
_BYTES_A_TOKEN = 3


class ModelRequest(Struct, frozen=True, kw_only=True):
    system: str
    parts: tuple[Part, ...]
    lifetime: CacheLifetime = CacheLifetime.NONE
    schema: dict[str, object] | None = None
    cache_key: str = ""
    max_output: int | None = None

    @property
    def chars(self) -> int:
        return len(self.system) + sum(len(part.text) for part in self.parts)

    def breakpoints(self, most: int) -> frozenset[int]:
        """The indexes of the parts after which the provider should cache: the last `most` ones."""
        if self.lifetime is CacheLifetime.NONE:
            return frozenset()
        kept = [index for index, part in enumerate(self.parts) if part.keep]
        return frozenset(kept[-most:] if most > 0 else ())


def build_request(turn: Turn, agent: str) -> ModelRequest | Failed:
    """The request of a turn, or its failure if the prompt leaves no tokens for a reply.

    `max_tokens` covers prompt and reply. The prompt's tokens are unknown before the call, so they
    are overestimated: one token per 3 bytes plus a frame, where prose has about 4 bytes per token
    and code a little more than 3. The reply gets the rest.
    """
    talk = turn.prompt.talk
    system = sendable(talk.system) if talk else ""
    parts = talk.parts if talk else (Part(text=turn.prompt.whole),)
    sent = tuple(Part(text=sendable(p.text), keep=p.keep) for p in parts if p.text.strip())
    if not sent:
        return Failed(kind=FailureKind.BAD_REQUEST, message="the prompt is empty")
    request = ModelRequest(
        system=system,
        parts=sent,
        lifetime=talk.lifetime if talk else CacheLifetime.NONE,
        schema=talk.reply_schema if talk else None,
        cache_key=_cache_key(turn.run, agent),
    )
    return request if turn.max_tokens is None else _limited(request, turn.max_tokens)


def sendable(text: str) -> str:
    """The text without lone surrogates, which providers reject."""
    return text.encode("utf-8", "replace").decode()


def prompt_tokens(request: ModelRequest) -> int:
    """The tokens of the prompt, overestimated."""
    texts = (request.system, *(part.text for part in request.parts), str(request.schema or ""))
    return _FRAME + sum(len(text.encode()) for text in texts) // _BYTES_A_TOKEN


def _limited(request: ModelRequest, max_tokens: int) -> ModelRequest | Failed:
    prompt = prompt_tokens(request)
    if max_tokens - prompt < LEAST_OUTPUT:
        message = f"the prompt needs up to {prompt:,} of this turn's {max_tokens:,} tokens"
        return Failed(kind=FailureKind.BAD_REQUEST, message=message)
    return replace(request, max_output=max_tokens - prompt)


def _cache_key(run: str, agent: str) -> str:
    """Lets all calls of one agent in one run use the same cache."""
    return hashlib.blake2b(f"{run}/{agent}".encode(), digest_size=16).hexdigest()
