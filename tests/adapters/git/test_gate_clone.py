"""The clean clone of one commit that is checked, and the changes of that commit."""

import pytest

from adapters.git.workspace_fixture import commit, git
from allstop.core.moves import Failed, FailureKind
from allstop.ports import FileChange, Subject


def by_path(changes):
    return {change.path: change for change in changes}


async def test_k19_the_works_own_commit_with_its_base_and_tree(repo):
    """K19: checks run in a clean clone; which commit, is told exactly."""
    opened = await repo.opened()
    await repo.agent("echo x >x")
    change = await repo.kept()
    commit(repo.root, b_txt="main has moved on\n")

    candidate = await repo.candidate()

    assert (candidate.base, candidate.commit) == (opened.base, change.head)
    assert candidate.tree == git(repo.root, "rev-parse", f"{change.head}^{{tree}}")


async def test_k19_a_merge_is_checked_against_its_first_parent(repo):
    await repo.worked("echo x >x")
    commit(repo.root, b_txt="b\n")
    made = await repo.integrated()

    candidate = await repo.candidate(commit=made.commit)
    _, said = await repo.in_box(candidate.box, "ls; git rev-parse HEAD; git status --short")

    assert (candidate.base, candidate.commit, candidate.tree) == (made.tip, made.commit, made.tree)
    assert said.split() == ["a.txt", "b.txt", "x", made.commit]
    assert await repo.workspaces.changes(candidate) == [FileChange("x", "A", ("x",))]


async def test_k19_a_commit_can_be_checked_where_there_is_no_workspace(repo):
    tip = commit(repo.root, b_txt="b\n")

    candidate = await repo.candidate("gone", commit=tip)

    assert (await repo.in_box(candidate.box, "ls"))[1].split() == ["a.txt", "b.txt"]


async def test_b16_what_is_only_looked_at_is_the_same_and_has_no_clone(repo):
    await repo.worked("for n in $(seq 12); do echo $n >x; git add x; git commit -qm $n; done")
    commit(repo.root, b_txt="main has moved on\n")

    for which in ("", (await repo.integrated()).commit):
        work = await repo.workspaces.subject("w", "run", commit=which)
        assert not repo.tree().with_name("check").exists()

        candidate = await repo.candidate(commit=which)
        assert work == Subject(candidate.base, candidate.commit, candidate.tree)
        assert await repo.workspaces.changes(work) == [FileChange("x", "A", ("12",))]
        await repo.workspaces.drop_candidate("w")


async def test_k19_work_that_does_not_have_all_of_its_branch_is_told(repo):
    """K19: and nothing is cloned; the work goes on to be checked as it is where that is asked."""
    await repo.worked("echo x >x")
    assert (await repo.candidate(follows="main")).base == git(repo.root, "rev-parse", "main")
    await repo.workspaces.drop_candidate("w")
    tip = commit(repo.root, b_txt="main has moved on\n")

    said = Failed(kind=FailureKind.MOVED, message=f"main has moved to {tip[:10]}")
    assert await repo.workspaces.candidate("w", "run", follows="main") == said
    assert await repo.workspaces.subject("w", "run", follows="main") == said
    assert not repo.tree().with_name("check").exists()
    await repo.opened(onto=tip)
    await repo.kept()
    assert (await repo.candidate(follows="main")).base == tip


async def test_k19_a_branch_that_is_gone_has_not_moved(repo):
    await repo.worked("echo x >x")

    assert isinstance(await repo.workspaces.subject("w", "run", follows="gone"), Subject)


async def test_b16_what_has_no_beginning_can_not_be_looked_at(repo):
    assert isinstance(await repo.workspaces.subject("nobody", "run"), Failed)


async def test_a_commit_that_is_not_there_can_not_be_checked(repo):
    await repo.opened()

    for name in ("0" * 40, "-x", "a\nb"):
        assert isinstance(await repo.workspaces.candidate("w", "run", commit=name), Failed)


@pytest.fixture
def tested(root):
    commit(root, tests__test_a_py="assert 1\n", tests__deep__b_py="b\n", ci_yml="ci\n")
    return root


TAMPERING = {
    "changed": "echo >tests/test.a.py",
    "deleted": "git rm -rq tests",
    "moved": "git mv tests attic",
    "added": "echo 'x' >tests/conftest.py",
    "a link to elsewhere": "git rm -rq tests; mkdir evil; echo >evil/test.a.py; ln -s evil tests",
    "a file instead": "git rm -rq tests; echo >tests",
    "made executable": "chmod +x tests/test.a.py",
}


@pytest.mark.parametrize("how", TAMPERING)
async def test_b16_protected_paths_are_as_in_the_base_whatever_the_work_made_of_them(
    tested, repo, how
):
    """B16: they run from the target branch's version."""
    change = await repo.worked(f"{TAMPERING[how]}; echo new >new")

    candidate = await repo.candidate(restore=("tests/**", "ci.yml"))
    _, said = await repo.in_box(
        candidate.box, "git ls-files -s tests ci.yml; cat new tests/test.a.py; ls -d tests"
    )

    listed = git(repo.root, "ls-tree", "-r", "main", "tests", "ci.yml")
    restored = [line.split() for line in said.splitlines()[:3]]
    assert [(mode, blob, path) for mode, blob, _, path in restored] == [
        (mode, blob, path)
        for mode, _, blob, path in map(
            str.split, sorted(listed.splitlines(), key=lambda row: row.split()[3])
        )
    ]
    assert said.splitlines()[3:] == ["new", "assert 1", "tests"]
    assert candidate.commit == change.head


