"""B21, U2: comments on lines of an agent's work, from the terminal."""

import pytest

WORKS = """
cat >>prompts.txt
printf 'one\\ntwo\\n' >b.txt
echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def reviewed(person):
    """One task that waits for review."""
    person.agent(WORKS, settings="")
    person.allstop("run", "write two lines", code=3)
    return person


def test_u2_the_agent_reads_the_line_and_what_is_said_of_it(reviewed):
    person = reviewed

    said = person.allstop("comment", "T1", "--on", "b.txt:2", "Say three", "-m", "Nearly.")
    assert "goes back" in said
    assert person.tasks() == {"T1": "pending"}
    person.allstop("run", code=3)

    prompts = (
        person.repository / ".allstop" / "workspaces" / "T1" / "tree" / "prompts.txt"
    ).read_text()
    assert "Nearly.\n\nb.txt:2\n> two\nSay three" in prompts


def test_u2_lines_as_they_were_before_and_what_was_said_so_far(reviewed):
    person = reviewed
    assert "There are no comments" in person.allstop("comment", "T1")

    person.allstop("comment", "T1", "--before", "a.txt:1", "Keep this", "--on", "b.txt:1", "Why?")

    [review] = person.json("comment", "T1")["reviews"]
    assert [(each["file"], each["quoted"], each["text"]) for each in review["remarks"]] == [
        ("b.txt", "one", "Why?"),
        ("a.txt", "hello", "Keep this"),
    ]
    assert "a.txt:1 (as it was before)\n> hello\nKeep this" in person.allstop("comment", "T1")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("T1", "--on", "b.txt:9", "x"), "no line 9 in b.txt"),
        (("T1", "--on", "nowhere.txt:1", "x"), "no line 1 in nowhere.txt"),
        (("T1", "--on", "b.txt", "x"), "is not FILE:LINE"),
        (("T1", "-m", "x"), "needs --on or --before"),
        (("T9", "--on", "b.txt:1", "x"), "T9"),
    ],
)
def test_u2_what_can_not_be_said_is_refused(reviewed, arguments, why):
    assert why in reviewed.refuses("comment", *arguments)
    assert reviewed.tasks() == {"T1": "review"}
