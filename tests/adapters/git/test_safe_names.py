"""Names of tasks and branches that mean to be something else."""

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
async def test_a_task_of_any_name_has_a_workspace_and_can_be_merged(desk, name):
    await desk.worked("echo x >x", name)

    made = await desk.integrated(name)
    await desk.landed(made)

    assert desk.tree(name).parent.parent == desk.folder
    assert git(desk.root, "show", "main:x") == "x"


@pytest.mark.parametrize(
    "branch", ["-d", "--force", "a..b", "a b", "x\ny", "", "HEAD^", "a:b", "/etc"]
)
async def test_a_branch_that_can_not_be_is_a_clear_failure(desk, branch):
    await desk.worked("echo x >x")
    tip = git(desk.root, "rev-parse", "main")

    results = [
        await desk.workspaces.open("new", branch, "run"),
        await desk.workspaces.integrate("w", branch, "m", "run"),
        await desk.workspaces.land(branch, tip, tip),
        await desk.workspaces.revert(tip, branch, "m"),
    ]

    assert all(isinstance(result, Failed) for result in results)
    assert git(desk.root, "rev-parse", "main") == tip


async def test_a_branch_that_begins_with_a_dash_is_a_branch(desk):
    git(desk.root, "update-ref", "refs/heads/-d", "main")

    await desk.worked("echo x >x", target="-d")
    await desk.landed(await desk.integrated(target="-d"), "-d")

    assert git(desk.root, "show", "refs/heads/-d:x") == "x"


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
def test_b6_where_git_keeps_what_it_knows_of_a_checkout(desk, tmp_path, kind):
    """B6: as git itself says."""
    root = desk.root
    if kind == "linked":
        root = tmp_path / "linked"
        git(desk.root, "worktree", "add", "-q", "--detach", str(root))
    if kind == "submodule":
        local = ("-c", "protocol.file.allow=always")
        git(desk.root, *local, "submodule", "--quiet", "add", str(desk.root), "inner")
        root = desk.root / "inner"

    found = git_folders(root)

    asked = ("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    assert [str(each.resolve()) for each in found] == git(root, *asked).split()
    assert found.are_linked is (kind == "linked")
