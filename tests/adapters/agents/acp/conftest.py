"""Fixtures: a real ACP agent in a real box, against a model server on localhost."""

from contextlib import AsyncExitStack

import pytest

from adapters.agents.acp.launch_claude import Bench, install, readable
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox_probe import BOXED
from allstop.ports import Box


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def launcher(tmp_path, anyio_backend):
    return ProcessLauncher(isolation=BOXED, start=boxed(this_host()), live_dir=tmp_path / "live")


@pytest.fixture
def place(tmp_path):
    for name in ("home", "work"):
        (tmp_path / name).mkdir(mode=0o700)
    install(tmp_path / "bin")
    return Box(
        home=str(tmp_path / "home"),
        workspace=str(tmp_path / "work"),
        at="/project",
        read=readable(tmp_path / "bin"),
    )


@pytest.fixture
async def bench(launcher, place, tmp_path):
    async with AsyncExitStack() as open_:
        yield Bench(launcher, place, tmp_path, open_)
