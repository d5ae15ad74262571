"""Helpers that all providers' replies share: server-sent events, ids and token counts."""

import itertools
import json
from typing import Any

from allstop.testing.model_server.replies import Fault, Say

Json = dict[str, Any]
CREATED = 1_790_000_000
_numbers = itertools.count(1)


def new_id(prefix: str) -> str:
    return f"{prefix}_{next(_numbers):024x}"


def sse(data: Json | str, event: str = "") -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return f"event: {event}\ndata: {text}\n\n" if event else f"data: {text}\n\n"


def tokens(say: Say) -> tuple[int, int]:
    """The reported input and output tokens."""
    if say.fault is Fault.NEGATIVE_USAGE:
        return -say.input, -say.output
    return say.input, say.output
