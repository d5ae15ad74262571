"""Hints for a machine on which no box can be created."""

import sys
from collections.abc import Callable
from pathlib import Path

from allstop.adapters.processes.sandbox.host_tools import Tools

INSTALL = "apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap, pacman -S bubblewrap"
TURN_OFF_HINT = 'to run without one, set [sandbox] mode = "off"'
APPARMOR = (
    "AppArmor keeps programs from creating user namespaces; allow it for bwrap: write "
    "'abi <abi/4.0>, include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) "
    "{ userns, }' to /etc/apparmor.d/bwrap and run 'systemctl reload apparmor', "
    "or run 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'"
)
SWITCHES = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", APPARMOR),
    "kernel/unprivileged_userns_clone": ("0", "run 'sysctl -w kernel.unprivileged_userns_clone=1'"),
    "user/max_user_namespaces": ("0", "run 'sysctl -w user.max_user_namespaces=15000'"),
}
CONTAINER = (
    "user namespaces are refused; in a container, run it with "
    "'--security-opt seccomp=unconfined --security-opt apparmor=unconfined'"
)


def missing_tool(tools: Tools) -> str:
    """How to install a missing tool; "" if all are installed."""
    if sys.platform != "linux":
        return "the sandbox needs bubblewrap, which exists only for Linux"
    if not tools.bwrap:
        return INSTALL
    if not tools.setpriv:
        return "apt install util-linux (setpriv)"
    return ""


def why_refused(read: Callable[[str], str]) -> str:
    """Return the hint for the kernel setting that forbids boxes.

    `read` returns a setting's value.
    """
    for name, (value, hint) in SWITCHES.items():
        if read(name) == value:
            return hint
    return CONTAINER


def kernel_switch(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
