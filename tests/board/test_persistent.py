"""B3, Q7: persistent collections behave like dict and sorted set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.board.persistent import PersistentMap, SortedSet

KEYS = st.one_of(
    st.integers(-100, 100), st.text(max_size=3), st.sampled_from([1 << 12, 2 << 12, 3 << 12])
)
VALUES = st.integers()
ENTRIES = st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=12)
CHANGES = st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=150)


class Unlucky:
    """All keys have the same hash."""

    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return isinstance(other, Unlucky) and self.name == other.name


@given(ENTRIES)
def test_a_shelf_is_a_dict_and_every_older_one_stays_as_it_was(steps):
    shelf, plain = PersistentMap(), {}
    versions = [(shelf, {})]
    for entries in steps:
        shelf = shelf.plus(entries)
        plain = {**plain, **entries}
        versions.append((shelf, plain))

    for some_shelf, some_plain in versions:
        assert len(some_shelf) == len(some_plain)
        assert sorted(some_shelf.values()) == sorted(some_plain.values())
        for key in {*some_plain, *plain, "nobody", -5}:
            assert (key in some_shelf) == (key in some_plain)
            assert some_shelf.get(key) == some_plain.get(key)
        assert all(some_shelf[key] == value for key, value in some_plain.items())


def test_keys_of_the_same_hash_do_not_disturb_each_other():
    shelf = PersistentMap().plus({Unlucky(name): name for name in "abc"})

    assert [shelf[Unlucky(name)] for name in "abc"] == ["a", "b", "c"]
    assert Unlucky("d") not in shelf
    assert len(shelf) == 3


def test_a_shelf_with_nothing_more_is_the_same_shelf():
    shelf = PersistentMap().plus({"a": 1})

    assert shelf.plus({}) is shelf


def test_what_is_not_there_is_an_error_as_in_a_dict():
    with pytest.raises(KeyError, match="nobody"):
        PersistentMap()["nobody"]


def test_shelves_and_rows_with_the_same_in_them_are_equal_however_they_came_to_it():
    shelf = PersistentMap().plus({"a": 1}).plus({"b": 2})
    some, others = SortedSet(), SortedSet()
    for number in range(300):
        some, others = some.plus(number), others.plus(299 - number)

    assert shelf == PersistentMap().plus({"b": 1, "a": 1}).plus({"b": 2})
    assert shelf != shelf.plus({"b": 3})
    assert some == others
    assert some != others.minus(7)
    assert (shelf == {"a": 1, "b": 2}, some == list(range(300))) == (False, False)


@given(CHANGES)
def test_a_row_is_a_sorted_set_and_every_older_one_stays_as_it_was(steps):
    row, plain = SortedSet(), set()
    versions = [(row, [])]
    for is_more, value in steps:
        row = row.plus(value) if is_more else row.minus(value)
        plain = plain | {value} if is_more else plain - {value}
        versions.append((row, sorted(plain)))

    for some_row, expected in versions:
        assert list(some_row) == expected
        assert bool(some_row) == bool(expected)
        assert some_row.first == (expected[0] if expected else None)
        assert all(value in some_row for value in expected)
        assert all((value in some_row) == (value in expected) for value in (-1, 0, 200, 401))


@given(st.permutations(range(300)), st.permutations(range(300)))
def test_a_row_of_several_chunks_is_in_order_while_it_grows_and_while_it_shrinks(come, go):
    row = SortedSet()
    for value in come:
        row = row.plus(value)

    assert list(row) == list(range(300))
    assert all(len(chunk) <= 128 and chunk for chunk in row._chunks)
    left = set(range(300))
    for value in go:
        row = row.minus(value)
        left.discard(value)
        assert row.first == min(left, default=None)
    assert not row
    assert list(row) == []


def test_a_value_that_is_there_or_is_not_there_changes_nothing():
    row = SortedSet().plus(1).plus(3)

    assert row.plus(3) is row
    assert row.minus(2) is row
    assert row.minus(9) is row
    assert SortedSet().minus(1).first is None


@given(
    st.sets(st.integers(0, 400)),
    st.lists(st.integers(0, 400), max_size=150),
    st.sets(st.integers(0, 400), max_size=150),
)
def test_a_row_is_changed_at_once_as_it_is_one_by_one(before, gone, come):
    row = SortedSet()
    for value in before:
        row = row.plus(value)

    changed = row.changed(gone, sorted(come))

    assert list(changed) == sorted((before - set(gone)) | come)
    assert list(row) == sorted(before)
    assert all(value in changed for value in come)
    assert list(changed.plus(401).minus(401)) == list(changed)
