"""Collections that are never changed: a change gives a new one that shares almost all of the old.

A board of 100,000 tasks is a value like any other, so a change must not copy it. These copy a few
hundred entries, which the interpreter does in about a microsecond.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
C = TypeVar("C", bound="SupportsRichComparison")

_Cases: TypeAlias = tuple[tuple[dict[K, V], ...], ...]
_BITS = 6
_MASK = (1 << _BITS) - 1
_PLACES = (1 << 2 * _BITS) - 1
_NOTHING: tuple[dict[Any, Any], ...] = ({},) * (_MASK + 1)
_EMPTY: _Cases[Any, Any] = (_NOTHING,) * (_MASK + 1)
_LONGEST = 128
_HALF = 64  # of what a chunk may hold, so that there is room in each
_MANY = 64  # changes at once, for which a row is made anew


class Shelf(Generic[K, V]):
    """A mapping. Its order means nothing."""

    __slots__ = ("_cases", "_size")

    def __init__(self, cases: _Cases[K, V] = _EMPTY, size: int = 0) -> None:
        self._cases = cases
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: K) -> bool:
        place = hash(key)
        return key in self._cases[place & _MASK][place >> _BITS & _MASK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shelf):
            return NotImplemented
        return self._cases == other._cases

    def __getitem__(self, key: K) -> V:
        place = hash(key)
        return self._cases[place & _MASK][place >> _BITS & _MASK][key]

    def get(self, key: K) -> V | None:
        place = hash(key)
        return self._cases[place & _MASK][place >> _BITS & _MASK].get(key)

    def values(self) -> Iterator[V]:
        for case in self._cases:
            if case is not _NOTHING:
                for drawer in case:
                    yield from drawer.values()

    def plus(self, entries: Mapping[K, V]) -> Shelf[K, V]:
        """With these entries, in place of those of the same keys."""
        if not entries:
            return self
        cases: list[Sequence[dict[K, V]]] = list(self._cases)
        opened: dict[int, dict[K, V]] = {}  # the drawers that are being changed
        size = self._size
        for key, value in entries.items():
            place = hash(key) & _PLACES
            drawer = opened.get(place)
            if drawer is None:
                drawer = opened[place] = cases[place & _MASK][place >> _BITS].copy()
                size -= len(drawer)
            drawer[key] = value
        for place, drawer in opened.items():
            size += len(drawer)
            case = cases[place & _MASK]
            if not isinstance(case, list):
                case = cases[place & _MASK] = list(case)
            case[place >> _BITS] = drawer
        return Shelf(tuple(map(tuple, cases)), size)

    def differing(self, older: Shelf[K, V]) -> Iterator[K]:
        """The keys whose values are others than they were; what is shared is not looked at."""
        for case, was in zip(self._cases, older._cases, strict=True):
            if case is was:
                continue
            for drawer, before in zip(case, was, strict=True):
                if drawer is not before:
                    yield from (key for key in drawer if drawer[key] is not before.get(key))


class Row(Generic[C]):
    """Values in their order, each at most once."""

    __slots__ = ("_chunks", "_lasts")

    def __init__(self, chunks: tuple[tuple[C, ...], ...] = (), lasts: tuple[C, ...] = ()) -> None:
        self._chunks = chunks  # none of them empty
        self._lasts = lasts  # the last value of each

    @classmethod
    def of(cls, values: Collection[C]) -> Row[C]:
        """Of these, in whatever order they come; each is there once."""
        ordered = tuple(values) if len(values) == 1 else tuple(sorted(values))
        if 0 < len(ordered) <= _HALF:
            return Row((ordered,), ordered[-1:])
        chunks = tuple(ordered[at : at + _HALF] for at in range(0, len(ordered), _HALF))
        return Row(chunks, tuple(chunk[-1] for chunk in chunks))

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._chunks == other._chunks or list(self) == list(other)

    def __iter__(self) -> Iterator[C]:
        for chunk in self._chunks:
            yield from chunk

    def __contains__(self, value: C) -> bool:
        at, place = self._find(value)
        return at < len(self._chunks) and self._chunks[at][place] == value

    @property
    def first(self) -> C | None:
        return self._chunks[0][0] if self._chunks else None

    def plus(self, value: C) -> Row[C]:
        if not self._chunks:
            return Row(((value,),), (value,))
        if len(self._chunks) == 1 and len(self._chunks[0]) < _LONGEST:
            return self._short_plus(value)
        at, place = self._find(value)
        if at == len(self._chunks):
            at, place = at - 1, len(self._chunks[-1])
        chunk = self._chunks[at]
        if place < len(chunk) and chunk[place] == value:
            return self
        return self._with(at, (*chunk[:place], value, *chunk[place:]))

    def _short_plus(self, value: C) -> Row[C]:
        """The same for one chunk with room in it, as nearly all rows are."""
        (chunk,) = self._chunks
        place = bisect_left(chunk, value)
        if place < len(chunk) and chunk[place] == value:
            return self
        chunk = (*chunk[:place], value, *chunk[place:])
        return Row((chunk,), chunk[-1:])

    def minus(self, value: C) -> Row[C]:
        at, place = self._find(value)
        if at == len(self._chunks) or self._chunks[at][place] != value:
            return self
        chunk = self._chunks[at]
        return self._with(at, (*chunk[:place], *chunk[place + 1 :]))

    def changed(self, gone: Sequence[C], come: Sequence[C]) -> Row[C]:
        """Without some and with others."""
        if len(gone) + len(come) < _MANY:
            row = self
            for value in gone:
                row = row.minus(value)
            for value in come:
                row = row.plus(value)
            return row
        return Row.of(set(self).difference(gone).union(come))

    def _find(self, value: C) -> tuple[int, int]:
        """In which chunk it is or belongs, and where there."""
        at = bisect_left(self._lasts, value)
        if at == len(self._chunks):
            return at, 0
        return at, bisect_left(self._chunks[at], value)

    def _with(self, at: int, chunk: tuple[C, ...]) -> Row[C]:
        if len(chunk) > _LONGEST:
            half = len(chunk) // 2
            parts: tuple[tuple[C, ...], ...] = (chunk[:half], chunk[half:])
        else:
            parts = (chunk,) if chunk else ()
        lasts = tuple(part[-1] for part in parts)
        return Row(
            (*self._chunks[:at], *parts, *self._chunks[at + 1 :]),
            (*self._lasts[:at], *lasts, *self._lasts[at + 1 :]),
        )
