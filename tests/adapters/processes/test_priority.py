"""Agents have a low priority, so that a stop gets the processor beside busy ones."""

from pathlib import Path

from adapters.processes.launch_fixture import run

SESSIONS = Path("/proc/sys/kernel/sched_autogroup_enabled")
REPORT = """
import os, pathlib, time
session = pathlib.Path("/proc/self/autogroup")
for _ in range(600 if {has_sessions} else 0):
    if session.read_text().strip().endswith("nice 10"):
        break
    time.sleep(0.05)  # the kernel takes few changes a second
else:
    assert not {has_sessions}, session.read_text()
print(os.nice(0))
"""


async def test_q13_an_agent_and_its_session_have_a_low_priority(launcher, box_folders):
    has_sessions = SESSIONS.exists() and SESSIONS.read_text().strip() == "1"

    script = REPORT.format(has_sessions=has_sessions)
    out, err, code = await run(launcher, box_folders.python(script))

    assert code == 0, err
    assert int(out) >= 10
