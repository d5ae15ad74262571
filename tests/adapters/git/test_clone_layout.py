"""What a clone gets besides its commit: copied files, setup, submodules, LFS pointers."""

import os

import pytest

from adapters.git.workspace_fixture import commit, git, open_repo, write
from allstop.adapters.git.workspace.clone import CloneSetup
from allstop.core.moves import Change, CheckResult, Failed, FailureKind
from allstop.ports import Unready


async def test_b6_untracked_files_are_copied_and_are_nobodys_work(root, tmp_path):
    """B6: untracked files a checkout needs are copied by configured patterns."""
    commit(root, _gitignore=".env*\nconfig/\n")
    write(root, _env="KEY=1\n", config__local_toml="x = 1\n", other_txt="no\n")
    (root / ".env").chmod(0o600)
    repo = await open_repo(root, tmp_path, copy=(".env*", "config"))

    await repo.opened()
    _, said = await repo.agent("cat .env config/local.toml; ls -A; rm .gitignore")
    change = await repo.kept()

    assert "KEY=1\nx = 1\n" in said
    assert "other.txt" not in said
    assert git(root, "ls-tree", "-r", "--name-only", change.head).split() == ["a.txt"]


async def test_b6_checks_have_the_persons_copy_and_not_the_agents(root, tmp_path):
    commit(root, _gitignore=".env\n")
    write(root, _env="KEY=1\n")
    repo = await open_repo(root, tmp_path, copy=(".env",))
    await repo.worked("echo KEY=evil >.env; echo x >x")

    candidate = await repo.candidate()

    assert (await repo.in_box(candidate.box, "cat .env"))[1] == "KEY=1\n"


async def test_b6_an_agent_that_changes_the_ignore_file_does_not_commit_the_copy(root, tmp_path):
    write(root, _env="KEY=1\n")
    repo = await open_repo(root, tmp_path, copy=(".env",))

    change = await repo.worked("rm .git/info/exclude; echo x >x")

    assert git(root, "ls-tree", "-r", "--name-only", change.head).split() == ["a.txt", "x"]


async def test_b6_tracked_files_are_never_overwritten_by_a_copy(root, tmp_path):
    write(root, a_txt="changed in the checkout\n")
    repo = await open_repo(root, tmp_path, copy=("*.txt",))

    await repo.opened()

    assert (await repo.agent("cat a.txt"))[1] == "one\n"


async def test_k14_a_link_that_leads_out_of_the_repository_is_not_followed(root, tmp_path):
    """K14: the agent can't read the user's home by a pattern."""
    (tmp_path / "home" / "secret").write_text("s3cret")
    (root / ".env").symlink_to(tmp_path / "home" / "secret")
    (root / ".env.git").symlink_to(root / ".git" / "config")
    (root / ".env.loop").symlink_to(root / ".env.loop")
    os.mkfifo(root / ".env.pipe")
    repo = await open_repo(root, tmp_path, copy=(".env*", "../secret", "/etc/passwd"))

    opened = await repo.opened()
    _, said = await repo.agent("ls -A")

    assert said.split() == [".git", "a.txt"]
    assert len(opened.notes) == 3


async def test_b6_a_link_inside_the_repository_is_copied_as_a_file(root, tmp_path):
    write(root, real_env="KEY=1\n")
    (root / ".env").symlink_to(root / "real.env")
    repo = await open_repo(root, tmp_path, copy=(".env",))

    await repo.opened()

    assert (await repo.agent("cat .env"))[1] == "KEY=1\n"


async def test_k14_a_committed_link_does_not_lead_a_copy_astray(root, tmp_path):
    """K14: what is laid in is put in place by the box's own user, in the box."""
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    os.symlink(outside, root / "config")
    commit(root)
    os.unlink(root / "config")
    write(root, config__local="secret")
    repo = await open_repo(root, tmp_path, copy=("config/local",))

    await repo.opened()

    assert list(outside.iterdir()) == []


async def test_b6_setup_runs_once_in_the_box(root, tmp_path):
    """B6: a `setup` command may run in it."""
    repo = await open_repo(root, tmp_path, setup="echo run >>~/setups; pwd >where")

    await repo.opened()
    await repo.opened()
    _, said = await repo.agent("cat ~/setups where")

    assert said.split() == ["run", str(root)]


