"""Agents have a low priority, so that a stop gets the processor beside busy ones."""

from pathlib import Path

from adapters.processes.launch_fixture import run

SESSIONS = Path("/proc/sys/kernel/sched_autogroup_enabled")
REPORT = "import os; print(os.nice(0)); print(open('/proc/self/autogroup').read())"
NO_SESSIONS = "print(__import__('os').nice(0)); print('nice 10')"


def kernel_has_session_priorities():
    return SESSIONS.exists() and SESSIONS.read_text().strip() == "1"


async def test_q13_an_agent_and_its_session_have_a_low_priority(launcher, box_folders):
    script = REPORT if kernel_has_session_priorities() else NO_SESSIONS
    out, _, _ = await run(launcher, box_folders.python(script))
    own, session = out.decode().splitlines()[:2]

    assert int(own) >= 10
    assert session.endswith("nice 10")
