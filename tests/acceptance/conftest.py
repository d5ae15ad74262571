"""GPT and Claude, each through its own API, in a room with a person."""

import re
from contextlib import asynccontextmanager

import pytest

from allstop.testing.model_server import model_server
from browser.conftest import browser  # noqa: F401 - a fixture
from support.process_fixtures import asyncio_backend, person_who_talks  # noqa: F401 - fixtures
from support.room_models import models, room_thread, served
from support.room_page import RoomBrowser


@pytest.fixture
def room(person):
    """A room in this process, whose models answer with a function of what they see."""

    @asynccontextmanager
    async def open_room(answer, settings="", thread="default"):
        async with model_server(models(answer)) as server:
            person.sets_up(server, settings)
            project = person.project()
            try:
                async with room_thread(project, thread) as sits:
                    sits.server = server
                    yield sits
            finally:
                project.close()

    return open_room


@pytest.fixture
def serve(person):
    """The same for the real program; returns the server."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def begin(answer, settings=""):
            server = stack.enter_context(served(models(answer)))
            person.sets_up(server, settings)
            return server

        yield begin
        person.close()


@pytest.fixture(scope="module")
def shared_salon(tmp_path_factory, browser):  # noqa: F811
    salon = RoomBrowser(tmp_path_factory.mktemp("salon"), browser)
    yield salon
    salon.close()


@pytest.fixture
def salon(shared_salon, request):
    """The same as a page in a real browser; each test has a thread of its own."""
    shared_salon.thread = re.sub(r"\W+", "-", request.node.name)[-60:].strip("-_")
    yield shared_salon
    shared_salon.leave()


@pytest.fixture
def own_salon(tmp_path, browser):  # noqa: F811
    """For a test with settings of its own."""
    salon = RoomBrowser(tmp_path, browser)
    yield salon
    salon.close()
