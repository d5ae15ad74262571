"""When fetching work asks git again, and when it doesn't."""

import os
import time

import pytest

from adapters.git.workspace_fixture import commit, git, open_repo
from allstop.adapters.git.repository.cached_files import read_small
from allstop.adapters.git.workspace.change_detection import is_unchanged, take_snapshot
from allstop.adapters.git.workspace.folders import WorkspaceFolders


class Counting:
    """A launcher that counts."""

    def __init__(self, launcher):
        self._launcher = launcher
        self.started = 0

    def __getattr__(self, name):
        return getattr(self._launcher, name)

    def launch(self, launch):
        self.started += 1
        return self._launcher.launch(launch)


@pytest.fixture
async def counted(root, tmp_path, anyio_backend):
    """A repository whose workspace was found twice as it was: nothing more is expected of it."""
    box_git = []

    def around(launcher):
        box_git.append(Counting(launcher))
        return box_git[0]

    repo = await open_repo(root, tmp_path, around=around)
    (repo.box_git,) = box_git
    await repo.worked("echo x >x; echo y >ignored; echo ignored >.gitignore")
    await repo.kept()
    repo.box_git.started = 0
    return repo


async def test_no_box_is_made_where_nothing_was_touched(counted):
    await counted.agent("cat x; git log; git diff HEAD~1; echo at home >~/notes")

    change = await counted.kept()

    assert change == await counted.kept()
    assert (change.commits, change.files) == (1, 2)
    assert counted.box_git.started == 0


@pytest.mark.parametrize(
    ("script", "files"),
    [
        ("echo z >x; touch -r .gitignore x", 2),  # as long, and as old as it likes to be
        ("chmod +x x", 2),
        ("rm x", 1),
        ("mv x z", 2),
        ("mkdir -p deep/er; echo z >deep/er/z", 3),
        ("ln -sf a.txt x", 2),
        ("git rm -q --cached x; git commit -qm gone; echo x >>.gitignore", 1),
        ("git commit -q --allow-empty -m nothing", 2),
        ("printf '' >.gitignore", 3),
        ("echo . >.git/info/exclude; echo >.gitignore; rm .git/info/exclude", 3),
    ],
)
async def test_whatever_is_touched_is_looked_at(counted, script, files):
    before = await counted.kept()
    await counted.agent(script)

    change = await counted.kept()

    assert change.head != before.head
    assert change.files == files
    assert counted.box_git.started == 1
    assert git(counted.root, "rev-parse", "refs/allstop/tip/w") == change.head


async def test_a_home_with_settings_of_its_own_is_not_trusted(counted):
    await counted.agent("mkdir -p ~/.config/git; echo z >~/.config/git/ignore")
    await counted.kept()
    await counted.agent("echo z >z")
    first = await counted.kept()
    await counted.agent("rm ~/.config/git/ignore")

    change = await counted.kept()

    assert (first.files, change.files) == (2, 3)


@pytest.mark.parametrize(
    "say",
    [
        "git config core.excludesFile ~/more",
        "printf '[core]\\nexcludesFile = ~/more\\n' >~/settings; git config include.path ~/settings",
        "mkdir -p .git/info; ln -sf ~/more .git/info/exclude",
    ],
)
async def test_a_tree_that_hangs_on_other_files_is_not_trusted(counted, say):
    await counted.agent(f"echo z >~/more; {say}; echo z >z")
    await counted.kept()
    hidden = await counted.kept()
    await counted.agent("rm ~/more")

    change = await counted.kept()

    assert (hidden.files, change.files) == (2, 3)


async def test_work_whose_ref_was_deleted_comes_home_again(counted):
    change = await counted.kept()
    git(counted.root, "update-ref", "-d", "refs/allstop/tip/w")

    assert await counted.kept() == change
    assert git(counted.root, "rev-parse", "refs/allstop/tip/w") == change.head


async def test_work_is_counted_from_where_it_began(counted):
    onto = commit(counted.root, b_txt="b\n")
    await counted.opened(onto=onto)

    change = await counted.kept()

    assert git(counted.root, "rev-parse", f"{change.head}^2") == onto
    assert change.files == 2


