"""Runs tests a second time as a normal user if root runs them."""

import os
import stat
import subprocess
import sys
import uuid
from pathlib import Path

USER = 2000
REPOSITORY = Path(__file__).parents[2]


def as_user(host, home, *argv):
    """The command as a user with a private home, who can't enter root's.

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
    """The topmost parent folder that others can't enter."""
    for above in reversed(Path(folder).parents):
        if not above.stat().st_mode & stat.S_IXOTH:
            return str(above)
    return None


def run_again_as_user(host, *files):
    home = Path("/tmp") / f"allstop-user-{uuid.uuid4().hex}"
    home.mkdir(mode=0o700)
    os.chown(home, USER, USER)
    pytest_again = (
        *(
            sys.executable,
            "-B",
            "-m",
            "pytest",
            *map(str, files),
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
