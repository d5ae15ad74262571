"""Run by root, the other tests here are run once more by a user who owns nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.processes.place import HERE, TESTS

USER = 2000
GROUPS = (  # all that start programs
    ("test_stopping.py",),
    ("test_streams.py", "test_registry.py"),
    ("test_bare.py", "test_freezing.py"),
    ("test_chain.py", "test_escapes.py", "test_probe.py", "test_surroundings.py"),
)
REPOSITORY = TESTS.parent


def as_user(host, home, *argv):
    """A machine on which the user's own home is private and root's can't be entered."""
    shown = {sys.base_prefix, sys.prefix, str(REPOSITORY)}
    binds = []
    for folder in sorted(folder for folder in shown if folder.startswith(f"{host.home}/")):
        binds += ["--dir", folder, "--ro-bind", folder, folder]
    return [
        *(host.tools.bwrap, "--dev-bind", "/", "/", "--tmpfs", host.home, *binds),
        *("--chdir", str(REPOSITORY), "--setenv", "HOME", str(home)),
        *("--", host.tools.setpriv, f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
        *("--", *argv),
    ]


@pytest.mark.skipif(os.getuid() != 0, reason="is run by a normal user already")
@pytest.mark.parametrize("files", GROUPS)
def test_the_tests_pass_for_a_normal_user_too(files, host, token):
    home = Path("/tmp") / token
    home.mkdir(mode=0o700)
    os.chown(home, USER, USER)
    pytest_again = (
        *(
            sys.executable,
            "-B",
            "-m",
            "pytest",
            *(str(HERE / file) for file in files),
            "-n",
            "0",
            "-q",
        ),
        *("-p", "no:cacheprovider", "--basetemp", str(home / "temp")),
    )
    try:
        done = subprocess.run(
            as_user(host, home, *pytest_again), capture_output=True, text=True, check=False
        )
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)

    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
