"""Both journals keep the contract."""

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Say
from allstop.core.events import Commanded
from allstop.core.ids import RunId
from allstop.ports import Entry
from allstop.testing.journal_contract import JournalContract


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

    async def test_to_hear_of_others_costs_no_more_with_a_long_record(self, journal, second):
        said = Entry(RunId("a"), Commanded(at=SystemClock().now(), command=Say(text="words")))
        await journal.append(said)
        second._announce_others()

        async def steps():
            await journal.append(said)
            counted = []
            second._db.set_progress_handler(lambda: counted.append(1), 1)
            second._announce_others()
            second._db.set_progress_handler(None, 0)
            return len(counted)

        short = await steps()
        await journal.append(*[said] * 5000)
        second._announce_others()

        assert await steps() == short
