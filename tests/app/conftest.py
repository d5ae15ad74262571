"""A person with agents by scripts, whose houses are opened in this process."""

import pytest

from support.process_fixtures import asyncio_backend, person_who_talks  # noqa: F401 - fixtures


@pytest.fixture
def trusted(person):
    """Makes a house of these settings and agents, all of it accepted by the person."""

    def make(settings, **turns):
        person.scripts(settings, **turns)
        person.commit()
        person.allstop("trust", "--yes")
        made.append(person.project())
        return made[-1]

    made = []
    yield make
    for each in made:
        each.close()
