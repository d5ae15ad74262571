"""Run by root, the other tests here are run once more by a user who owns nothing."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.processes.place import HERE, TESTS

USER = 2000
GROUPS = (  # all that start programs
    ("test_stopping.py",),
    ("test_streams.py", "test_registry.py"),
    ("test_bare.py", "test_freezing.py", "test_threads.py"),
    ("test_attempts.py", "test_chain.py", "test_escapes.py"),
    ("test_probe.py", "test_surroundings.py", "test_memory.py", "test_open_files.py"),
)
REPOSITORY = TESTS.parent


def as_user(host, home, *argv):
    """A machine on which the user's own home is private and root's can't be entered.

    Python and this repository are shown at their own places, also where these lie in a folder
    that only root may enter.
    """
    shown = {sys.base_prefix, sys.prefix, str(REPOSITORY)}
    hidden = {host.home, *filter(None, map(closed_above, shown))}
    mounts = []
    for folder in sorted(hidden):
        mounts += ["--tmpfs", folder]
    for folder in sorted(shown):
        if any(folder.startswith(f"{above}/") for above in hidden):
            mounts += ["--dir", folder, "--ro-bind", folder, folder]
    return [
        *(host.tools.bwrap, "--dev-bind", "/", "/", *mounts),
        *("--chdir", str(REPOSITORY), "--setenv", "HOME", str(home)),
        *("--", host.tools.setpriv, f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
        *("--", *argv),
    ]


def closed_above(folder):
    """The topmost folder on the way that others may not enter."""
    for above in reversed(Path(folder).parents):
        if not above.stat().st_mode & stat.S_IXOTH:
            return str(above)
    return None


def run_again_as_user(files, host, token):
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


if os.getuid() == 0:  # a normal user runs these tests anyway

    @pytest.mark.parametrize("files", GROUPS)
    def test_the_tests_pass_for_a_normal_user_too(files, host, token):
        run_again_as_user(files, host, token)
