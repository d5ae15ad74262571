"""What an agent of a room answers with, and how it is read from what came instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from allstop.core.ids import AgentName
from allstop.core.text import one_line

MOST_TRIES = 64
"""Places in a text where an envelope is looked for."""


class Handoff(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    to: str
    task: Annotated[str, Meta(min_length=1, max_length=500)]


class Envelope(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The one source of the schema that every model is given."""

    message: Annotated[str, Meta(min_length=1)]
    handoff: Handoff | UnsetType = UNSET
    final: bool | UnsetType = UNSET


class Reply(Struct, frozen=True, gc=False, kw_only=True):
    """What was understood of an answer."""

    message: str
    handoff: Handoff | None = None
    final: bool = False
    repaired: str = ""  # what had to be taken away to read it
    malformed: str = ""  # why it is shown as it came


class _Lenient(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The same as models are wont to write it: with null for what they leave out."""

    message: Annotated[str, Meta(min_length=1)]
    handoff: Handoff | None = None
    final: bool | None = None


_decode = msgspec.json.Decoder(_Lenient).decode
_objects = json.JSONDecoder()


@lru_cache(maxsize=64)
def envelope_schema(agents: tuple[AgentName, ...]) -> dict[str, object]:
    """The JSON Schema for a room of these agents."""
    (envelope,), components = msgspec.json.schema_components([Envelope], ref_template="{name}")
    found = components[str(envelope["$ref"])]
    handoff = dict(components["Handoff"])
    handoff["properties"] = {
        **handoff["properties"],
        "to": {"type": "string", "enum": list(agents)},
    }
    return {
        "type": "object",
        "properties": {**found["properties"], "handoff": _bare(handoff)},
        "required": ["message"],
        "additionalProperties": False,
    }


def _bare(schema: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def read_envelope(text: str) -> Reply:
    """The envelope itself, or the only one in the text; else the whole text is the message."""
    try:
        return _reply(_decode(text.strip()))
    except msgspec.DecodeError as error:
        problem = one_line(str(error), 200)  # it may quote a key
    found = list(_inside(text))
    if len(found) == 1:
        return _reply(found[0], repaired="text around the JSON was left out")
    if len(found) > 1:
        problem = f"{len(found)} envelopes in one reply"
    return Reply(message=text.strip(), malformed=problem)


def _reply(found: _Lenient, repaired: str = "") -> Reply:
    final = found.final is True
    return Reply(message=found.message, handoff=found.handoff, final=final, repaired=repaired)


def _inside(text: str) -> Iterator[_Lenient]:
    """The envelopes among the JSON objects in a text; what is inside of those is not looked at."""
    at = -1
    for _ in range(MOST_TRIES):
        at = text.find("{", at + 1)
        if at < 0:
            return
        try:
            _, end = _objects.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        with suppress(msgspec.DecodeError):
            yield _decode(text[at:end])
        at = end - 1
