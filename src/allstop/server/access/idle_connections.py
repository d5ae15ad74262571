"""Closes idle connections: those that send no request, and those that don't read the response."""

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTION = "connection"
"""The key in a request's state of a dict that all requests of one connection share."""

HEADERS_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 30.0
"""A client that reads nothing for so long is disconnected: unread data stays in memory."""

LINGER_S = 0.3
"""How long clients may read finished responses after the server has begun to shut down."""


class TimeoutProtocol(H11Protocol):
    """Adds timeouts to uvicorn's h11 protocol, which already limits the size of headers."""

    _read_timer: Any = None  # the event loop's timer handles
    _write_timer: Any = None
    _shutdown_timer: Any = None

    def connection_made(self, transport: Any) -> None:
        self.app_state = {**self.app_state, CONNECTION: {}}
        super().connection_made(transport)
        self._read_timer = self.loop.call_later(HEADERS_TIMEOUT_S, self._close_if_idle)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._read_timer is None and not self._is_answering():
            self._read_timer = self.loop.call_later(HEADERS_TIMEOUT_S, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._read_timer, self._write_timer, self._shutdown_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def shutdown(self) -> None:
        """Let running requests finish, but don't wait for clients that don't read."""
        super().shutdown()
        self._shutdown_timer = self.loop.call_later(LINGER_S, self._abort_if_stalled)

    def _abort_if_stalled(self) -> None:
        if self.flow.write_paused or self.transport.is_closing():
            self.transport.abort()
        else:
            self._shutdown_timer = self.loop.call_later(LINGER_S, self._abort_if_stalled)

    def _close_if_idle(self) -> None:
        self._read_timer = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete
