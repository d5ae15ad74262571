"""Fixtures: a running server with a client; shared by a module where no test changes anything."""

import pytest

from support.control_room import ControlRoom
from support.person import at_home

SCRIPT = """
repeat = true
[[turn]]
steps = [
  { say = "I write it." },
  { write = "done.txt", text = "done\\n" },
  { signal = "COMPLETE" },
]
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


def _opened(place):
    person = at_home(place)
    person.script(SCRIPT)
    person.commit()
    return ControlRoom(person)


@pytest.fixture
def room(tmp_path):
    room = _opened(tmp_path)
    yield room
    room.person.close()


@pytest.fixture(scope="module")
def still_room(tmp_path_factory):
    """Of which nobody changes anything."""
    room = _opened(tmp_path_factory.mktemp("still"))
    yield room
    room.person.close()
