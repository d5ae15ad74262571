"""Run by root, the other tests here are run once more by a user who owns nothing."""

import os

import pytest

from adapters.processes.launch_fixture import HERE
from support.normal_user import run_again_as_user

GROUPS = (  # all that start programs
    ("test_stopping.py",),
    ("test_streams.py", "test_registry.py", "test_peers.py"),
    ("test_bare.py", "test_freezing.py", "test_threads.py"),
    ("test_attempts.py", "test_chain.py", "test_escapes.py"),
    ("test_probe.py", "test_surroundings.py", "test_memory.py", "test_open_files.py"),
)

if os.getuid() == 0:  # a normal user runs these tests anyway

    @pytest.mark.parametrize("files", GROUPS)
    def test_the_tests_pass_for_a_normal_user_too(files, host):
        run_again_as_user(host, *(HERE / file for file in files))
