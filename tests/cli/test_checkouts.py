"""B6: whose work it is, where several boards share a repository or one was thrown away."""

import pytest

from support.person import MERGE_AT_ONCE, Person

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

    assert "were backed up as refs/allstop/backup/T1/1." in said


def test_b6_work_is_taken_up_again_where_only_the_workspaces_were_thrown_away(person):
    person.agent("echo half >make-half; exit 1")
    person.commit()
    person.allstop("run", "Do this", code=1)
    person.git("clean", "-qffdx", ".allstop/workspaces")
    person.agent("ls make-half && echo '<promise>COMPLETE</promise>'")

    person.allstop("retry", "T1")
    person.allstop("run")

    assert made_on(person, "main") == ["make-half"]


# --- what a checkout that is gone has left ---


def refs_of(person, *below):
    names = person.git("for-each-ref", "--format=%(refname)", *(below or ("refs/allstop",)))
    return names.split()


@pytest.fixture
def gone(person, linked):
    """A linked checkout with work that nobody has merged, and that was removed."""
    person.allstop("run", "Please make-here", code=3)
    linked.allstop("run", "Please make-there", code=3)
    tip = person.git("rev-parse", "refs/allstop/tip/T1@linked")
    person.git("worktree", "remove", "--force", str(linked.repository))
    return tip


def test_b6_what_a_checkout_that_is_gone_has_left_is_shown_and_stays(person, gone):
    said = person.allstop("clean")

    assert "@linked    2 refs of T1, left by a removed checkout" in said
    assert "stays: 1 commit of it is on no branch" in said
    (left,) = person.json("clean")["checkouts"]
    assert left == {"name": "@linked", "workspaces": ["T1"], "refs": 2, "commits": 1}
    before = refs_of(person)
    person.allstop("clean", "--yes")
    assert "stays: 1 commit" in person.allstop("clean", "--yes", "@linked", code=1)
    assert refs_of(person) == before


def test_b6_when_asked_by_name_it_is_removed_and_its_commits_are_kept(person, gone):
    own = person.git("rev-parse", "refs/allstop/tip/T1")

    said = person.allstop("clean", "--force", "@linked")

    assert said == "@linked: removed; its commits are kept as refs/allstop/backup/T1/1\n"
    assert person.git("rev-parse", "refs/allstop/backup/T1/1") == gone
    assert person.git("rev-parse", "refs/allstop/tip/T1") == own, "that of this checkout"
    assert not [ref for ref in refs_of(person) if "@" in ref]
    assert person.json("clean")["checkouts"] == []


def test_b6_backups_of_a_checkout_that_is_gone_are_shown_and_kept_too(person, linked):
    linked.allstop("run", "Please make-there", code=3)
    linked.allstop("reject", "T1")
    linked.allstop("clean", "--force", "T1")
    (backup,) = refs_of(person, "refs/allstop/backup")
    commit = person.git("rev-parse", backup)
    assert person.json("clean")["checkouts"] == [], "it is still there"
    person.git("worktree", "remove", "--force", str(linked.repository))

    assert [left["refs"] for left in person.json("clean")["checkouts"]] == [1]
    person.allstop("clean", "--force", "@linked")

    assert refs_of(person, "refs/allstop/backup") == ["refs/allstop/backup/T1/1"]
    assert person.git("rev-parse", "refs/allstop/backup/T1/1") == commit


def test_b6_what_is_on_a_branch_goes_without_a_loss(person, gone):
    person.git("branch", "rescued", gone)

    assert "@linked    2 refs of T1, left by a removed checkout  can go" in person.allstop("clean")
    assert "@linked: removed\n" in person.allstop("clean", "--yes")
    assert not [ref for ref in refs_of(person) if "@" in ref]


def test_b6_it_can_be_removed_from_any_checkout_of_the_repository(person, gone):
    place = person.home / "third"
    person.git("worktree", "add", "-q", "-b", "third", str(place))
    third = Person(person.home, place)

    said = third.allstop("clean", "--force", "@linked")

    assert "kept as refs/allstop/backup/T1@third/1" in said
    assert person.git("rev-parse", "refs/allstop/backup/T1@third/1") == gone


@pytest.mark.parametrize("locked", [True, False])
def test_b6_a_checkout_that_git_still_lists_keeps_its_refs_although_its_disk_is_away(
    person, linked, locked
):
    linked.allstop("run", "Please make-there", code=3)
    if locked:
        person.git("worktree", "lock", str(linked.repository))
    linked.repository.rename(person.home / "unmounted")
    listed = person.git("worktree", "list", "--porcelain")
    before = refs_of(person)

    assert ("locked" if locked else "prunable") in listed
    assert person.json("clean")["checkouts"] == []
    person.allstop("clean", "--yes")
    assert "has left anything" in person.refuses("clean", "--force", "@linked")
    assert refs_of(person) == before
