"""K15, Q21: files planted to be run by the host are never run."""

import pytest

from support.person import MERGE_AT_ONCE

MODULES = ("click", "msgspec", "anyio", "sqlite3", "json", "sitecustomize", "usercustomize", "rich")
RUN = 'import os; os.system("touch {evil}")\n'
FILES = {
    **{f"{name}.py": RUN for name in MODULES},
    "conftest.py": RUN,
    "setup.py": RUN,
    "pytest.ini": "[pytest]\naddopts = -p evil\n",
    "Makefile": "all:\n\ttouch {evil}\n",
    "justfile": "default:\n\ttouch {evil}\n",
    ".envrc": "touch {evil}\n",
    ".mise.toml": '[hooks]\nenter = "touch {evil}"\n',
    ".pre-commit-config.yaml": "repos: [{{repo: local, hooks: [{{id: x, entry: touch {evil}}}]}}]\n",
    ".husky/pre-commit": "touch {evil}\n",
    ".vscode/tasks.json": '{{"tasks": [{{"command": "touch {evil}"}}]}}\n',
    ".devcontainer.json": '{{"postCreateCommand": "touch {evil}"}}\n',
    ".claude/settings.json": '{{"hooks": {{"Stop": [{{"command": "touch {evil}"}}]}}}}\n',
    ".codex/config.toml": 'notify = ["touch", "{evil}"]\n',
    ".mcp.json": '{{"mcpServers": {{"x": {{"command": "touch", "args": ["{evil}"]}}}}}}\n',
    "package.json": '{{"scripts": {{"prepare": "touch {evil}", "test": "touch {evil}"}}}}\n',
    ".npmrc": "script-shell=touch {evil}\n",
    ".gitattributes": "* filter=evil diff=evil merge=evil\n",
    ".gitconfig": "[core]\n\tfsmonitor = touch {evil}\n",
    ".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = ext::touch {evil}\n',
    ".lfsconfig": "[lfs]\n\turl = http://127.0.0.1:9/{evil}\n",
    ".git-blame-ignore-revs": "x\n",
    "git": "#!/bin/sh\ntouch {evil}\n",
    "bin/git": "#!/bin/sh\ntouch {evil}\n",
    "node_modules/.bin/git": "#!/bin/sh\ntouch {evil}\n",
    ".venv/bin/python": "#!/bin/sh\ntouch {evil}\n",
    ".venv/bin/bwrap": "#!/bin/sh\ntouch {evil}\n",
}
"""What tools run without asking when they meet it in a folder; `{evil}` is a file outside."""

GIT = {
    "hooks": """
        for hook in pre-commit post-commit post-checkout post-merge post-rewrite pre-push \\
            reference-transaction post-index-change fsmonitor-watchman pre-auto-gc update; do
            printf '#!/bin/sh\\ntouch {evil}\\n' >.git/hooks/$hook; chmod +x .git/hooks/$hook
        done
        git config core.hooksPath .git/hooks
        """,
    "settings": """
        for key in core.fsmonitor core.sshCommand core.pager core.editor core.askPass \\
            core.gitProxy diff.external gpg.program credential.helper sequence.editor \\
            uploadpack.packObjectsHook filter.evil.smudge filter.evil.clean filter.evil.process \\
            diff.evil.textconv diff.evil.command merge.evil.driver alias.status alias.rev-parse \\
            alias.merge pager.status pager.log remote.origin.uploadpack remote.origin.vcs; do
            git config $key 'touch {evil}'
        done
        printf '[core]\\nfsmonitor = touch {evil}\\n' >.git/more
        git config include.path more; git config includeIf.gitdir:/.path more
        echo '* filter=evil diff=evil merge=evil' >.git/info/attributes
        """,
    "modules": """
        printf '[submodule "s"]\\npath = s\\nurl = ./s\\nupdate = !touch {evil}\\n' >.gitmodules
        git add .gitmodules; git commit -qm modules
        """,
    "another tree": "git config core.worktree /",
    "other objects": "echo {evil} >>.git/objects/info/alternates",
    "another folder": "mv .git real; echo 'gitdir: real' >.git",
    "somebody's folder": "rm -rf .git; echo 'gitdir: {evil}/../project/.git' >.git",
    "a common folder": "echo {evil}/../project/.git >.git/commondir",
    "a repository in it": """
        git init -q inner; cd inner; git config core.fsmonitor 'touch {evil}'
        git -c core.fsmonitor= commit -q --allow-empty -m x; cd ..
        git -c core.fsmonitor= add inner; git commit -qm inner
        """,
    "a bare one": """
        git init -q --bare .; git config core.fsmonitor 'touch {evil}'
        git config core.bare false; git config core.worktree .; git add -fA . || true
        """,
}
"""What an agent does to the git folder of its clone, each by itself."""

LATER = (
    ("status",),
    ("show", "T1"),
    ("diff", "T1"),
    ("log", "T1"),
    ("list",),
    ("doctor",),
    ("rollback", "T1"),
    ("clean",),
    ("run", "another"),
)


@pytest.fixture
def evil(person):
    person.runs_here = False  # Python looks for modules in the folder it is started in
    return person.home / "planted"


def planting(evil):
    """A script that makes all these files."""
    lines = []
    for name, text in FILES.items():
        lines.append(f"mkdir -p $(dirname {name})")
        lines.append(f"cat >{name} <<'END'\n{text.format(evil=evil)}END")
        lines.append(f"chmod +x {name}")
    return "\n".join(lines)


FEW_TURNS = MERGE_AT_ONCE + "[loop]\nmax_iterations = 4\n"
"""Some of the work never passes the gate, and fifty iterations show no more."""


def meets(person, script, later):
    """An agent that does this and says that it is done; then a person who looks at all of it."""
    person.agent(f"{script}\necho '<promise>COMPLETE</promise>'", settings=FEW_TURNS)
    person.commit()
    said = person.try_allstop("run", "plant it").stdout
    tracked = set(person.git("ls-files").splitlines())
    for command in later:
        person.try_allstop(*command)
    return tracked, said


def test_k15_nothing_an_agent_leaves_is_run_on_the_host(person, evil):
    """K15, Q21: not when it comes home, is checked, merged, shown, taken back, nor ever after."""
    tracked, said = meets(person, planting(evil) + "\ngit add -fA .", LATER)

    assert not evil.exists()
    assert set(FILES) <= tracked, f"it was not merged: {said}"
    assert person.git("status", "--short") == ""


@pytest.mark.parametrize("part", GIT)
def test_k15_nothing_in_an_agents_git_is_run_on_the_host(person, evil, part):
    """K15, Q21: hooks, settings, attributes and objects of its own stay its own."""
    trap = GIT[part].format(evil=evil)
    later = (("diff", "T1"), ("run", "another"))
    meets(person, f"echo x >x; git add x; git commit -qm x\n{trap}", later)

    assert not evil.exists()
    assert person.git("fsck", "--no-dangling", "--connectivity-only") == ""
    assert person.git("status", "--short") == ""
    assert "evil" not in (person.repository / ".git" / "config").read_text()


def test_k15_a_module_beside_the_settings_is_not_ours(person, evil):
    """K15: `python -m` looks in the folder it is run in; there the person's repository is."""
    for name in MODULES:
        if name not in ("sitecustomize", "usercustomize"):
            person.write(f"{name}.py", RUN.format(evil=evil))
    person.commit()

    for command in (("--version",), ("--help",), ("status",), ("list",), ("doctor",)):
        person.try_allstop(*command)

    assert not evil.exists()
    assert "allstop, version" in person.allstop("--version")
