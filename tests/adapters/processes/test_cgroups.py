"""K17: where a kernel bounds memory for us, it does: on this one, else on one that runs as a program.

User-mode Linux is a kernel that is an ordinary process; it may read this machine's files.
"""

import shlex
import shutil
import subprocess
import sys

import pytest

from adapters.processes.launch_fixture import HERE, TESTS
from allstop.adapters.processes.memory.cgroups import own_cgroups
from support.normal_user import USER, as_user

KERNEL = shutil.which("linux.uml")
BOOTED_S = 600  # it is slower than the machine's own
GROUP = "/sys/fs/cgroup/person"
# A clone of this repository may lie in /tmp.
INIT = f"""#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir /run/tree
mount --bind {TESTS.parent} /run/tree
mount -t tmpfs -o mode=1777 tmp /tmp
if [ ! -d {TESTS.parent} ]; then
  mkdir -p {TESTS.parent}
  mount --bind /run/tree {TESTS.parent}
fi
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p {GROUP}/own /tmp/home
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
echo +memory >{GROUP}/cgroup.subtree_control
chown {USER}:{USER} /tmp/home {GROUP} {GROUP}/cgroup.procs {GROUP}/own/cgroup.procs
echo $$ >{GROUP}/own/cgroup.procs
"""
END = """
echo "ended with $?"
echo o >/proc/sysrq-trigger
sleep 60
"""

inside = (
    *(sys.executable, "-B", "-m", "pytest", str(HERE / "cgroup_program.py"), "-n", "0", "-q"),
    *("-p", "no:cacheprovider", "-o", f"timeout={BOOTED_S}", "--color=no"),
)


def on_another_kernel(tmp_path, *argv):
    init = tmp_path / "init"
    init.write_text(f"{INIT}cd {TESTS.parent}\n{shlex.join(argv)}{END}")
    init.chmod(0o755)
    booted = subprocess.run(
        [
            *(KERNEL, "mem=1G", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
            *(f"init={init}", "con=null", "con0=null,fd:1", "quiet"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ended with 0\n" in booted.stdout.replace("\r", ""), booted.stdout[-5000:]
    assert " passed" in booted.stdout


if own_cgroups():

    @pytest.mark.timeout(BOOTED_S)
    def test_k17_this_kernel_bounds_memory():
        done = subprocess.run(inside, capture_output=True, text=True, check=False)

        assert done.returncode == 0, done.stdout[-5000:]

elif KERNEL:

    @pytest.mark.timeout(BOOTED_S)
    def test_k17_a_kernel_that_can_bounds_memory(tmp_path):
        on_another_kernel(tmp_path, *inside)

    @pytest.mark.timeout(BOOTED_S)
    def test_k17_a_kernel_that_can_bounds_memory_for_a_normal_user_too(tmp_path, host):
        on_another_kernel(tmp_path, *as_user(host, "/tmp/home", *inside))