async def test_b16_nothing_protected_was_touched(tested, repo):
    change = await repo.worked("echo new >new")

    candidate = await repo.candidate(restore=("tests/**",))

    assert (await repo.in_box(candidate.box, "git rev-parse HEAD"))[1].strip() == change.head


async def test_b16_changes_tell_paths_and_new_lines(tested, repo):
    await repo.worked(
        "printf 'one\\ntwo\\none\\n' >a.txt; git mv tests/deep/b.py tests/deep/c.py;"
        " git rm -q ci.yml; echo new >new; ln -s a.txt link; printf '\\0\\377' >bin"
    )

    changes = by_path(await repo.workspaces.changes(await repo.candidate()))

    assert changes == {
        "a.txt": FileChange("a.txt", "M", ("two", "one")),
        "bin": FileChange("bin", "A", ("\0�",)),
        "ci.yml": FileChange("ci.yml", "D"),
        "link": FileChange("link", "A", ("a.txt",)),
        "new": FileChange("new", "A", ("new",)),
        "tests/deep/b.py": FileChange("tests/deep/b.py", "D"),
        "tests/deep/c.py": FileChange("tests/deep/c.py", "R"),
    }


async def test_b16_names_of_any_kind_are_read_whole(repo):
    await repo.worked(
        "for n in \"$(printf 'two\\nlines')\" '-rf' 'tab\tq\"uote' 'ä' \"$(printf 'bad\\377')\";"
        ' do echo x >"./$n"; done'
    )

    changes = by_path(await repo.workspaces.changes(await repo.candidate()))

    assert set(changes) == {"two\nlines", "-rf", 'tab\tq"uote', "ä", "bad�"}


async def test_b16_a_big_file_does_not_hide_a_test(repo):
    """B16: what is looked at is bounded, tests come first."""
    await repo.worked(
        "for n in $(seq 40); do head -c 1000000 /dev/zero >aaa$n; echo $n >>aaa$n; done;"
        " head -c 5000000 /dev/zero >huge; mkdir tests; echo '@skip' >tests/test_x.py"
    )

    changes = by_path(await repo.workspaces.changes(await repo.candidate()))

    assert changes["tests/test_x.py"].added == ("@skip",)
    assert changes["huge"].added == ()
    assert sum(len(line) for change in changes.values() for line in change.added) < 40_000_000


async def test_k15_attributes_and_configured_programs_are_not_run_by_looking(repo, tmp_path):
    """K15: no external diff, no textconv, though the person has configured them."""
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\n")
    program.chmod(0o755)
    for key in ("diff.external", "diff.x.textconv", "diff.x.command"):
        git(repo.root, "config", key, str(program))
    await repo.worked("echo '* diff=x' >.gitattributes; echo x >x")

    await repo.workspaces.changes(await repo.candidate(restore=("a*",)))

    assert not canary.exists()


async def test_b16_changed_test_settings_are_found_and_restored(repo):
    settings = '[project]\nname = "a"\n[tool.pytest.ini_options]\n'
    (repo.root / "pyproject.toml").write_text(settings)
    git(repo.root, "add", "-A")
    git(repo.root, "commit", "-qm", "settings")
    await repo.opened()
    await repo.worked("echo 'addopts = \"--co\"' >>pyproject.toml; echo x >conftest.py")
    restore = ("**/conftest.py", "**/pyproject.toml#tests")

    candidate = await repo.workspaces.candidate("w", "run", restore=restore)

    found = {each.path: each.tests_differently for each in await repo.workspaces.changes(candidate)}
    assert found == {"conftest.py": False, "pyproject.toml": True}
    tree = repo.folder / "w" / "check" / "tree"
    assert "--co" not in (tree / "pyproject.toml").read_text()
    assert not (tree / "conftest.py").exists()


async def test_v2_changed_files_come_with_both_versions(repo):
    commit(repo.root, b_txt="b\nsame\nsame\nsame\n", c_txt="c\n")
    script = (
        "echo A >a.txt; git mv b.txt d.txt; git rm -q c.txt; echo n >n.txt; printf '\\377' >bin"
    )
    await repo.worked(f"{script}; git add -A; git commit -qm x")
    work = await repo.workspaces.subject("w", "run")

    changed = {each.path: each for each in await repo.workspaces.contents(work)}

    assert sorted(changed) == ["a.txt", "bin", "c.txt", "d.txt", "n.txt"]
    assert (changed["a.txt"].before, changed["a.txt"].after) == ("one\n", "A\n")
    assert (changed["c.txt"].before, changed["c.txt"].after) == ("c\n", None)
    assert (changed["n.txt"].before, changed["n.txt"].after) == (None, "n\n")
    assert changed["d.txt"].old_path == "b.txt"
    assert changed["d.txt"].before == changed["d.txt"].after
    assert not changed["bin"].is_readable
    assert await repo.workspaces.texts(work.commit, ("a.txt", "bin", "c.txt", "no such")) == {
        "a.txt": "A\n"
    }
