"""Fixtures for real processes in real boxes; they fail without bubblewrap and setpriv."""

import pytest

from adapters.processes.launch_fixture import BoxFolders, new_token
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox_probe import BOXED


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def host():
    host = this_host()
    if not host.tools.bwrap:
        pytest.fail("apt install bubblewrap")
    if not host.tools.setpriv:
        pytest.fail("apt install util-linux")
    return host


@pytest.fixture
def box_folders(tmp_path):
    return BoxFolders.make(tmp_path / "place")


@pytest.fixture
def live_dir(tmp_path):
    return tmp_path / "live"


@pytest.fixture
def launcher(host, live_dir):
    return ProcessLauncher(isolation=BOXED, start=boxed(host), live_dir=live_dir)


@pytest.fixture
def token():
    return new_token()
