"""S8: acceptance criteria in a task's text, and what an agent names to show each."""

from allstop.board.criteria import Named, criteria_in, files_in, named_for, split_criteria
from support.cases import for_each


@for_each(
    ("text", "criteria"),
    [
        ("Do it.", ()),
        ("Acceptance criteria:\n- one\n- two", ("one", "two")),
        ("## Acceptance criteria\n\n1. one\n2) two\n\n## Notes\n- no", ("one", "two")),
        ("**Acceptance criteria:**\n* one\n  goes on\n* [x] two\nNotes:\n- no", ("one goes on", "two")),
        ("Acceptance Criteria\nIt is fast.", ("It is fast.",)),
        ("Do it.\n- [ ] one\n- [x] two\n- no box", ("one", "two")),
        ("- [ ] no\nAcceptance criteria:\n- [ ] yes", ("yes",)),
        ("Acceptance criteria:", ()),
        ("Acceptance criteria:\nNotes:\n- no", ()),
    ],
)  # fmt: skip
def test_s8_criteria_are_the_items_below_their_heading_or_those_with_a_box(text, criteria):
    assert criteria_in(text) == criteria


def test_s8_the_rest_of_the_text_is_what_was_asked():
    text = "First.\n\nAcceptance criteria:\n- one\n\nNotes:\n- kept"

    assert split_criteria(text).rest == "First.\n\n\nNotes:\n- kept".replace("\n\n\n", "\n\n")


@for_each(
    ("message", "named"),
    [
        ("All done.", {}),
        ("Criterion 1: tests/test_a.py::test_b", {1: (Named(file="tests/test_a.py", test="test_b"),)}),
        ("- **Criterion 2**: `README.md`, ./docs/a.md.", {2: (Named(file="README.md"), Named(file="docs/a.md"))}),
        ("criterion #3 \u2013 a_test.go::TestA::TestB", {3: (Named(file="a_test.go", test="TestB"),)}),
        ("Criterion 1: a.py\nCriterion 1: a.py b.py", {1: (Named(file="a.py"), Named(file="b.py"))}),
        ("Criterion 1: it works", {1: ()}),
        ("The criterion 1: a.py", {}),
    ],
)  # fmt: skip
def test_s8_an_agent_names_files_and_tests_in_lines_of_their_own(message, named):
    assert named_for(message) == named


def test_s8_a_criterion_can_name_a_file_itself():
    assert files_in("USAGE.md shows `sh calc.sh add 2 3` (see docs/a.md).") == (
        "USAGE.md",
        "calc.sh",
        "docs/a.md",
    )
    assert files_in("Retries stop after 5.5 times") == ()
