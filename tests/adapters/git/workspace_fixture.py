"""A repository with workspaces, and commands that an agent runs in them."""

import subprocess

from allstop.adapters.git import GitWorkspaces
from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.git.workspace.clone import CloneSetup
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.core.moves import Change, Delivered, Integrated, Landed, WorkspaceOpen
from allstop.ports import Box, Candidate, Launch
from allstop.programs import Tail, run_to_end

ME = ("-c", "user.name=P", "-c", "user.email=p@example.invalid")


def git(folder, *arguments, text=None):
    return subprocess.run(
        ["git", *ME, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        input=text,
    ).stdout.strip()


def write(folder, **files):
    """Names with `__` for a slash and `_` before the ending."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder, message="more", **files):
    write(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


class RepositoryFixture:
    """Workspaces of one repository, and an agent's hands in them."""

    def __init__(self, root, launcher, workspaces):
        self.root = root
        self.launcher = launcher
        self.workspaces = workspaces
        self.folder = root / ".allstop" / "workspaces"

    def tree(self, name="w"):
        return self.folder / folder_name(name) / "tree"

    async def opened(self, name="w", target="main", **how):
        result = await self.workspaces.open(name, target, "run", **how)
        assert isinstance(result, WorkspaceOpen), result
        return result

    async def agent(self, script, name="w"):
        """What an agent does: anything, in the box."""
        return await self.in_box(self.workspaces.box_of(name), script)

    async def in_box(self, box, script):
        out = Tail()
        launch = Launch(argv=("sh", "-c", script), box=box, label="run", env=box.env)
        code = await run_to_end(self.launcher, launch, b"", out, lambda live: None)
        return code, out.text()

    async def kept(self, name="w", **how):
        result = await self.workspaces.keep(name, "run", **how)
        assert isinstance(result, Change), result
        return result

    async def worked(self, script, name="w", target="main"):
        """Opened, worked in and kept."""
        await self.opened(name, target)
        await self.agent(script, name)
        return await self.kept(name)

    async def candidate(self, name="w", **how):
        result = await self.workspaces.candidate(name, "run", **how)
        assert isinstance(result, Candidate), result
        return result

    async def integrated(self, name="w", target="main", message="Merge w", onto=""):
        result = await self.workspaces.integrate(name, target, message, "run", onto=onto)
        assert isinstance(result, Integrated), result
        return result

    async def landed(self, made, target="main"):
        result = await self.workspaces.land(target, made.tip, made.commit)
        assert isinstance(result, Landed), result
        return result

    async def delivered(self, branch="work", name="w"):
        result = await self.workspaces.deliver(name, branch, "run")
        assert isinstance(result, Delivered), result
        return result


OPENED = []  # to be closed after the test


async def open_repo(root, tmp_path, *, around=lambda launcher: launcher, **how):
    """`around` is put around the launcher of what isn't the agent's."""
    clone_setup = {name: how.pop(name) for name in CloneSetup.__struct_fields__ if name in how}
    launcher = await make_launcher("auto", tmp_path / "live")
    assert launcher.isolation.boxed, launcher.isolation.hint
    repository = Repository(root)
    folder = root / ".allstop" / "workspaces"
    folder.mkdir(parents=True, exist_ok=True)
    (root / ".allstop" / ".gitignore").write_text("*\n")
    workspaces = GitWorkspaces(
        repository,
        folder,
        launcher=around(launcher),
        box=Box(home=""),
        stores=await repository.object_stores(),
        clone_setup=CloneSetup(**clone_setup),
        **how,
    )
    repo = RepositoryFixture(root, launcher, workspaces)
    OPENED.append(repo)
    return repo
