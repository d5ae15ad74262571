"""Finds out by trying whether programs can be boxed here."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Literal

import anyio
from msgspec import Struct

from allstop.adapters.processes.identity import identify
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import Host, this_host
from allstop.adapters.processes.sandbox.setup_hints import (
    BY_NAME,
    kernel_switch,
    missing_tool,
    why_refused,
)
from allstop.adapters.processes.unboxed.unboxed_program import bare
from allstop.core.errors import AllstopError
from allstop.ports import Box, Child, Isolation, Launch, Launcher, Network, UnsafeError

Mode = Literal["auto", "on", "off"]

PROBE_WITHIN_S = 10.0

BOXED = Isolation(
    boxed=True,
    allowed=True,
    how="boxed by bubblewrap: a program sees and changes only its own workspace and home",
)
BARE_HOW = (
    "no sandbox: a program can read and change all that you can, and one that ends its keeper "
    "can outlive a stop"
)

ATTEMPT = """
echo written >workspace-is-writable
(echo escaped >"$OUTSIDE") 2>/dev/null
cat "$SECRET" 2>/dev/null
ls "$USERS_HOME" 2>/dev/null
(trap "" TERM HUP; for i in 1 2 3 4 5 6 7 8 9; do echo beat >>beats && sleep 1; done) 2>/dev/null &
echo tried
wait
"""


class _Traces(Struct, frozen=True, kw_only=True):
    """What the attempt left behind on the host, and what it could see."""

    written: bool
    escaped: bool
    seen: str
    alive: bool


async def make_launcher(mode: Mode, live_dir: Path, host: Host | None = None) -> Launcher:
    """The best launcher that this machine and the settings allow.

    Raises:
        UnsafeError: a sandbox is demanded, and there is none.
    """
    host = host or this_host()
    isolation = Isolation(boxed=False, allowed=True, how=BARE_HOW)
    if mode != "off":
        isolation = await probe(host)
    if isolation.boxed:
        return ProcessLauncher(isolation=isolation, start=boxed(host), live_dir=live_dir)
    if mode == "on":
        raise UnsafeError(isolation.how, isolation.hint)
    return ProcessLauncher(isolation=isolation, start=bare(host, isolation), live_dir=live_dir)


async def probe(host: Host) -> Isolation:
    """Run a program in a box that tries to get out of it, end it, and look."""
    if hint := missing_tool(host.tools):
        return _refused(hint)
    place = tempfile.mkdtemp(prefix="allstop-probe-")
    try:
        with anyio.fail_after(PROBE_WITHIN_S):
            return _judged(await _attempt(Path(place), host))
    except (AllstopError, TimeoutError):
        return _refused(why_refused(kernel_switch))
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _attempt(place: Path, host: Host) -> _Traces:
    outside, secret = place / "outside", place / "secret"
    for folder in ("workspace", "home", "live"):
        (place / folder).mkdir()
    secret.write_text("secret")
    launcher = ProcessLauncher(isolation=BOXED, start=boxed(host), live_dir=place / "live")
    launch = Launch(
        argv=("/bin/sh", "-c", ATTEMPT),
        box=Box(home=str(place / "home"), workspace=str(place / "workspace"), network=Network.NONE),
        label="probe",
        env={"OUTSIDE": str(outside), "SECRET": str(secret), "USERS_HOME": host.home},
    )
    async with launcher.launch(launch) as child:
        seen = await _said(child)
        pid = child.pid
    return _Traces(
        written=(place / "workspace" / "workspace-is-writable").exists(),
        escaped=outside.exists(),
        seen=seen,
        alive=identify(pid) is not None,
    )


async def _said(child: Child) -> str:
    said = b""
    while not said.endswith(b"tried\n") and (chunk := await child.receive()):
        said += chunk.data
    return said.decode(errors="replace")


def _judged(traces: _Traces) -> Isolation:
    if traces == _Traces(written=True, escaped=False, seen="tried\n", alive=False):
        return BOXED
    return _refused("a box was made, but it doesn't hold: please report this")


def _refused(hint: str) -> Isolation:
    return Isolation(boxed=False, allowed=False, how=BARE_HOW, hint=f"{hint}; {BY_NAME}")
