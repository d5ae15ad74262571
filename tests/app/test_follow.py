"""P11: who looks at what is written misses nothing, and disturbs nobody."""

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.app.runs.follow import Reader
from allstop.core.commands import Pause
from allstop.core.events import Commanded
from allstop.core.ids import RunId
from allstop.ports import Entry
from allstop.testing.virtual_clock import EPOCH

WORD = Commanded(at=EPOCH, command=Pause(), by="somebody")


async def test_p11_every_record_is_looked_at_once_and_a_mistake_ends_nothing(tmp_path):
    journal = SqliteJournal(tmp_path, SystemClock())
    seen, troubles = [], []

    def look(record):
        seen.append((record.run, record.seq))
        if record.run == "odd":
            raise ValueError("no such thing")

    reader = Reader(journal, look, troubles.append)
    reader.seqs["known"] = 1
    await journal.append(Entry(RunId("known"), WORD))
    async with reader.listening(lambda run, seq: reader.want(run)):
        for run in ("odd", "known", "odd", "new"):
            await journal.append(Entry(RunId(run), WORD))
    journal.close()

    assert sorted(seen) == [("known", 2), ("new", 1), ("odd", 1), ("odd", 2)]
    assert troubles == ["ValueError: no such thing"] * 2
