"""The contract tests that every journal must pass.

Subclass `JournalContract` and define two fixtures: `journal`, and `second`, which opens the same
store as another process would, or is None if that is impossible.
"""

from datetime import UTC, datetime

import anyio
import anyio.lowlevel
import pytest

from allstop.core.commands import Allstop, Pause, Resume, Say
from allstop.core.events import AccountReleased, Closed, Commanded, Event, Opened
from allstop.core.ids import ACCOUNTS, HELM, RunId, WriteId
from allstop.core.moves import Outcome
from allstop.ports import Cursor, Entry, HeldError, Journal, StaleError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
A, B = RunId("a"), RunId("b")
OPENED = Opened(at=NOW, kind="room", spec={"agents": ["a"], "deep": {"x": [1, None, "é\u2028"]}})
PAUSED = Commanded(at=NOW, command=Pause())
STOPPED = Commanded(at=NOW, command=Allstop())


def _said(text: str) -> Event:
    return Commanded(at=NOW, command=Say(text=text))


class JournalContract:
    async def test_what_is_appended_is_read_in_order(self, journal: Journal) -> None:
        await journal.append(Entry(A, OPENED), Entry(A, PAUSED))

        assert [(r.seq, r.event) for r in await journal.read(A)] == [(1, OPENED), (2, PAUSED)]
        assert [r.seq for r in await journal.read(A, after=1)] == [2]
        assert list(await journal.read(A, after=2)) == []
        assert [r.seq for r in await journal.read(A, most=1)] == [1]
        assert [r.seq for r in await journal.read(A, after=1, most=5)] == [2]

    async def test_runs_do_not_mix(self, journal: Journal) -> None:
        await journal.append(Entry(A, OPENED), Entry(B, OPENED), Entry(B, PAUSED))

        assert [r.seq for r in await journal.read(B)] == [1, 2]
        assert list(await journal.read(RunId("c"))) == []

    async def test_all_runs_are_read_together_in_the_order_they_were_written(
        self, journal: Journal
    ) -> None:
        await journal.append(Entry(A, OPENED), Entry(B, OPENED))
        await journal.append(Entry(HELM, STOPPED))
        await journal.append(Entry(A, PAUSED))

        placed = await journal.written(after=0, most=10)

        assert [(r.run, r.seq) for _, r in placed] == [(A, 1), (B, 1), (HELM, 1), (A, 2)]
        assert [pos for pos, _ in placed] == sorted({pos for pos, _ in placed})
        assert list(await journal.written(after=placed[1].pos, most=1)) == [placed[2]]
        assert list(await journal.written(after=placed[-1].pos, most=10)) == []
        assert await journal.last_place() == placed[-1].pos

    async def test_heads_tell_what_there_is_without_the_streams(self, journal: Journal) -> None:
        await journal.append(Entry(HELM, STOPPED))
        await journal.append(Entry(ACCOUNTS, AccountReleased(at=NOW, account="max")))
        await journal.append(Entry(A, OPENED), Entry(A, PAUSED), Entry(B, OPENED))
        await journal.append(Entry(A, Closed(at=NOW, outcome=Outcome.DONE)))

        heads = await journal.heads()

        assert [(h.run, h.kind, h.seq, h.closed) for h in heads] == [
            (A, "room", 3, True),
            (B, "room", 1, False),
        ]
        assert heads[0].opened_at == NOW

    async def test_a_run_that_is_closed_stays_closed_whatever_is_said_later(
        self, journal: Journal
    ) -> None:
        await journal.append(Entry(A, OPENED), Entry(A, Closed(at=NOW, outcome=Outcome.DONE)))
        await journal.append(Entry(A, _said("too late")))

        assert [(h.seq, h.closed) for h in await journal.heads()] == [(3, True)]

    async def test_heads_can_be_limited_to_open_runs_and_to_new_records(
        self, journal: Journal
    ) -> None:
        await journal.append(Entry(A, OPENED), Entry(B, OPENED))
        await journal.append(Entry(A, Closed(at=NOW, outcome=Outcome.DONE)))
        before = await journal.last_place()
        await journal.append(Entry(B, PAUSED), Entry(HELM, STOPPED))

        assert [h.run for h in await journal.heads(open_only=True)] == [B]
        assert [(h.run, h.seq) for h in await journal.heads(since=before)] == [(B, 2)]
        assert list(await journal.heads(since=await journal.last_place())) == []

    async def test_numbers_have_no_gaps_when_many_write_at_once(self, journal: Journal) -> None:
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(journal.append, Entry(A, _said(str(number))))

        records = await journal.read(A)
        assert [r.seq for r in records] == list(range(1, 61))
        assert {r.event for r in records} == {_said(str(n)) for n in range(60)}

    async def test_of_many_who_expect_the_same_one_wins(self, journal: Journal) -> None:
        await journal.append(Entry(A, OPENED))
        won: list[int] = []

        async def claim(number: int) -> None:
            try:
                await journal.append(Entry(A, _said(str(number))), expect=Cursor(A, 1, 0))
            except StaleError:
                return
            won.append(number)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(claim, number)

        assert len(won) == 1
        assert [r.event for r in await journal.read(A, after=1)] == [_said(str(won[0]))]

    async def test_a_writer_who_read_too_long_ago_is_told_so(self, journal: Journal) -> None:
        await journal.append(Entry(A, OPENED), expect=Cursor(A, 0, 0))
        await journal.append(Entry(A, PAUSED))

        with pytest.raises(StaleError):
            await journal.append(Entry(B, OPENED), Entry(A, PAUSED), expect=Cursor(A, 1, 0))

        assert list(await journal.read(B)) == []
        await journal.append(Entry(A, PAUSED), expect=Cursor(A, 2, 0))
        assert len(await journal.read(A)) == 3

    async def test_k2_a_writer_who_missed_the_helm_is_told_so(self, journal: Journal) -> None:
        """K2: the write itself refuses a step that was chosen before an Allstop."""
        await journal.append(Entry(A, OPENED))
        await journal.append(Entry(HELM, STOPPED))

        with pytest.raises(StaleError):
            await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 0))

        await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 1))
        assert [h.run for h in await journal.heads()] == [A]

    async def test_a_write_that_is_repeated_is_written_once(self, journal: Journal) -> None:
        for _ in range(3):
            await journal.append(Entry(A, OPENED), Entry(A, PAUSED), write=WriteId("w1"))
        await journal.append(Entry(A, PAUSED), write=WriteId("w2"))

        assert [r.seq for r in await journal.read(A)] == [1, 2, 3]

    async def test_a_write_that_was_refused_may_be_tried_again(self, journal: Journal) -> None:
        await journal.append(Entry(A, OPENED))
        with pytest.raises(StaleError):
            await journal.append(Entry(A, PAUSED), expect=Cursor(A, 0, 0), write=WriteId("w1"))
        await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 0), write=WriteId("w1"))

        assert [r.event for r in await journal.read(A)] == [OPENED, PAUSED]

    async def test_a_conditional_write_whose_answer_was_lost_may_be_repeated(
        self, journal: Journal
    ) -> None:
        """The repeated write finds its own entry and is not stale."""
        for _ in range(2):
            await journal.append(Entry(A, OPENED), expect=Cursor(A, 0, 0), write=WriteId("w1"))

        assert [r.seq for r in await journal.read(A)] == [1]

    async def test_whoever_listens_is_told(self, journal: Journal) -> None:
        heard: list[tuple[RunId, int]] = []
        with journal.listen(lambda run, seq: heard.append((run, seq))):
            await journal.append(Entry(A, OPENED), Entry(A, PAUSED), Entry(B, OPENED))
        await journal.append(Entry(A, PAUSED))

        assert sorted(heard) == [(A, 2), (B, 1)]

    async def test_an_append_that_was_cancelled_before_it_began_writes_nothing(
        self, journal: Journal
    ) -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await journal.append(Entry(A, OPENED))

        assert list(await journal.read(A)) == []

    async def test_an_append_that_is_cancelled_on_its_way_is_whole_or_not_there(
        self, journal: Journal
    ) -> None:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(
                    journal.append, Entry(A, _said(f"{number}a")), Entry(A, _said(f"{number}b"))
                )
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

        with anyio.CancelScope(shield=True):
            await journal.append(Entry(B, OPENED))
            texts = [r.event.command.text for r in await journal.read(A)]  # type: ignore[union-attr]
            assert len(texts) % 2 == 0
            assert all(
                one[:-1] == two[:-1] for one, two in zip(texts[::2], texts[1::2], strict=True)
            )

    async def test_p7_a_claim_is_exclusive_and_ends_with_its_block(self, journal: Journal) -> None:
        """P7: a second claim fails; a claim that has ended never blocks."""
        async with journal.claim(A):
            assert list(journal.holders()) == [A]
            with pytest.raises(HeldError, match="a is driven by"):
                async with journal.claim(A):
                    pass
            async with journal.claim(B):
                pass
        assert list(journal.holders()) == []
        async with journal.claim(A):
            pass

    async def test_two_processes_on_one_store_hear_each_other(
        self, journal: Journal, second: Journal | None
    ) -> None:
        if second is None:
            return
        heard = anyio.Event()
        news: list[tuple[RunId, int]] = []

        def listener(run: RunId, seq: int) -> None:
            news.append((run, seq))
            heard.set()

        async with anyio.create_task_group() as group:
            with journal.listen(listener):
                group.start_soon(journal.watch_writes)
                await anyio.wait_all_tasks_blocked()
                await second.append(Entry(A, OPENED), Entry(A, PAUSED))
                with anyio.fail_after(5):
                    await heard.wait()
            group.cancel_scope.cancel()

        assert news == [(A, 2)]
        assert [r.event for r in await journal.read(A)] == [OPENED, PAUSED]

    async def test_two_processes_on_one_store_do_not_overtake_each_other(
        self, journal: Journal, second: Journal | None
    ) -> None:
        if second is None:
            return
        await journal.append(Entry(A, OPENED))
        await second.append(Entry(HELM, STOPPED))

        with pytest.raises(StaleError):
            await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 0))
        async with journal.claim(A):
            assert list(second.holders()) == [A]
            with pytest.raises(HeldError):
                async with second.claim(A):
                    pass
        await second.append(Entry(HELM, Commanded(at=NOW, command=Resume())))
        await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 2))
        assert [r.seq for r in await second.read(A)] == [1, 2]

    async def test_who_has_not_read_what_another_process_wrote_is_told_so(
        self, journal: Journal, second: Journal | None
    ) -> None:
        """A write to any run makes the cursor stale, because runs share resources."""
        if second is None:
            return
        await journal.append(Entry(A, OPENED))
        read = await journal.last_place()
        await second.append(Entry(B, OPENED))

        with pytest.raises(StaleError):
            await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 0, read))
        read = await journal.last_place()
        await journal.append(Entry(A, PAUSED), expect=Cursor(A, 1, 0, read))
        assert [r.seq for r in await second.read(A)] == [1, 2]
