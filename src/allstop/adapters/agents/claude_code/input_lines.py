"""Encodes the lines that are written to Claude Code's standard input."""

import json
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def user_message(text: str, message_id: str) -> bytes:
    """A prompt, kept from being one of Claude Code's own commands by a prefix.

    Claude Code reports under `message_id` whether it took the message up.
    """
    text = text.encode(errors="replace").decode()
    if text.lstrip().startswith("/"):
        text = f"The task:\n{text}"
    return _message(text, message_id)


def compact_command(message_id: str) -> bytes:
    """Claude Code's own command that compacts the conversation."""
    return _message("/compact", message_id)


def _message(text: str, message_id: str) -> bytes:
    return _line({"type": "user", "uuid": message_id, "message": {"role": "user", "content": text}})


def control_request(request_id: str, subtype: str, more: Json) -> bytes:
    request = {"subtype": subtype, **more}
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def interrupt() -> bytes:
    """Interrupt the turn and drop queued messages, which would start another turn."""
    request = {"subtype": "interrupt", "cancel_queued": True}
    return _line({"type": "control_request", "request_id": "allstop-interrupt", "request": request})


def success(request_id: str, answer: Json) -> bytes:
    return _answer({"subtype": "success", "request_id": request_id, "response": answer})


def error(request_id: str, why: str) -> bytes:
    """The answer to an unknown request."""
    return _answer({"subtype": "error", "request_id": request_id, "error": why})


def _answer(response: Json) -> bytes:
    return _line({"type": "control_response", "response": response})


def _line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"
