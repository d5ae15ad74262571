"""V6: syntax trees of changed files, and files that would take a parser too long."""

from allstop.gate.assertions import assertions
from allstop.gate.syntax import DEEPEST, LARGEST_CHARS, MOST_CONTINUED, parse
from support.cases import for_each

ASSERTS = "def test_a():\n    assert f(1) == 2\n"


@for_each(
    ("path", "text"),
    [
        ("a.py", "# much text\n" * (LARGEST_CHARS // 10)),
        ("a.rs", "fn f() {" + "{" * DEEPEST),
        ("a.py", "x = 1 \\\n" * (MOST_CONTINUED + 1)),
        ("a.md", "text"),
    ],
)
def test_v6_what_would_take_too_long_has_no_tree(path, text):
    assert parse(path, text) is None


def test_v6_many_lines_of_comments_change_neither_assertions_nor_their_lines():
    """Between them a parser of Python would look through all of them again."""
    text = f"{ASSERTS}{'    # more' + chr(10)}{'# more' + chr(10) + chr(10)}" + "# x\n" * 10_000
    text += "\n\ndef test_b():\n    assert f(2) == 3\n"

    found = assertions("tests/test_a.py", text)

    assert [(each.test, each.text) for each in found] == [
        ("test_a", "assert f(1) == 2"),
        ("test_b", "assert f(2) == 3"),
    ]
    assert found[-1].line == text.count("\n")