def tree_at(box):
    tree = WorkspaceFolders(box)
    tree.make()
    git(tree.work, "init", "-q")
    return tree


def seen(tree, **most):
    look = take_snapshot(tree, **most)
    assert look is not None
    return look


@pytest.mark.parametrize(
    "touch",
    [
        lambda work: os.utime(work / "file", ns=(1, 1)),
        lambda work: (work / "file").chmod(0o600),
        lambda work: (work / "in/new").touch(),
        lambda work: (work / "in/file").unlink(),
        lambda work: (work / "in").rename(work / "out"),
        lambda work: (work / "link").unlink(),
        lambda work: work.rename(work.with_name("away")),
        lambda work: (work.with_name("home") / ".gitconfig").touch(),
    ],
)
def test_whatever_is_touched_is_seen(tmp_path, touch):
    tree = tree_at(tmp_path)
    (tree.work / "in").mkdir()
    for name in ("file", "in/file"):
        (tree.work / name).touch()
    (tree.work / "link").symlink_to("nowhere")
    look = seen(tree)
    still = is_unchanged(look)
    time.sleep(0.02)  # the kernel's clock for files goes in steps

    touch(tree.work)

    assert still
    assert not is_unchanged(look)


def test_a_tree_that_can_not_be_seen_through_is_not_called_still(tmp_path):
    tree = tree_at(tmp_path)
    (tree.work / "file").touch()
    entries = len(seen(tree).entries)

    assert seen(tree, most_entries=entries)
    assert take_snapshot(tree, most_entries=entries - 1) is None
    assert take_snapshot(WorkspaceFolders(tmp_path / "nowhere")) is None


def _with(name, text):
    return lambda work: (work / ".git" / name).write_text(text)


@pytest.mark.parametrize(
    "hang",
    [
        _with("config", "[core]\n\texcludesFile = /tmp/mine\n"),
        _with("config", "[include]\n\tpath = /tmp/mine\n"),
        _with("commondir", "/tmp/mine\n"),
        lambda work: (work / ".git/index").symlink_to("/tmp/mine"),
        lambda work: os.truncate(work / ".git/config", 2**40),  # nobody has the time to read it
        lambda work: (work / ".git/config").unlink(),
    ],
)
def test_a_tree_that_hangs_on_files_elsewhere_is_not_called_still(tmp_path, hang):
    tree = tree_at(tmp_path)
    before = take_snapshot(tree)

    hang(tree.work)

    assert before
    assert take_snapshot(tree) is None


def test_only_as_much_of_a_file_is_read_as_was_said(tmp_path):
    (tmp_path / "one").write_bytes(b"x" * 200_000)
    for most in (0, 65_536, 199_999):
        with pytest.raises(OSError, match="too large"):
            read_small(str(tmp_path / "one"), most)

    assert read_small(str(tmp_path / "one"), 200_000) == b"x" * 200_000


def test_nobody_follows_a_link_of_the_agents_to_see_whether_it_was_at_rest(tmp_path):
    """Its home is the agent's: behind a link there may be a disk that never answers."""
    tree = tree_at(tmp_path / "one")
    look = seen(tree)

    (tree.home / ".config").symlink_to(tmp_path)

    assert take_snapshot(tree) is None
    assert not is_unchanged(look)


async def test_f4_an_empty_commit_is_told_from_work_by_its_tree(repo):
    """F4: the head moves, what it holds stays the same."""
    before = await repo.worked("echo x >x; git add x; git commit -qm x")
    await repo.agent("git commit -q --allow-empty -m nothing")
    after = await repo.kept()

    assert after.head != before.head
    assert after.tree == before.tree != ""


