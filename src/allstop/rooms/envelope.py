"""The envelope: the JSON format of an agent's answer in a room, its schema and its parser."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from allstop.core.ids import AgentName
from allstop.core.text import one_line

MAX_CANDIDATES = 64
"""Maximum number of opening braces tried as the start of an envelope."""


class Handoff(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    to: str
    task: Annotated[str, Meta(min_length=1, max_length=500)]


class Envelope(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The answer format; the schema for the models is derived from it."""

    message: Annotated[str, Meta(min_length=1)]
    handoff: Handoff | UnsetType = UNSET
    final: bool | UnsetType = UNSET


class Reply(Struct, frozen=True, gc=False, kw_only=True):
    """A parsed answer."""

    message: str
    handoff: Handoff | None = None
    final: bool = False
    repaired: str = ""  # what was removed to parse it
    malformed: str = ""  # why it couldn't be parsed


class _LenientEnvelope(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The envelope with null for omitted keys, as many models write it."""

    message: Annotated[str, Meta(min_length=1)]
    handoff: Handoff | None = None
    final: bool | None = None


_decode = msgspec.json.Decoder(_LenientEnvelope).decode
_objects = json.JSONDecoder()


@lru_cache(maxsize=64)
def envelope_schema(others: tuple[AgentName, ...]) -> dict[str, object]:
    """The JSON Schema for an agent that can hand over to these others."""
    (envelope,), components = msgspec.json.schema_components([Envelope], ref_template="{name}")
    found = components[str(envelope["$ref"])]
    handoff = dict(components["Handoff"])
    handoff["properties"] = {
        **handoff["properties"],
        "to": {"type": "string", "enum": list(others)},
    }
    properties = {**found["properties"], "handoff": _bare(handoff)}
    if not others:
        del properties["handoff"]
    return {
        "type": "object",
        "properties": properties,
        "required": ["message"],
        "additionalProperties": False,
    }


def _bare(schema: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def read_envelope(text: str) -> Reply:
    """Parse the envelope, or the only one inside the text; otherwise the whole text is the message."""
    try:
        return _reply(_decode(text.strip()))
    except msgspec.DecodeError as error:
        problem = one_line(str(error), 200)  # the error may quote a long key
    found = list(_envelopes_in(text))
    if len(found) == 1:
        return _reply(found[0], repaired="text around the JSON was left out")
    if len(found) > 1:
        problem = f"{len(found)} envelopes in one reply"
    return Reply(message=text.strip(), malformed=problem)


def _reply(found: _LenientEnvelope, repaired: str = "") -> Reply:
    final = found.final is True
    return Reply(message=found.message, handoff=found.handoff, final=final, repaired=repaired)


def _envelopes_in(text: str) -> Iterator[_LenientEnvelope]:
    """The envelopes among the top-level JSON objects in a text."""
    at = -1
    for _ in range(MAX_CANDIDATES):
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
