"""Answers a box's lookups of names: there are none. Says which names were wanted."""

import struct

HEADER = struct.Struct(">HHHHHH")
RESPONSE, RECURSION, NO_SUCH_NAME = 0x8000, 0x0180, 3
MAX_LABELS = 128


def refuse_name(query: bytes) -> tuple[str, bytes] | None:
    """The wanted name and the reply NXDOMAIN; None if it isn't one question."""
    if len(query) < HEADER.size:
        return None
    number, flags, questions, *_ = HEADER.unpack_from(query)
    if flags & RESPONSE or questions != 1:
        return None
    labels: list[bytes] = []
    at = HEADER.size
    while at < len(query) and (size := query[at]):
        if size > 63 or len(labels) == MAX_LABELS:
            return None
        labels.append(query[at + 1 : at + 1 + size])
        at += 1 + size
    end = at + 5  # the empty label, type and class
    if end > len(query):
        return None
    flags = RESPONSE | RECURSION | NO_SUCH_NAME
    reply = HEADER.pack(number, flags, 1, 0, 0, 0) + query[HEADER.size : end]
    return _readable(b".".join(labels)), reply


def _readable(name: bytes) -> str:
    text = name.decode("ascii", errors="replace").lower()
    return "".join(sign if sign.isprintable() else "?" for sign in text)
