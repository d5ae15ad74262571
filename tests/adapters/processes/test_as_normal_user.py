"""When root runs the tests, run the other tests of this folder again as a normal user."""

import os

import pytest

from adapters.processes.launch_fixture import HERE
from support.normal_user import run_again_as_user
from support.sweeps import short

FILES = (  # where the owner of files and processes matters most
    ("test_live_registry.py", "test_sandbox_probe.py", "test_priority.py", "test_box_sockets.py"),
    ("test_unboxed.py", "test_program_needs.py", "test_environment.py"),
)
ALL_FILES = (  # all that start programs
    ("test_stop.py",),
    ("test_streams.py", "test_live_registry.py", "test_socket_owner.py"),
    ("test_unboxed.py", "test_freeze.py", "test_threads.py"),
    ("test_attempts.py", "test_program_needs.py", "test_escapes.py"),
    ("test_sandbox_probe.py", "test_environment.py", "test_memory.py", "test_open_files.py"),
    ("test_box_sockets.py",),
)

if os.getuid() == 0:  # a normal user runs these tests anyway

    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("files", short(ALL_FILES, FILES))
    def test_the_tests_pass_for_a_normal_user_too(files, host):
        run_again_as_user(host, *(HERE / file for file in files))
