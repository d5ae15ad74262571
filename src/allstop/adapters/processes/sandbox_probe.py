"""Finds out by trying whether programs can be sandboxed on this machine."""

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
    TURN_OFF_HINT,
    kernel_switch,
    missing_tool,
    why_refused,
)
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.core.errors import AllstopError
from allstop.ports import Box, Child, Isolation, Launch, Launcher, Network, UnsafeError

Mode = Literal["auto", "on", "off"]

PROBE_TIMEOUT_S = 10.0

BOXED = Isolation(
    boxed=True,
    allowed=True,
    how="boxed by bubblewrap: a program sees and changes only its own workspace and home",
)
UNBOXED_HOW = (
    "no sandbox: a program can read and change everything you can, and one that kills its "
    "supervisor can survive a stop"
)

ESCAPE_SCRIPT = """
echo written >workspace-is-writable
(echo escaped >"$OUTSIDE") 2>/dev/null
cat "$SECRET" 2>/dev/null
ls "$USERS_HOME" 2>/dev/null
(trap "" TERM HUP; for i in 1 2 3 4 5 6 7 8 9; do echo beat >>beats && sleep 1; done) 2>/dev/null &
echo tried
wait
"""


class _ProbeResult(Struct, frozen=True, kw_only=True):
    """The effects of the escape attempt on the host, and its output."""

    written: bool
    escaped: bool
    seen: str
    alive: bool


async def make_launcher(mode: Mode, live_dir: Path, host: Host | None = None) -> Launcher:
    """Return the safest launcher that this machine and the settings allow.

    Raises UnsafeError if the settings demand a sandbox, and none works here.
    """
    host = host or this_host()
    isolation = Isolation(boxed=False, allowed=True, how=UNBOXED_HOW)
    if mode != "off":
        isolation = await probe(host)
    if isolation.boxed:
        return ProcessLauncher(isolation=isolation, start=boxed(host), live_dir=live_dir)
    if mode == "on":
        raise UnsafeError(isolation.how, isolation.hint)
    return ProcessLauncher(isolation=isolation, start=unboxed(host, isolation), live_dir=live_dir)


async def probe(host: Host) -> Isolation:
    """Run a program in a box that tries to escape, kill it, and inspect the host."""
    if hint := missing_tool(host.tools):
        return _unavailable(hint)
    probe_folder = tempfile.mkdtemp(prefix="allstop-probe-")
    try:
        with anyio.fail_after(PROBE_TIMEOUT_S):
            return _judge(await _try_escape(Path(probe_folder), host))
    except (AllstopError, TimeoutError):
        return _unavailable(why_refused(kernel_switch))
    finally:
        shutil.rmtree(probe_folder, ignore_errors=True)


async def _try_escape(probe_folder: Path, host: Host) -> _ProbeResult:
    outside, secret = probe_folder / "outside", probe_folder / "secret"
    for folder in ("workspace", "home", "live"):
        (probe_folder / folder).mkdir()
    secret.write_text("secret")
    launcher = ProcessLauncher(isolation=BOXED, start=boxed(host), live_dir=probe_folder / "live")
    launch = Launch(
        argv=("/bin/sh", "-c", ESCAPE_SCRIPT),
        box=Box(
            home=str(probe_folder / "home"),
            workspace=str(probe_folder / "workspace"),
            network=Network.NONE,
        ),
        label="probe",
        env={"OUTSIDE": str(outside), "SECRET": str(secret), "USERS_HOME": host.home},
    )
    async with launcher.launch(launch) as child:
        seen = await _read_output(child)
        pid = child.pid
    return _ProbeResult(
        written=(probe_folder / "workspace" / "workspace-is-writable").exists(),
        escaped=outside.exists(),
        seen=seen,
        alive=identify(pid) is not None,
    )


async def _read_output(child: Child) -> str:
    output = b""
    while not output.endswith(b"tried\n") and (chunk := await child.receive()):
        output += chunk.data
    return output.decode(errors="replace")


def _judge(result: _ProbeResult) -> Isolation:
    if result == _ProbeResult(written=True, escaped=False, seen="tried\n", alive=False):
        return BOXED
    return _unavailable("a program could escape from its box: please report this")


def _unavailable(hint: str) -> Isolation:
    return Isolation(boxed=False, allowed=False, how=UNBOXED_HOW, hint=f"{hint}; {TURN_OFF_HINT}")