async def test_b22_a_clone_is_set_up_as_its_target_says_when_it_is_made(root, tmp_path):
    """B22: what a workspace was given before stays; where nobody can tell, the last holds."""
    setups = ["echo 1 >>~/made", "echo 2 >>~/made", None]
    asked = []

    async def find_clone_setup(target):
        asked.append(target)
        setup = setups.pop(0)
        return setup and CloneSetup(setup=setup)

    repo = await open_repo(
        root, tmp_path, setup="echo 0 >>~/made", find_clone_setup=find_clone_setup
    )
    await repo.worked("echo x >x")
    seen = [(await repo.agent("cat ~/made"))[1]]
    for _ in range(2):
        candidate = await repo.candidate()
        seen.append((await repo.in_box(candidate.box, "cat ~/made"))[1])

    assert seen == ["1\n", "2\n", "2\n"]
    assert asked == ["main"] * 3


async def test_b6_setup_runs_for_the_checks_too(root, tmp_path):
    repo = await open_repo(root, tmp_path, setup="echo made >made; echo made >>.git/info/exclude")
    await repo.worked("echo x >x")

    candidate = await repo.candidate()

    assert (await repo.in_box(candidate.box, "cat made"))[1] == "made\n"


@pytest.mark.parametrize(
    ("setup", "said"), [("echo no module; exit 7", "no module"), ("sleep 60", "longer than")]
)
async def test_b6_a_setup_that_fails_is_told(root, tmp_path, setup, said):
    repo = await open_repo(root, tmp_path, setup=setup, setup_timeout_s=1.0)

    result = await repo.workspaces.open("w", "main", "run")

    assert isinstance(result, Failed)
    assert said in result.message


async def test_b10_a_setup_that_the_work_breaks_is_a_check_that_has_failed(root, tmp_path):
    setup = "! cat broken"
    repo = await open_repo(root, tmp_path, setup=setup)
    await repo.worked("echo no such package >broken")

    result = await repo.workspaces.candidate("w", "run")

    assert result == Unready(
        CheckResult(name="setup", run=setup, passed=False, code=1, output="no such package")
    )


async def test_b10_a_setup_that_fails_comes_with_what_the_clone_lacked(root, tmp_path):
    """B10: it may be why; of the workspace as of the clone in which it is checked."""
    (tmp_path / "secret").write_text("x")
    os.symlink(tmp_path / "secret", root / ".env")
    repo = await open_repo(root, tmp_path, setup="test -e .env", copy=(".env",))
    lacks = (".env was not copied: it leads out of the repository",)

    opened = await repo.workspaces.open("w", "main", "run")
    checked = await repo.workspaces.candidate("w", "run", commit=git(root, "rev-parse", "main"))

    assert opened.notes == checked.notes == lacks
    assert not checked.result.passed


