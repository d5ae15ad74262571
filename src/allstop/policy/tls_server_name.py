"""The host's name in the first bytes of a TLS connection (RFC 8446 and 6066); pure."""

from collections.abc import Iterator

from allstop.policy.allowed_hosts import MAX_NAME_CHARS

HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME = 22, 1, 0, 0
RECORD_HEAD, MESSAGE_HEAD = 5, 4
MAX_HELLO_BYTES = 16 * 1024


class OtherHostError(Exception):
    """A connection is for another host than the allowed one; the message says for which."""


class ServerNameCheck:
    """Holds back the first bytes of a connection until they name the allowed host.

    Many hosts share one address, and the server chooses by this name: a connection to an allowed
    host could otherwise be one to any of its neighbours. Other protocols than TLS pass unread.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._held = b""
        self._is_done = False

    def feed(self, data: bytes) -> bytes:
        """The bytes that may pass now. Raises OtherHostError."""
        if self._is_done:
            return data
        self._held += data
        if self._held[0] == HANDSHAKE:
            hello = _client_hello(self._held) if len(self._held) <= MAX_HELLO_BYTES else b""
            if hello is None:
                return b""
            name = _server_name(hello)
            if name != self._host:
                raise OtherHostError(f"its TLS connection is for {name or 'no named host'}")
        self._is_done = True
        passed, self._held = self._held, b""
        return passed


def _client_hello(data: bytes) -> bytes | None:
    """The first message without its head, of one or several records; None if it hasn't ended."""
    message = b""
    size = 0
    while len(data) >= RECORD_HEAD and data[0] == HANDSHAKE:
        end = RECORD_HEAD + int.from_bytes(data[3:RECORD_HEAD], "big")
        message += data[RECORD_HEAD:end]
        data = data[end:]
        size = int.from_bytes(message[1:MESSAGE_HEAD], "big")
        if message[:1] not in (b"", bytes([CLIENT_HELLO])):
            return b""
        if MESSAGE_HEAD + size <= len(message) >= MESSAGE_HEAD:
            return message[MESSAGE_HEAD : MESSAGE_HEAD + size]
    is_other = data[:1] not in (b"", bytes([HANDSHAKE]))  # the message will never end
    return b"" if is_other else None


def _server_name(hello: bytes) -> str:
    """In lower case, without a dot at its end; "" if there is none, or more than one."""
    rest = hello[2 + 32 :]  # the version and the random bytes
    for width in (1, 2, 1):  # the session, the ciphers, the compressions
        rest = _behind(rest, width)
    extensions, _ = _split(rest, 2)
    names = [data for kind, data in _extensions(extensions) if kind == SERVER_NAME]
    if len(names) != 1:
        return ""
    listed, after = _split(names[0], 2)
    name, more = _split(listed[1:], 2)
    if after or more or listed[:1] != bytes([HOST_NAME]) or not name.isascii():
        return ""
    text = name.decode("ascii").lower().removesuffix(".")
    return text if text.isprintable() and len(text) <= MAX_NAME_CHARS else ""


def _extensions(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= MESSAGE_HEAD:
        content, rest = _split(data[2:], 2)
        yield int.from_bytes(data[:2], "big"), content
        data = rest


def _split(data: bytes, width: int) -> tuple[bytes, bytes]:
    """What has its length before it, and the rest."""
    size = int.from_bytes(data[:width], "big")
    return data[width : width + size], data[width + size :]


def _behind(data: bytes, width: int) -> bytes:
    return _split(data, width)[1]
