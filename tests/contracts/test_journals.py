"""Both journals keep the contract."""

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.memory import MemoryJournal
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.testing.journals import JournalContract


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


class TestMemory(JournalContract):
    @pytest.fixture
    def journal(self):
        return MemoryJournal()

    @pytest.fixture
    def second(self):
        return None


class TestSqlite(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path):
        journal = SqliteJournal(tmp_path / "store", SystemClock())
        yield journal
        journal.close()

    @pytest.fixture
    def second(self, tmp_path, journal):
        second = SqliteJournal(tmp_path / "store", SystemClock())
        yield second
        second.close()