@pytest.fixture
def with_submodule(root, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main", ".")
    commit(library, lib_txt="lib\n")
    git(
        root,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(library),
        "vendor/lib",
    )
    commit(root, "with a submodule")
    return root


async def test_b6_submodules_come_from_the_persons_own_checkout(with_submodule, tmp_path):
    repo = await open_repo(with_submodule, tmp_path)

    opened = await repo.opened()
    _, said = await repo.agent("cat vendor/lib/lib.txt; git status --short; echo x >x")
    change = await repo.kept()
    candidate = await repo.candidate()

    assert opened.notes == ()
    assert said == "lib\n"
    assert change.files == 1
    assert (await repo.in_box(candidate.box, "cat vendor/lib/lib.txt"))[1] == "lib\n"


async def test_b6_a_submodule_that_is_not_there_is_a_note(with_submodule, tmp_path):
    (with_submodule / ".git" / "modules").rename(with_submodule / ".git" / "hidden")
    repo = await open_repo(with_submodule, tmp_path)

    opened = await repo.opened()

    assert opened.notes == ("submodule vendor/lib is not checked out here",)
    assert (await repo.candidate(commit="main")).notes == opened.notes
    assert (await repo.agent("git status --short"))[0] == 0


async def test_b17_commits_that_are_only_in_a_submodule_of_the_workspace_are_told(
    with_submodule, tmp_path
):
    """B17: merged, the branch would name a commit that nobody has."""
    repo = await open_repo(with_submodule, tmp_path)

    change = await repo.worked("cd vendor/lib; echo x >x; git add -A; git commit -qm x")
    again = await repo.kept()
    await repo.agent("git -C vendor/lib checkout -q HEAD~1; echo y >y")
    back = await repo.kept()

    assert change.loose == again.loose == ("vendor/lib",)
    assert (back.loose, back.files) == ((), 1)


async def test_b6_what_is_left_uncommitted_in_a_submodule_is_told(with_submodule, tmp_path):
    """B6: it is no part of the work's commit, and would be missing without a word."""
    repo = await open_repo(with_submodule, tmp_path)
    name = next(iter(git(with_submodule / "vendor" / "lib", "ls-files").split()))

    before = await repo.worked("echo y >y")
    await repo.agent(f"echo more >>vendor/lib/{name}; echo built >vendor/lib/built")
    change = await repo.kept()
    again = await repo.kept()
    await repo.agent("git -C vendor/lib checkout -q .")
    back = await repo.kept()

    assert before.loose == back.loose == ()
    assert change.loose == again.loose == ("vendor/lib (with changes that are not committed)",)


async def test_b17_a_submodule_may_be_set_to_what_the_person_has(with_submodule, tmp_path):
    module = with_submodule / "vendor" / "lib"
    before = git(module, "rev-parse", "HEAD")
    git(with_submodule, "add", "-A")
    commit(module, more_txt="more\n")
    commit(with_submodule, "with a newer one")
    repo = await open_repo(with_submodule, tmp_path)

    change = await repo.worked(f"git -C vendor/lib checkout -q {before}")

    assert (change.loose, change.files) == ((), 1)


async def test_b17_a_repository_within_the_work_is_told(repo):
    me = "-c user.name=A -c user.email=a@example.invalid"

    change = await repo.worked(f"git init -q sub; cd sub; git {me} commit -q --allow-empty -m x")

    assert change.loose == ("sub",)


async def test_b6_files_of_git_lfs_are_pointers_and_a_note(root, tmp_path):
    commit(root, _gitattributes="*.bin filter=lfs diff=lfs merge=lfs -text\n", a_bin="pointer\n")
    repo = await open_repo(root, tmp_path)

    opened = await repo.opened()

    assert opened.notes == ("files kept by Git LFS are pointers here",)
    assert (await repo.agent("cat a.bin"))[1] == "pointer\n"


LFS = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


async def test_b6_files_of_git_lfs_in_folders_are_a_note_too(root, tmp_path):
    commit(root, deep__er___gitattributes=LFS, deep__er__a_bin="pointer\n")
    assert git(root, "ls-files").split() == ["a.txt", "deep/er/.gitattributes", "deep/er/a.bin"]
    repo = await open_repo(root, tmp_path)

    opened = await repo.opened()
    checked = await repo.candidate(commit="main")

    assert opened.notes == checked.notes == ("files kept by Git LFS are pointers here",)


async def test_b6_files_of_git_lfs_that_only_the_person_knows_of_are_a_note_too(root, tmp_path):
    commit(root, a_bin="pointer\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text(LFS)
    repo = await open_repo(root, tmp_path)

    opened = await repo.opened()

    assert opened.notes == ("files kept by Git LFS are pointers here",)


async def test_b6_attributes_for_git_lfs_without_a_file_are_no_note(root, tmp_path):
    commit(root, deep___gitattributes=LFS, deep__a_txt="text\n")
    repo = await open_repo(root, tmp_path)

    assert (await repo.opened()).notes == ()


async def test_a_shallow_repository_can_be_worked_in_and_merged(root, tmp_path):
    commit(root, b_txt="b\n")
    shallow = tmp_path / "home" / "shallow"
    git(root.parent, "clone", "-q", "--depth", "1", f"file://{root}", str(shallow))
    repo = await open_repo(shallow, tmp_path)
    await repo.worked("echo x >x")
    tip = commit(shallow, c_txt="c\n")

    opened = await repo.opened(onto=tip)
    await repo.kept()
    await repo.landed(await repo.integrated())

    assert opened.conflicts == ()
    assert (shallow / "x").read_text() == "x\n"


async def test_a_workspace_that_holds_too_much_is_told_and_nothing_of_it_comes_home(root, tmp_path):
    repo = await open_repo(root, tmp_path, disk_mb=5)
    await repo.opened()
    await repo.agent("head -c 9000000 /dev/urandom >big")

    too_big = await repo.workspaces.keep("w", "run")
    await repo.agent("head -c 1000 big >small; rm big")
    change = await repo.workspaces.keep("w", "run")

    assert isinstance(too_big, Failed)
    assert too_big.kind is FailureKind.OUT_OF_ROOM
    assert "may hold 5 MB" in too_big.message
    assert isinstance(change, Change)


async def test_linked_folders_do_not_count_as_what_it_holds(root, tmp_path):
    (root / "node_modules").mkdir()
    (root / "node_modules" / "big").write_bytes(os.urandom(9_000_000))
    repo = await open_repo(root, tmp_path, disk_mb=5, links=("node_modules",))

    assert (await repo.worked("echo x >x")).files == 1


async def test_b6_a_file_that_is_too_large_to_copy_is_a_note(root, tmp_path):
    with (root / "big.env").open("wb") as file:
        file.truncate(64 * 1024**2 + 1)
    (root / "small.env").write_text("x\n")
    repo = await open_repo(root, tmp_path, copy=("*.env",))

    opened = await repo.opened()

    assert opened.notes == ("big.env was not copied: it is too large",)
    assert (await repo.agent("ls"))[1].split() == ["a.txt", "small.env"]
