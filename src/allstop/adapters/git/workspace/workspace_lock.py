"""One lock per workspace, so that it isn't opened while it is being removed."""

from weakref import WeakValueDictionary

import anyio


class WorkspaceLocks:
    """`async with lock(name)` waits until no other block for that workspace is active."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    def __call__(self, workspace: str) -> anyio.Lock:
        return self._locks.setdefault(workspace, anyio.Lock())
