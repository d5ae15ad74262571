"""A reusable cancel scope for the moves of a run."""

from types import TracebackType

import anyio


class CancelHandle:
    """A cancel scope that stays entered between moves until it is cancelled or dropped.

    Entering a scope for each move costs a tenth of a turn. All calls must come from one task, and
    scopes entered inside must be left before `drop`.
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
        assert scope is not None, "the scope was entered"
        if error is None and not scope.cancel_called:
            return False
        self._scope = None
        return bool(scope.__exit__(kind, error, trace))

    def drop(self) -> None:
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.__exit__(None, None, None)
