"""Runs coroutines at the same time and returns their results; errors arrive without a group."""

from collections.abc import Coroutine, Iterable
from typing import Any, Generic, TypeVar

import anyio

T = TypeVar("T")
U = TypeVar("U")


class _Outcome(Generic[T]):
    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._values: list[T] = []
        self._error: Exception | None = None

    async def run(self) -> None:
        try:
            self._values.append(await self._work)
        except Exception as error:  # noqa: BLE001 - `value` raises it again, without a group
            self._error = error

    def value(self) -> T:
        if self._error is not None:
            raise self._error
        return self._values[0]


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """Run both to their end and return their results; raises the error of the first that failed."""
    first, second = _Outcome(one), _Outcome(other)
    async with anyio.create_task_group() as group:
        group.start_soon(first.run)
        await second.run()
    return first.value(), second.value()


async def all_of(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all to their end and return their results in order; raises like `both`."""
    outcomes = [_Outcome(work) for work in works]
    async with anyio.create_task_group() as group:
        for outcome in outcomes:
            group.start_soon(outcome.run)
    return [outcome.value() for outcome in outcomes]
