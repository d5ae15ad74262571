"""Persistent collections: each change returns a new one that shares most of the old one's data.

A board of 100,000 tasks is an immutable value, so a change must not copy all of it. These
collections copy a few hundred entries, which takes about a microsecond.
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

_Groups: TypeAlias = tuple[tuple[dict[K, V], ...], ...]
_BITS = 6
_MASK = (1 << _BITS) - 1
_BUCKET_MASK = (1 << 2 * _BITS) - 1
_EMPTY_GROUP: tuple[dict[Any, Any], ...] = ({},) * (_MASK + 1)
_EMPTY_GROUPS: _Groups[Any, Any] = (_EMPTY_GROUP,) * (_MASK + 1)
_MAX_CHUNK = 128
_CHUNK_FILL = 64  # of a new chunk, which leaves room for insertions
_REBUILD_FROM = 64  # with this many changes at once the set is rebuilt


class PersistentMap(Generic[K, V]):
    """A mapping without a defined order: 64 groups of 64 buckets, chosen by the key's hash."""

    __slots__ = ("_groups", "_size")

    def __init__(self, groups: _Groups[K, V] = _EMPTY_GROUPS, size: int = 0) -> None:
        self._groups = groups
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: K) -> bool:
        slot = hash(key)
        return key in self._groups[slot & _MASK][slot >> _BITS & _MASK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PersistentMap):
            return NotImplemented
        return self._groups == other._groups

    def __getitem__(self, key: K) -> V:
        slot = hash(key)
        return self._groups[slot & _MASK][slot >> _BITS & _MASK][key]

    def get(self, key: K) -> V | None:
        slot = hash(key)
        return self._groups[slot & _MASK][slot >> _BITS & _MASK].get(key)

    def values(self) -> Iterator[V]:
        for group in self._groups:
            if group is not _EMPTY_GROUP:
                for bucket in group:
                    yield from bucket.values()

    def plus(self, entries: Mapping[K, V]) -> PersistentMap[K, V]:
        """A map with these entries added or replaced."""
        if not entries:
            return self
        groups: list[Sequence[dict[K, V]]] = list(self._groups)
        copied: dict[int, dict[K, V]] = {}  # the buckets to change
        size = self._size
        for key, value in entries.items():
            slot = hash(key) & _BUCKET_MASK
            bucket = copied.get(slot)
            if bucket is None:
                bucket = copied[slot] = groups[slot & _MASK][slot >> _BITS].copy()
                size -= len(bucket)
            bucket[key] = value
        for slot, bucket in copied.items():
            size += len(bucket)
            group = groups[slot & _MASK]
            if not isinstance(group, list):
                group = groups[slot & _MASK] = list(group)
            group[slot >> _BITS] = bucket
        return PersistentMap(tuple(map(tuple, groups)), size)

    def changed_keys(self, older: PersistentMap[K, V]) -> Iterator[K]:
        """The keys whose values differ from those in `older`; shared buckets are skipped."""
        for group, was in zip(self._groups, older._groups, strict=True):
            if group is was:
                continue
            for bucket, before in zip(group, was, strict=True):
                if bucket is not before:
                    yield from (key for key in bucket if bucket[key] is not before.get(key))


class SortedSet(Generic[C]):
    """A sorted set, stored in chunks."""

    __slots__ = ("_chunks", "_lasts")

    def __init__(self, chunks: tuple[tuple[C, ...], ...] = (), lasts: tuple[C, ...] = ()) -> None:
        self._chunks = chunks  # none of them empty
        self._lasts = lasts  # the last value of each

    @classmethod
    def of(cls, values: Collection[C]) -> SortedSet[C]:
        """A set of distinct values in any order."""
        ordered = tuple(values) if len(values) == 1 else tuple(sorted(values))
        if 0 < len(ordered) <= _CHUNK_FILL:
            return SortedSet((ordered,), ordered[-1:])
        chunks = tuple(ordered[at : at + _CHUNK_FILL] for at in range(0, len(ordered), _CHUNK_FILL))
        return SortedSet(chunks, tuple(chunk[-1] for chunk in chunks))

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SortedSet):
            return NotImplemented
        return self._chunks == other._chunks or list(self) == list(other)

    def __iter__(self) -> Iterator[C]:
        for chunk in self._chunks:
            yield from chunk

    def __contains__(self, value: C) -> bool:
        at, index = self._find(value)
        return at < len(self._chunks) and self._chunks[at][index] == value

    @property
    def first(self) -> C | None:
        return self._chunks[0][0] if self._chunks else None

    def plus(self, value: C) -> SortedSet[C]:
        if not self._chunks:
            return SortedSet(((value,),), (value,))
        if len(self._chunks) == 1 and len(self._chunks[0]) < _MAX_CHUNK:
            return self._short_plus(value)
        at, index = self._find(value)
        if at == len(self._chunks):
            at, index = at - 1, len(self._chunks[-1])
        chunk = self._chunks[at]
        if index < len(chunk) and chunk[index] == value:
            return self
        return self._with(at, (*chunk[:index], value, *chunk[index:]))

    def _short_plus(self, value: C) -> SortedSet[C]:
        """A faster `plus` for a single chunk with room, which nearly all sets have."""
        (chunk,) = self._chunks
        index = bisect_left(chunk, value)
        if index < len(chunk) and chunk[index] == value:
            return self
        chunk = (*chunk[:index], value, *chunk[index:])
        return SortedSet((chunk,), chunk[-1:])

    def minus(self, value: C) -> SortedSet[C]:
        at, index = self._find(value)
        if at == len(self._chunks) or self._chunks[at][index] != value:
            return self
        chunk = self._chunks[at]
        return self._with(at, (*chunk[:index], *chunk[index + 1 :]))

    def changed(self, removed: Sequence[C], added: Sequence[C]) -> SortedSet[C]:
        """A set without some values and with others."""
        if len(removed) + len(added) < _REBUILD_FROM:
            result = self
            for value in removed:
                result = result.minus(value)
            for value in added:
                result = result.plus(value)
            return result
        return SortedSet.of(set(self).difference(removed).union(added))

    def _find(self, value: C) -> tuple[int, int]:
        """The chunk that contains or would contain the value, and the index in it."""
        at = bisect_left(self._lasts, value)
        if at == len(self._chunks):
            return at, 0
        return at, bisect_left(self._chunks[at], value)

    def _with(self, at: int, chunk: tuple[C, ...]) -> SortedSet[C]:
        if len(chunk) > _MAX_CHUNK:
            half = len(chunk) // 2
            parts: tuple[tuple[C, ...], ...] = (chunk[:half], chunk[half:])
        else:
            parts = (chunk,) if chunk else ()
        lasts = tuple(part[-1] for part in parts)
        return SortedSet(
            (*self._chunks[:at], *parts, *self._chunks[at + 1 :]),
            (*self._lasts[:at], *lasts, *self._lasts[at + 1 :]),
        )
