"""Fixtures: every test runs with every connector, on a real event loop."""

import pytest

from support.api_agents import CONNECTORS


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=CONNECTORS, ids=lambda connector: connector.name)
def connector(request):
    return request.param
