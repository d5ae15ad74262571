"""Fixtures: a small repository in a home that only its owner may enter."""

import pytest

from adapters.git.workspace_fixture import OPENED, open_repo
from support.repositories import make_repository


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def root(tmp_path):
    home = tmp_path / "home"
    root = home / "project"
    root.mkdir(parents=True)
    home.chmod(0o700)
    make_repository(root, "one\n")
    return root


@pytest.fixture(autouse=True)
def _closes_repositories():
    """Their gits are ended with them: tests of processes count all that the process has."""
    yield
    while OPENED:
        OPENED.pop().workspaces.close()


@pytest.fixture
async def repo(root, tmp_path, anyio_backend):
    return await open_repo(root, tmp_path)
