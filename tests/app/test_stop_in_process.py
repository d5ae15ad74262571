"""Stopping in the process that drives."""

from types import SimpleNamespace

import pytest

from allstop.app.stop.in_process import ALL_INSTEAD, stop_one
from allstop.core.errors import AllstopError
from allstop.ports import StoreBrokenError, StoreBusyError, StoreFullError


class Place:
    """A store that takes nothing, and agents that can be struck."""

    def __init__(self, folder, trouble):
        self.project = SimpleNamespace(folder=folder)
        self.engine = self
        self.is_struck = False
        self._trouble = trouble

    def kill_agents(self):
        self.is_struck = True

    async def allstop(self, by):
        raise self._trouble


@pytest.mark.parametrize("kind", [StoreBusyError, StoreFullError, StoreBrokenError])
async def test_q19_where_the_store_takes_nothing_all_is_stopped_without_it(tmp_path, kind):
    trouble = kind("it takes nothing", "mend it")
    place, notes = Place(tmp_path, trouble), []

    async def tell():
        raise trouble

    await stop_one(place, tell, "Ctrl-C twice", notes.append)

    assert notes == [ALL_INSTEAD]
    assert place.is_struck
    assert "Ctrl-C twice" in (tmp_path / "STOP").read_text()


async def test_a_stop_that_is_refused_says_why_and_stops_nothing_else(tmp_path):
    place, notes = Place(tmp_path, None), []

    async def tell():
        raise AllstopError("there is no such run", "allstop status")

    with pytest.raises(AllstopError, match="there is no such run"):
        await stop_one(place, tell, "user", notes.append)

    assert (notes, place.is_struck) == ([], False)
