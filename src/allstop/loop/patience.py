"""How long a move may last, and how long it may be silent; neither counts while it is frozen."""

from __future__ import annotations

import math

import anyio


class Patience:
    """Two deadlines around a piece of work: for the whole of it, and since the last sign of life.

    What is inside its `scope` is cut off when one of them passes.
    """

    def __init__(self, most_s: float, idle_s: float = math.inf) -> None:
        self._left_s = most_s
        self._idle_s = idle_s
        self._since = anyio.current_time()
        self._heard_at = self._since
        self._holds = 0
        self.scope = anyio.CancelScope(deadline=self._since + min(most_s, idle_s))
        self.was_cut = False
        self.inner: Patience | None = None  # of a part of the work, held together with this

    @property
    def ran_out(self) -> bool:
        return self.scope.cancelled_caught

    @property
    def stalled(self) -> bool:
        """Whether it was the silence that was too long, rather than the whole."""
        return self._heard_at + self._idle_s <= self._since + self._left_s

    def cut(self) -> None:
        """End the work now."""
        self.was_cut = True
        self.scope.cancel()

    def relax(self) -> None:
        """No deadline any more; it can still be cut."""
        self._left_s = self._idle_s = math.inf
        self._set()

    def touch(self) -> None:
        """A sign of life."""
        if self._idle_s != math.inf:
            self._heard_at = anyio.current_time()
            self._set()

    def begin(self, inner: Patience) -> None:
        """Hold a part of the work together with the whole."""
        self.inner = inner
        for _ in range(self._holds):
            inner.hold()

    def hold(self) -> None:
        """Stop the clocks. Holds are counted: every one needs its own `release`."""
        self._holds += 1
        if self.inner:
            self.inner.hold()
        if self._holds == 1:
            self._left_s -= anyio.current_time() - self._since
            self._set()

    def release(self) -> None:
        self._holds -= 1
        if self.inner:
            self.inner.release()
        if self._holds == 0:
            self._since = self._heard_at = anyio.current_time()
            self._set()

    def _set(self) -> None:
        if self._holds:
            self.scope.deadline = math.inf
        else:
            self.scope.deadline = min(self._since + self._left_s, self._heard_at + self._idle_s)
