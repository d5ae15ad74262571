"""`allstop --version` names the commit, unless it is a release."""

import subprocess

import pytest

from allstop import __version__
from allstop.version import describe_version
from support.repositories import make_repository


@pytest.fixture
def checkout(tmp_path):
    """A repository with the folder of a package, as in a checkout of the source."""
    make_repository(tmp_path / "clone", "hello\n")
    (tmp_path / "clone/src/allstop").mkdir(parents=True)
    return tmp_path / "clone"


def git(folder, *arguments):
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("how", ["branch", "packed", "detached", "worktree"])
def test_a_checkout_names_its_commit(checkout, how):
    commit = git(checkout, "rev-parse", "HEAD")
    if how == "packed":
        git(checkout, "pack-refs", "--all")
    elif how == "detached":
        git(checkout, "checkout", "-q", "--detach")
    elif how == "worktree":
        git(checkout, "worktree", "add", "-q", "-b", "other", "../other")
        checkout = checkout.parent / "other"

    said = describe_version(str(checkout / "src/allstop"))

    assert said == f"{__version__} (commit {commit[:10]})"


def test_a_package_names_the_commit_that_it_was_built_from_and_a_release_none(tmp_path):
    package = tmp_path / "lib/site-packages/allstop"
    package.mkdir(parents=True)
    released = describe_version(str(package))
    (package / "_commit").write_text("0123456789abcdef\n")

    assert released == __version__
    assert describe_version(str(package)) == f"{__version__} (commit 0123456789)"
