"""A gateway on this machine's own loopback, in front of a scripted model server."""

import pytest

from support.process_fixtures import asyncio_backend as asyncio_backend


@pytest.fixture(autouse=True)
def _only_asyncio(anyio_backend):
    assert anyio_backend == "asyncio"
