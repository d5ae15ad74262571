"""B6: whose work it is, where several boards share a repository or one was thrown away."""

import pytest

from people import MERGE_AT_ONCE, Person

MAKES = "echo x >$(grep -om1 'make-[a-z-]*'); echo '<promise>COMPLETE</promise>'"
"""An agent that makes the file which its task is called after."""

REVIEWED = MERGE_AT_ONCE.replace("skip", "per-task")


def made_on(person, branch):
    names = person.git("ls-tree", "--name-only", branch).split()
    return [name for name in names if name.startswith("make-")]


@pytest.fixture
def linked(person):
    """The same repository, with another branch checked out elsewhere."""
    person.agent(MAKES, settings=REVIEWED)
    person.commit()
    place = person.home / "linked"
    person.git("worktree", "add", "-q", "-b", "other", str(place))
    return Person(person.home, place)


def test_b6_the_boards_of_linked_checkouts_keep_their_work_apart(person, linked):
    """B6, B17: both have a task of the same name, and each gets its own work."""
    person.allstop("run", "Please make-here", code=3)
    linked.allstop("run", "Please make-there", code=3)

    assert "make-here" in person.allstop("diff", "T1", "--stat")
    person.allstop("approve", "T1")
    linked.allstop("approve", "T1")

    assert made_on(person, "main") == ["make-here"]
    assert made_on(person, "other") == ["make-there"]


def test_b6_what_another_checkout_has_left_is_not_cleaned_up_from_here(person, linked):
    linked.allstop("run", "Please make-there", code=3)
    before = person.git("for-each-ref", "refs/allstop")

    assert person.allstop("clean") == "Nothing to clean.\n"
    person.refuses("clean", "--force", "T1")
    assert person.git("for-each-ref", "refs/allstop") == before


def test_b6_a_new_board_does_not_go_on_from_the_work_of_one_that_was_thrown_away(person):
    """B6: nothing is lost either: what no branch has is kept, and that is said."""
    person.agent(MAKES, settings=REVIEWED)
    person.commit()
    person.allstop("run", "Please make-what-is-rejected", code=3)
    person.allstop("reject", "T1")
    tip = person.git("rev-parse", "refs/allstop/tip/T1")
    person.git("clean", "-qffdx", ".allstop")

    person.allstop("run", "Please make-something-else", code=3)
    said = person.allstop("approve", "T1")

    assert made_on(person, "main") == ["make-something-else"], said
    assert person.git("rev-parse", "refs/allstop/backup/T1/1") == tip


def test_b6_who_threw_a_board_away_is_told_where_its_work_is(person):
    person.agent(MAKES, settings=REVIEWED)
    person.commit()
    person.allstop("run", "Please make-this", code=3)
    person.git("clean", "-qffdx", ".allstop")

    said = person.allstop("run", "Please make-that", code=3)

    assert "Work of an earlier .allstop folder is kept as refs/allstop/backup/T1/1." in said


def test_b6_work_is_taken_up_again_where_only_the_workspaces_were_thrown_away(person):
    person.agent("echo half >make-half; exit 1")
    person.commit()
    person.allstop("run", "Do this", code=1)
    person.git("clean", "-qffdx", ".allstop/workspaces")
    person.agent("ls make-half && echo '<promise>COMPLETE</promise>'")

    person.allstop("retry", "T1")
    person.allstop("run")

    assert made_on(person, "main") == ["make-half"]
