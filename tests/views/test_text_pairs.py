"""Two versions of a text beside each other."""

from allstop.views.text_pairs import MOST_LINES, line_pairs


def pairs(old, new):
    return [(each.old, each.new) for each in line_pairs(old, new)]


def test_changed_lines_stand_beside_each_other_and_others_stay_in_place():
    old = "a\nb\nc\n"
    new = "a\nB\nc\nd\n"

    assert pairs(old, new) == [("a", "a"), ("b", "B"), ("c", "c"), (None, "d")]


def test_a_text_that_is_missing_leaves_its_side_empty():
    assert pairs("a", "") == [("a", None)]
    assert pairs("", "a") == [(None, "a")]
    assert pairs("", " \n") == []


def test_long_texts_and_long_lines_are_cut():
    found = pairs("a\n" * 500, "b" * 5000)

    assert len(found) == MOST_LINES + 1
    assert found[-1][0] == f"… {500 - MOST_LINES} more lines"
    assert len(found[0][1]) == 300
