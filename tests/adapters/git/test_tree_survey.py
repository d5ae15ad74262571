"""F8, K15: a survey of a commit's tree, bounded and without running anything."""

from adapters.git.workspace_fixture import commit, git
from allstop.adapters.git.repository import tree_survey
from allstop.core.moves import Excerpt, Failed, FailureKind, Surveyed


async def test_f8_names_fronts_and_subjects_of_the_target(repo):
    head = commit(repo.root, "Add docs", README_md="# Parsnip\n", src__a_py="", src__deep__b_py="")

    found = await repo.workspaces.survey("", "main")

    assert isinstance(found, Surveyed), found
    assert found.commit == head
    assert {"README.md", "src/", "src/a.py", "src/deep/"} <= set(found.paths)
    assert "src/deep/b.py" not in found.paths
    assert found.files == (Excerpt(path="README.md", text="# Parsnip\n"),)
    assert found.subjects[0] == "Add docs"


async def test_f8_the_work_is_looked_at_once_there_is_some(repo):
    change = await repo.worked("echo '# Work' >README.md")

    found = await repo.workspaces.survey("w", "main")

    assert found.commit == change.head
    assert found.files[0].text == "# Work\n"


async def test_f8_a_branch_that_is_not_there_is_a_failure(repo):
    found = await repo.workspaces.survey("w", "nowhere")

    assert found == Failed(
        kind=FailureKind.BAD_REQUEST,
        message="branch 'nowhere' doesn't exist",
    )


async def test_k15_filters_attributes_and_links_of_the_repository_do_nothing(repo):
    """K15: content comes as git keeps it, and a link is no file."""
    mark = repo.root / "ran"
    git(repo.root, "config", "filter.x.smudge", f"touch {mark}; cat")
    git(repo.root, "config", "diff.x.textconv", f"touch {mark}; cat")
    (repo.root / "AGENTS.md").symlink_to("/etc/passwd")
    commit(repo.root, README_md="hello\n", _gitattributes="* filter=x diff=x\n")

    found = await repo.workspaces.survey("", "main")

    assert [file.path for file in found.files] == ["README.md"]
    assert "AGENTS.md" in found.paths
    assert not mark.exists()


async def test_k12_whatever_is_there_it_stays_small(repo):
    """K12: many names, long names, large and binary files, escape sequences."""
    (repo.root / "many").mkdir()
    for number in range(300):
        (repo.root / "many" / f"{number:03}{'x' * 200}").write_text("")
    (repo.root / "README.md").write_bytes(b"\x1b[31mred\x1b[0m" + b"y" * 100_000)
    (repo.root / "package.json").write_bytes(b"\0" * 1000)
    (repo.root / "Makefile").write_bytes(b"z" * (tree_survey.MAX_BYTES + 1))
    commit(repo.root, "s" * 5000)

    found = await repo.workspaces.survey("", "main")

    assert len(found.paths) == tree_survey.MAX_PATHS
    assert found.more > 100
    assert max(map(len, found.paths)) <= tree_survey.PATH_CHARS
    assert [file.path for file in found.files] == ["README.md"]
    assert found.files[0].text.startswith("redyyy")
    assert len(found.files[0].text) == tree_survey.FILE_CHARS
    assert len(found.subjects[0]) <= 120


async def test_k12_a_folder_with_too_many_names_is_not_opened(repo):
    blob = git(repo.root, "rev-parse", f"{commit(repo.root, b_txt='')}:b.txt")
    many = "".join(f"100644 blob {blob}\t{number:06}\n" for number in range(8000))
    wide = git(repo.root, "mktree", text=many)
    root = git(repo.root, "mktree", text=f"040000 tree {wide}\twide\n")
    git(repo.root, "branch", "wide", git(repo.root, "commit-tree", "-m", "wide", root))

    found = await repo.workspaces.survey("", "wide")

    assert found.paths == ("wide/",)
