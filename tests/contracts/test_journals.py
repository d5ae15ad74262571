"""All journals keep the contract."""

import os

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Say
from allstop.core.events import Commanded
from allstop.core.ids import RunId
from allstop.ports import Entry, Holder
from allstop.testing.journal_contract import JournalContract
from support.postgres_fixtures import database, postgres

__all__ = ["database", "postgres"]


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


class TestPostgres(JournalContract):
    @pytest.fixture
    def opened(self, tmp_path, postgres, database):
        """Opens journals on one store, each as another process would."""
        journals = []

        def journal():
            own = Holder(pid=os.getpid(), host="here", command="test", since=SystemClock().now())
            made = PostgresJournal(postgres.url(database), tmp_path, SystemClock(), own=own)
            journals.append(made)
            return made

        yield journal
        for journal in journals:
            journal.close()

    @pytest.fixture
    def journal(self, opened):
        return opened()

    @pytest.fixture
    def second(self, opened):
        return opened()
