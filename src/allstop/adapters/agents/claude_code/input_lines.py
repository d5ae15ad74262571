"""The lines that are written to Claude Code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def say(text: str, name: str) -> bytes:
    """A prompt. Its first character must not make it one of the program's own commands.

    What becomes of it is told under its name.
    """
    text = text.encode(errors="replace").decode()
    if text.lstrip().startswith("/"):
        text = f"The task:\n{text}"
    return _line({"type": "user", "uuid": name, "message": {"role": "user", "content": text}})


def order(request_id: str, subtype: str, more: Json) -> bytes:
    request = {"subtype": subtype, **more}
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def interrupt() -> bytes:
    """What it was told and has not taken up is dropped too, else that would be its next turn."""
    request = {"subtype": "interrupt", "cancel_queued": True}
    return _line({"type": "control_request", "request_id": "allstop-interrupt", "request": request})


def permit(request_id: str, answer: Json) -> bytes:
    return _answer({"subtype": "success", "request_id": request_id, "response": answer})


def refuse(request_id: str, why: str) -> bytes:
    """For a request that is not known: never a yes."""
    return _answer({"subtype": "error", "request_id": request_id, "error": why})


def _answer(response: Json) -> bytes:
    return _line({"type": "control_response", "response": response})


def _line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"
