"""Listeners that are too far behind get the same events from the journal."""

import anyio
import pytest

from allstop.app.live_runs import LiveRuns
from allstop.app.project import Project
from allstop.core.commands import Say
from allstop.core.events import Commanded, Opened
from allstop.core.ids import RunId
from allstop.ports import Entry, Live
from allstop.server.stream.broadcast import Broadcast, batch_delay_s
from allstop.server.stream.frames import EventFilter, Frame, Position, parse_position
from allstop.server.stream.listener import Listener
from allstop.server.stream.recent_events import RecentEvents
from allstop.server.stream.view_changes import ViewChanges
from allstop.settings.sources.environment import Environment

LOGS = EventFilter(kinds=frozenset({"log", "room", "live", "reset"}))
RUN = RunId("room:main")


@pytest.fixture
async def stage(tmp_path):
    variables = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    project = Project(tmp_path, Environment(home=tmp_path, variables=variables))
    stage = Stage(project)
    await stage.begin()
    yield stage
    project.close()


class Stage:
    """A project with a journal, and a broadcast that keeps few recent events."""

    def __init__(self, project):
        self.project = project
        self.live_runs = LiveRuns(project)
        self.said = 0

    async def begin(self, size=8):
        await self.live_runs.begin()
        changes = ViewChanges(self.live_runs)
        await changes.begin()
        recent = RecentEvents(Position(self.live_runs.pos, 10**12), size)
        self.broadcast = Broadcast(self.live_runs, changes, recent)
        self.live_runs.subscribe(self.broadcast.add_records)

    async def write(self, count):
        now = self.project.clock.now()
        if not self.said:
            opened = Opened(at=now, kind="room", spec={"thread": "main"})
            await self.project.journal.append(Entry(RUN, opened))
        for _ in range(count):
            self.said += 1
            said = Commanded(at=now, command=Say(text=f"word {self.said}"))
            await self.project.journal.append(Entry(RUN, said))

    async def run(self, work):
        async with anyio.create_task_group() as group:
            group.start_soon(self.live_runs.follow)
            group.start_soon(self.broadcast.run)
            with anyio.fail_after(60):
                await work()
            group.cancel_scope.cancel()

    def listener(self, last=None, event_filter=LOGS):
        return Listener(self.broadcast, self.project.journal, event_filter, last)

    async def read_until(self, listener, until):
        """Everything up to the chunk that has this in it."""
        heard = b""
        async for chunk in listener.chunks(self.live_runs):
            heard += chunk
            if until.encode() in heard:
                return heard.decode()
        return heard.decode()


def _words(heard):
    """What the room's events said, in order."""
    return [
        line.partition('"text":"')[2].partition('"')[0]
        for line in heard.splitlines()
        if line.startswith("data:") and '"type":"human_message"' in line
    ]


def _said(first, last):
    return [f"word {number}" for number in range(first, last + 1)]


async def test_a_late_listener_gets_all_events_that_were_dropped(stage):
    async def work():
        await stage.write(1)
        early = await stage.read_until(stage.listener(), "retry")
        last = parse_position(early.partition("id: ")[2].partition("\n")[0])
        await stage.write(100)
        await stage.live_runs.catch_up()
        heard = await stage.read_until(stage.listener(last), "word 101")

        assert _words(heard)[-100:] == _said(2, 101)
        assert '"lost":false' in heard

    await stage.run(work)


async def test_a_slow_listener_falls_out_and_misses_nothing(stage):
    async def work():
        chunks = stage.listener().chunks(stage.live_runs)
        heard = (await anext(chunks)).decode()
        for _ in range(10):
            await stage.write(30)
            await anyio.sleep(0.1)  # recent events are dropped meanwhile
            heard += (await anext(chunks)).decode()
        async for chunk in chunks:
            heard += chunk.decode()
            if "word 300" in heard:
                break

        assert _words(heard) == _said(1, 300)
        await chunks.aclose()

    await stage.run(work)


@pytest.mark.parametrize("cut", range(0, 60, 7))
async def test_from_any_place_on_each_event_comes_once(stage, cut):
    async def work():
        await stage.write(60)
        heard = await stage.read_until(stage.listener(Position(0, 0)), "word 60")
        blocks = [block for block in heard.split("\n\n") if "event: room" in block]
        position = parse_position(blocks[cut].partition("id: ")[2].partition("\n")[0])

        again = await stage.read_until(stage.listener(position), "word 60")

        assert _words(heard) == _said(1, 60)
        assert _words(again) == _said(cut + 2, 60)

    await stage.run(work)


async def test_live_text_of_one_beat_is_one_event_and_has_no_id(stage):
    async def work():
        listener = stage.listener()
        for letter in "abc":
            stage.broadcast.add_text(RUN, Live("text", letter))
        heard = await stage.read_until(listener, "event: live")

        (block,) = [block for block in heard.split("\n\n") if "event: live" in block]
        assert '"text":"abc"' in block
        assert "id:" not in block

    await stage.run(work)


async def test_q10_200_who_listen_get_each_of_1000_events_once(stage):
    """How much of a core that takes is what bench/stream.py measures."""
    await stage.begin(size=8192)
    event_filter = EventFilter(kinds=frozenset({"room"}))
    heard = [[] for _ in range(200)]

    async def listen(listener, chunks):
        async for chunk in listener.chunks(stage.live_runs):
            chunks.append(chunk)
            if b"word 1000" in chunk:
                return

    async def work():
        async with anyio.create_task_group() as group:
            for chunks in heard:
                group.start_soon(listen, stage.listener(event_filter=event_filter), chunks)
            for _ in range(20):
                await stage.write(50)
        (said,) = {b"".join(chunks).decode() for chunks in heard}

        assert _words(said) == _said(1, 1000)

    await stage.run(work)


def test_q10_the_more_listen_the_rarer_is_sent():
    assert [batch_delay_s(count) for count in (0, 1, 80, 200, 1000, 9999)] == [
        0.02, 0.02, 0.02, 0.05, 0.25, 0.25,
    ]  # fmt: skip


class TestRing:
    def _frame(self, number, kind="log", run="a"):
        return Frame(Position(number, 0), kind, run, f"<{number}>".encode())

    def test_it_keeps_the_latest_and_says_what_has_left(self):
        recent = RecentEvents(Position(0, 0), size=4)
        for number in range(1, 11):
            recent.put([self._frame(number)])

        assert recent.end == 10
        assert recent.since(9, EventFilter()) == b"<10>"
        assert recent.since(0, EventFilter()) is None
        assert recent.find(Position(0, 0)) is None
        assert recent.find(Position(10, 0)) == 10
        kept = recent.find(Position(7, 0))
        assert recent.since(kept, EventFilter()) == b"<8><9><10>"
        assert recent.position_before(kept) == Position(7, 0)

    def test_a_filter_selects_kinds_and_a_run_with_its_children(self):
        recent = RecentEvents(Position(0, 0))
        recent.put([self._frame(1, "log", "a"), self._frame(2, "task", "a/b"), self._frame(3)])
        recent.put([self._frame(4, "log", "ab"), self._frame(5, "hold", "")])

        assert recent.since(0, EventFilter("a")) == b"<1><2><3><5>"
        assert recent.since(0, EventFilter("a/b")) == b"<2><5>"
        assert recent.since(0, EventFilter("", frozenset({"task"}))) == b"<2>"

    @pytest.mark.parametrize("text", ["", "1", "1.", ".1", "1.1.1", "-1.0", "1.1\n", "x", "9" * 30])
    def test_what_is_no_place_is_none(self, text):
        assert parse_position(text) is None
