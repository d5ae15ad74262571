"""Run by root, the other tests here are run once more by a user who owns nothing."""

import os
from pathlib import Path

import pytest

from allstop.adapters.processes.sandbox.host_tools import this_host
from support.normal_user import run_again_as_user

HERE = Path(__file__).parent
GROUPS = (  # all that work in boxes
    ("test_workspaces.py", "test_room.py"),
    ("test_candidates.py", "test_checks.py", "test_asking.py"),
    ("test_homecoming.py", "test_hostile.py", "test_surveying.py"),
    ("test_laying.py", "test_ports.py", "test_ground.py", "test_noting.py"),
    ("test_taking_up.py",),
    ("test_merging.py",),
    ("test_cleaning.py",),
)

if os.getuid() == 0:  # a normal user runs these tests anyway

    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("files", GROUPS)
    def test_k15_workspaces_are_as_good_for_a_normal_user(files):
        run_again_as_user(this_host(), *(HERE / file for file in files))