INNER = {
    "one": ("git init -q in; echo 1 >in/1", "in/1"),
    "one in another": (
        "git init -q in; echo 1 >in/1; git init -q in/deep/er; echo 2 >in/deep/er/2",
        "in/1 in/deep/er/2",
    ),
    "one with what it ignores": (
        "git init -q in; cd in; echo 1 >1; echo 2 >2; echo 2 >.gitignore",
        "in/.gitignore in/1",
    ),
    "one whose files are staged": ("git init -q in; cd in; echo 1 >1; git add -A", "in/1"),
    "one with an odd name": ("git init -q ' -*'; echo 1 >' -*/1'", "-*/1"),
    "beside an empty one and a closed file": (
        "git init -q in; echo 1 >in/1; git init -q none; echo x >closed; chmod 000 closed",
        "in/1",
    ),
    "where files are known already": ("mkdir in; echo 1 >in/1; git add -A; git init -q in", "in/1"),
}


@pytest.mark.parametrize("what", INNER)
async def test_b6_files_of_a_repository_without_a_commit_are_work(repo, what):
    """B6: `git init` in a folder of the workspace hides nothing that is in it."""
    script, files = INNER[what]

    change = await repo.worked(f"echo x >x; ({script})")
    await repo.agent("find . -name 1 -exec sh -c 'echo later >$(dirname \"$0\")/later' {} ';'")
    later = await repo.kept()

    listed = git(repo.root, "ls-tree", "-r", "--name-only", change.head).split("\n")
    assert " ".join(listed).replace("a.txt", "").replace(" x", "").split() == files.split()
    assert change.files == len(listed) - 1
    assert change.loose == ()
    assert (later.files, later.loose) == (change.files + 1, ())


async def test_f3_what_steers_others_is_told_with_the_work(repo):
    """F3: also under a name that nobody would type, and when it is taken away."""
    change = await repo.worked(
        "mkdir -p .github/workflows .claude src; echo x >src/a.py; echo x >CLAUDE.md;"
        " echo x >'.github/workflows/a b.yml'; rm a.txt"
    )

    assert change.guarded == {
        ".github/workflows/a b.yml": "decides what CI runs",
        "CLAUDE.md": "steers agents",
    }
    assert change.sketch == (
        "A .github/workflows/a b.yml",
        "A CLAUDE.md",
        "D a.txt",
        "A src/a.py",
    )


async def test_f3_of_many_files_the_first_are_named(repo):
    change = await repo.worked("for n in $(seq 100 150); do echo x >f$n; done")

    assert change.files == 51
    assert change.sketch == tuple(f"A f{number}" for number in range(100, 120))


async def in_clone(repo, arguments):
    code, said = await repo.agent(f"git {arguments}")
    assert code == 0, said
    return said.strip()


async def test_p8_changes_stay_uncommitted_until_they_are_committed_once(repo):
    await repo.opened()
    base = await in_clone(repo, "rev-parse HEAD")
    await repo.agent("echo 1 >one")
    first = await repo.kept(uncommitted=True)
    await repo.agent("echo 2 >two")
    second = await repo.kept(uncommitted=True)

    assert await in_clone(repo, "rev-parse HEAD") == base
    assert (first.commits, second.commits, second.files) == (1, 1, 2)
    assert git(repo.root, "show", f"{second.head}:two") == "2"
    assert await repo.kept(uncommitted=True) == second
    await repo.opened()  # as after a kill
    assert await repo.kept(uncommitted=True) == second

    done = await repo.kept(message="Step 1: both")
    assert await repo.kept(message="Step 1: both") == done
    assert await in_clone(repo, f"log --format=%s {base}..") == "Step 1: both"
    assert (done.commits, done.tree) == (1, second.tree)
    assert git(repo.root, "rev-parse", f"{done.head}^") == base


async def test_p8_what_was_not_committed_survives_the_loss_of_the_workspace(repo):
    await repo.opened()
    await repo.agent("echo 1 >one")
    await repo.kept(uncommitted=True)
    repo.workspaces.remove_folders("w")
    await repo.opened()

    assert (repo.tree() / "one").read_text() == "1\n"


async def test_p8_after_a_turn_without_changes_the_earlier_ones_are_still_committed(repo):
    await repo.opened()
    await repo.agent("echo 1 >one")
    for _ in range(3):
        await repo.kept(uncommitted=True)
    await repo.kept(message="Step 1")

    assert await in_clone(repo, "log -1 --format=%s") == "Step 1"
    assert await in_clone(repo, "status --porcelain") == ""
