"""Names of tasks and branches that look like paths, options or refs."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.git.workspace_fixture import git
from allstop.adapters.git.repository.repository import checked_out_branch
from allstop.adapters.git.repository.safe_names import OwnRefs, branch_ref, folder_name, git_folders
from allstop.core.moves import Failed
from support.cases import for_each

ODD = [
    "-rf",
    "--upload-pack=x",
    "../../up",
    "a b",
    "a\nb",
    "x.lock",
    ".hidden",
    "ä/ö",
    "a..b",
    "@{u}",
    "a" * 300,
]


@pytest.mark.parametrize("name", ODD)
async def test_a_task_of_any_name_has_a_workspace_and_can_be_merged(repo, name):
    await repo.worked("echo x >x", name)

    made = await repo.integrated(name)
    await repo.landed(made)

    assert repo.tree(name).parent.parent == repo.folder
    assert git(repo.root, "show", "main:x") == "x"


@pytest.mark.parametrize(
    "branch", ["-d", "--force", "a..b", "a b", "x\ny", "", "HEAD^", "a:b", "/etc"]
)
async def test_a_branch_that_can_not_be_is_a_clear_failure(repo, branch):
    await repo.worked("echo x >x")
    tip = git(repo.root, "rev-parse", "main")

    results = [
        await repo.workspaces.open("new", branch, "run"),
        await repo.workspaces.integrate("w", branch, "m", "run"),
        await repo.workspaces.land(branch, tip, tip),
        await repo.workspaces.revert(tip, branch, "m"),
    ]

    assert all(isinstance(result, Failed) for result in results)
    assert git(repo.root, "rev-parse", "main") == tip


async def test_a_branch_that_begins_with_a_dash_is_a_branch(repo):
    git(repo.root, "update-ref", "refs/heads/-d", "main")

    await repo.worked("echo x >x", target="-d")
    await repo.landed(await repo.integrated(target="-d"), "-d")

    assert git(repo.root, "show", "refs/heads/-d:x") == "x"


@given(st.lists(st.text(max_size=200), min_size=2, max_size=2, unique=True))
def test_no_two_workspaces_share_a_folder(names):
    one, other = map(folder_name, names)

    assert one != other
    assert not {"/", "\0"} & set(one)
    assert one not in ("", ".", "..")
    assert not one.startswith("-")


@for_each("name", [*ODD, "", ".", "..", "%", "%2E", "a/b", "~^:?*[\\", "x.", "a.lock", "@"])
@for_each("own", [OwnRefs(), OwnRefs("@linked")])
def test_every_ref_is_one_that_git_takes(own, name):
    done = subprocess.run(["git", "check-ref-format", own.tip(name)], check=False)

    assert done.returncode == 0
    assert own.folder_of(own.tip(name)) == folder_name(name)
    assert OwnRefs("@another").folder_of(own.tip(name)) is None


@given(st.text(alphabet="ab/.-@{}~^: *?[\\\x01\n", max_size=8))
def test_what_counts_as_a_branch_is_what_git_says(name):
    done = subprocess.run(
        ["git", "check-ref-format", f"refs/heads/{name}".replace("\0", "")], check=False
    )

    assert (branch_ref(name) is not None) == (done.returncode == 0)


def test_b17_a_branch_is_told_from_a_tag_of_the_same_name(tmp_path):
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"],
        ["tag", "main"],
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)

    assert checked_out_branch(tmp_path) == "main"


@pytest.mark.parametrize("kind", ["main", "linked", "submodule"])
def test_b6_where_git_keeps_what_it_knows_of_a_checkout(repo, tmp_path, kind):
    """B6: as git itself says."""
    root = repo.root
    if kind == "linked":
        root = tmp_path / "linked"
        git(repo.root, "worktree", "add", "-q", "--detach", str(root))
    if kind == "submodule":
        local = ("-c", "protocol.file.allow=always")
        git(repo.root, *local, "submodule", "--quiet", "add", str(repo.root), "inner")
        root = repo.root / "inner"

    found = git_folders(root)

    asked = ("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    assert [str(each.resolve()) for each in found] == git(root, *asked).split()
    assert found.are_linked is (kind == "linked")
