"""One at a time for each workspace: it is not opened while it is being removed."""

from __future__ import annotations

from weakref import WeakValueDictionary

import anyio


class Alone:
    """`async with alone(name)` waits until nobody else is in such a block for that workspace."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    def __call__(self, workspace: str) -> anyio.Lock:
        return self._locks.setdefault(workspace, anyio.Lock())
