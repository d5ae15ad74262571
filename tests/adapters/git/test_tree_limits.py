"""K12: commits whose trees stand for too many paths are refused before git walks through them."""

from adapters.git.workspace_fixture import git
from allstop.adapters.git.repository import tree_limits
from allstop.core.moves import Change, Failed

BOMB = """
entry=$(echo x | git hash-object -w --stdin) kind="100644 blob"
for level in $(seq {levels}); do
  entry=$(for each in $(seq {wide}); do printf '%s %s\\t%s\\n' "$kind" "$entry" "$each"; done |
    git mktree)
  kind="040000 tree"
done
git update-ref HEAD "$(git commit-tree -p HEAD -m bomb "$entry")"
{after}
"""


async def fetched(repo, levels, wide, after=""):
    await repo.opened()
    await repo.agent(BOMB.format(levels=levels, wide=wide, after=after))
    return await repo.workspaces.keep("w", "run")


UNDO = 'git update-ref HEAD "$(git commit-tree -p HEAD -m undo "HEAD~1^{tree}")"'


async def test_k12_a_tree_of_ten_objects_and_a_billion_paths_is_refused(repo):
    """Also if only an earlier commit has it."""
    result = await fetched(repo, 9, 10, UNDO)

    assert isinstance(result, Failed)
    assert "1,111,111,110 files and folders, at most 1,000,000" in result.message
    assert git(repo.root, "for-each-ref", "refs/allstop", "--format=%(refname)") == (
        "refs/allstop/base/w"
    )


async def test_k12_a_tree_that_is_too_deep_is_refused(repo):
    result = await fetched(repo, 300, 1, UNDO)

    assert isinstance(result, Failed)
    assert "nested 300 deep" in result.message


async def test_k12_new_files_that_take_too_much_together_are_refused(repo, monkeypatch):
    monkeypatch.setattr(tree_limits, "MAX_FILE_BYTES", 1000)
    await repo.opened()
    await repo.agent("for i in 1 2 3; do head -c 400 /dev/zero >$i; done")

    result = await repo.workspaces.keep("w", "run")

    assert isinstance(result, Failed)
    assert "its new files have 1,200 bytes" in result.message


async def test_k12_the_paths_of_old_folders_count(repo, monkeypatch):
    (repo.root / "old").mkdir()
    for number in range(20):
        (repo.root / "old" / str(number)).touch()
    git(repo.root, "add", "old")
    git(repo.root, "commit", "-qm", "old")
    monkeypatch.setattr(tree_limits, "MAX_PATHS", 50)
    await repo.opened()
    await repo.agent("cp -r old one; echo 1 >two")
    small = await repo.workspaces.keep("w", "run")
    await repo.agent("cp -r old two2; cp -r old three")
    large = await repo.workspaces.keep("w", "run")

    assert isinstance(small, Change)
    assert isinstance(large, Failed)
    assert "it has 86 files and folders, at most 50" in large.message
