"""Git's settings of the machine and of its user do not change the result of a merge."""

from adapters.git.workspace_fixture import commit, git

LINES = "".join(f"line {number}\n" for number in range(20))


async def test_b17_a_merge_driver_of_the_machine_is_not_used(repo, tmp_path, monkeypatch):
    attributes = tmp_path / "attributes"
    attributes.write_text("*.txt merge=loud\n")
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f"[core]\n\tattributesFile = {attributes}\n"
        '[merge "loud"]\n\tdriver = echo changed by the driver >%A\n'
        "[merge]\n\trenormalize = true\n"
    )
    commit(repo.root, _gitattributes="*.txt merge=loud\n", long_txt=LINES)
    await repo.worked("sed -i 's/^line 2$/line two/' long.txt")
    commit(repo.root, long_txt=LINES.replace("line 18\n", "line eighteen\n"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))

    made = await repo.integrated()

    merged = LINES.replace("line 2\n", "line two\n").replace("line 18\n", "line eighteen\n")
    assert git(repo.root, "show", f"{made.commit}:long.txt") == merged.strip()
