"""Fixtures: the real codex in a real box, against a model server on localhost."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from adapters.agents.codex.launch_codex import Stage
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox_probe import BOXED
from allstop.ports import Box

PEER = Path(__file__).with_name("fake_app_server.py")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def host():
    host = this_host()
    if not host.tools.bwrap:
        pytest.fail("apt install bubblewrap")
    return host


@pytest.fixture
def launcher(host, tmp_path):
    return ProcessLauncher(isolation=BOXED, start=boxed(host), live_dir=tmp_path / "live")


@pytest.fixture
def place(tmp_path):
    for name in ("home", "work"):
        (tmp_path / name).mkdir(mode=0o700)
    return Box(home=str(tmp_path / "home"), workspace=str(tmp_path / "work"), at="/project")


@pytest.fixture
async def stage(launcher, tmp_path):
    """Makes agents, and closes them at the end."""
    (tmp_path / "room").mkdir(mode=0o700)
    async with AsyncExitStack() as open_:
        yield Stage(launcher, str(tmp_path / "room"), open_)


@pytest.fixture
def peer(stage, tmp_path):
    """Makes agents with a fake program instead of codex."""
    program = tmp_path / "codex"
    python = Path(sys.base_prefix, "bin", "python3")  # not in a folder that the box has for itself
    program.write_text(f"#!{python} -IS\n{PEER.read_text()}")
    program.chmod(0o755)

    def agent(scenario, **changes):
        return stage.agent_at(
            "http://127.0.0.1:1", program=str(program), env={"SCENARIO": scenario}, **changes
        )

    return agent
