"""Connections on which nothing comes, or from which nothing is taken, are not kept for ever."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTION = "connection"
"""In a request's state: what is known of its connection, for all requests on it."""

HEADERS_S = 10.0
TAKING_S = 30.0
"""Who takes nothing of an answer for so long is let go: what is meant for them stays in memory."""

LINGER_S = 0.3
"""For so long after the end of all an answer may be taken that is ready."""


class PunctualProtocol(H11Protocol):
    """HTTP read by h11, which bounds the size of what comes before a body."""

    _deadline: Any = None  # the loop's own timers
    _deadlines: Any = None
    _ending: Any = None

    def connection_made(self, transport: Any) -> None:
        self.app_state = {**self.app_state, CONNECTION: {}}
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEADERS_S, self._close_if_idle)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None and not self._is_answering():
            self._deadline = self.loop.call_later(HEADERS_S, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._deadlines, self._ending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._deadlines is None:
            self._deadlines = self.loop.call_later(TAKING_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._deadlines is not None:
            self._deadlines.cancel()
            self._deadlines = None

    def shutdown(self) -> None:
        """What is still being worked on may end; nobody waits for those who don't take it."""
        super().shutdown()
        self._ending = self.loop.call_later(LINGER_S, self._cut_if_stuck)

    def _cut_if_stuck(self) -> None:
        if self.flow.write_paused or self.transport.is_closing():
            self.transport.abort()
        else:
            self._ending = self.loop.call_later(LINGER_S, self._cut_if_stuck)

    def _close_if_idle(self) -> None:
        self._deadline = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete
