"""When root runs the tests, run the other tests of this folder again as a normal user."""

import os
from pathlib import Path

import pytest

from allstop.adapters.processes.sandbox.host_tools import this_host
from support.normal_user import run_again_as_user
from support.sweeps import short

HERE = Path(__file__).parent
FILES = (  # where the owner of files and folders matters most
    ("test_workspaces.py", "test_free_space.py", "test_ref_writer.py"),
)
ALL_FILES = (  # all that work in boxes
    ("test_workspaces.py", "test_free_space.py"),
    ("test_gate_clone.py", "test_checks.py", "test_object_lookup.py"),
    ("test_fetch_work.py", "test_hostile_agents.py", "test_tree_survey.py"),
    (
        "test_clone_layout.py",
        "test_port_ranges.py",
        "test_workspaces_folder.py",
        "test_ref_writer.py",
    ),
    ("test_resume_workspace.py",),
    ("test_merge.py",),
    ("test_cleanup.py",),
)

if os.getuid() == 0:  # a normal user runs these tests anyway

    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("files", short(ALL_FILES, FILES))
    def test_k15_workspaces_are_as_good_for_a_normal_user(files):
        run_again_as_user(this_host(), *(HERE / file for file in files))
