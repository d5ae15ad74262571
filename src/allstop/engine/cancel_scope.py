"""What a run's work is cut off with."""

from __future__ import annotations

from types import TracebackType

import anyio


class CancelHandle:
    """A cancel scope that is kept from move to move, until it is used or dropped.

    To enter and leave one for every move costs a tenth of a turn. All of it must happen in one
    task, and what is entered inside must be left before it is dropped.
    """

    def __init__(self) -> None:
        self._scope: anyio.CancelScope | None = None

    def __enter__(self) -> anyio.CancelScope:
        if self._scope is None:
            self._scope = anyio.CancelScope().__enter__()
        return self._scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        scope = self._scope
        assert scope is not None, "it was entered"
        if error is None and not scope.cancel_called:
            return False
        self._scope = None
        return bool(scope.__exit__(kind, error, trace))

    def drop(self) -> None:
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.__exit__(None, None, None)
