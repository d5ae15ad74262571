"""Connections on which no request comes are closed: they would be kept for ever."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0


class PunctualProtocol(H11Protocol):
    """HTTP read by h11, which bounds the size of what comes before a body."""

    _deadline: Any = None  # the loop's own timer

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEADERS_S, self._close_if_idle)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None and not self._is_answering():
            self._deadline = self.loop.call_later(HEADERS_S, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _close_if_idle(self) -> None:
        self._deadline = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete
