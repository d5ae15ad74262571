"""The folder of all workspaces and its ext4 flag."""

import os
import stat
import subprocess
from contextlib import suppress

from allstop.adapters.git.workspace.workspaces_folder import make_workspaces_folder
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app import runtime
from allstop.app.project import Project
from allstop.settings.sources.environment import Environment


def is_marked(folder):
    """As the disk's own tool says; not where the disk has none."""
    with suppress(FileNotFoundError):
        said = subprocess.run(["lsattr", "-d", folder], capture_output=True, text=True, check=False)
        return "T" in said.stdout.partition(" ")[0]
    return False


def takes_marks(folder):
    other = folder / "by hand"
    other.mkdir()
    with suppress(FileNotFoundError):
        subprocess.run(["chattr", "+T", other], capture_output=True, check=False)
    return is_marked(other)


def test_q5_workspaces_begin_far_from_each_other_where_the_disk_can_do_so(tmp_path):
    ground = tmp_path / "all" / "workspaces"

    make_workspaces_folder(ground)
    make_workspaces_folder(ground)
    (ground / "one").mkdir()

    assert stat.S_IMODE(ground.stat().st_mode) == 0o700
    assert is_marked(ground) == takes_marks(tmp_path)
    assert not is_marked(ground / "one"), "what belongs together stays together"


async def test_q5_the_folder_of_a_repository_is_such_a_one(root, tmp_path):
    variables = {"PATH": os.environ["PATH"]}
    project = Project(root, Environment(home=tmp_path / "home", variables=variables))
    launcher = await make_launcher("auto", tmp_path / "live")

    workspaces = await runtime.open_workspaces(project, launcher)
    workspaces.close()
    project.close()

    assert is_marked(root / ".allstop" / "workspaces") == takes_marks(tmp_path)
