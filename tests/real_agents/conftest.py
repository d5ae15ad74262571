"""A person who has codex and claude, for tests with several real agents."""

import pytest

from support.agent_programs import program
from support.person import at_home


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    (person.home / "bin").mkdir(exist_ok=True)
    for name in ("codex", "claude"):
        (person.home / "bin" / name).symlink_to(program(name))
    yield person
    person.close()
