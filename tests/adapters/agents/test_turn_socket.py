"""B7: the way from a box to the desk of a turn: who may come in, and what is said there."""

import json
import os
import resource
import shutil
import socket
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from allstop.adapters.agents.socket_clients import Caller
from allstop.adapters.agents.turn_socket import Doors, _bound, _socket, _through, way_to
from allstop.adapters.agents.turn_tools import Desk
from allstop.core.asks import Answer, Leave
from allstop.core.moves import Item
from allstop.core.signals import Said, Signal
from allstop.ports import Box, Isolation
from allstop.testing.agent_contract import Onlooker, turn

LISTING = '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}'

BARE = Isolation(boxed=False, allowed=True, how="")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """The first knock is heard in another way by each."""
    return request.param


@pytest.fixture
async def doors(tmp_path):
    doors = Doors(tmp_path / "desks")
    yield doors
    doors.close()


@asynccontextmanager
async def opened(doors, desk, words=()):
    async with anyio.create_task_group() as group:
        with doors.opened(group, desk, words) as way:
            yield way


@asynccontextmanager
async def on_the_way(doors, asked):
    async with anyio.create_task_group() as group:
        with way_to(Desk(Onlooker()), doors, asked, group) as way:
            yield way


@asynccontextmanager
async def visiting(way, *lines):
    """Somebody in the box."""
    with _through(Path(way.folder)) as at:
        visitor = await anyio.connect_unix(f"{at}/socket")
    async with visitor:
        await visitor.send("".join(f"{line}\n" for line in lines).encode())
        yield visitor


def call(name, number=1, **arguments):
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


async def answers(visitor, number=1):
    said = b""
    while said.count(b"\n") < number:
        said += await visitor.receive()
    return [json.loads(line) for line in said.splitlines()]


async def closed(visitor):
    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
        await visitor.receive()


async def test_b7_a_turn_that_is_cut_off_leaves_its_door_to_the_next(doors):
    """B7: also while somebody is in it."""
    with anyio.move_on_after(0.5):
        async with opened(doors, Desk(Onlooker())) as way, visiting(way, LISTING) as visitor:
            await answers(visitor)
            await anyio.sleep_forever()

    async with opened(doors, Desk(Onlooker())) as again, visiting(again, LISTING) as visitor:
        await answers(visitor)

    assert again.folder == way.folder


async def test_b7_no_other_turn_has_a_door_while_the_box_before_it_lives(doors):
    """B7: a turn that is cut off may take its time to end; what is left of it still sees the door."""
    other = []
    with anyio.move_on_after(0.5):
        async with anyio.create_task_group() as group:
            with doors.opened(group, Desk(Onlooker())) as way:
                async with visiting(way, LISTING) as visitor:
                    try:
                        await answers(visitor)
                        await anyio.sleep_forever()
                    finally:
                        with anyio.CancelScope(shield=True):
                            await anyio.sleep(0.1)
                            with doors.opened(group, Desk(Onlooker())) as next_one:
                                other.append(next_one.folder)

    assert other
    assert other != [way.folder]


async def test_b7_what_is_said_there_is_of_this_turn(doors):
    """B7: it introduces itself, lists its tools, and takes a signal."""
    watch = Onlooker()
    desk = Desk(watch)
    hello = '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}'

    async with opened(doors, desk) as way, visiting(way, hello, LISTING) as visitor:
        introduced, listed = await answers(visitor, 2)
        await visitor.send(call("signal", signal="COMPLETE").encode() + b"\n")
        (noted,) = await answers(visitor)

    names = [tool["name"] for tool in listed["result"]["tools"]]
    assert introduced["result"]["serverInfo"]["name"] == "allstop"
    assert names == ["signal", "progress", "ask"]
    assert not noted["result"]["isError"]
    assert desk.signals == (Said(signal=Signal.COMPLETE),)
    assert watch.items == [Item(kind="signal", text="COMPLETE")]


async def test_b7_who_has_no_more_to_say_is_still_answered(doors):
    """B7: as in `echo … | allstop mcp`, also where the last line has no end."""
    watch = Deliberate()
    lines = "\n".join([call("progress", percent=1, text="x"), call("ask", 2, question="Which?")])

    with anyio.fail_after(60):
        async with opened(doors, Desk(watch)) as way:
            done = await anyio.run_process([way.program(BARE), "mcp"], input=lines.encode())

    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["id"], each["result"]["isError"]) for each in told] == [(1, False), (2, False)]
    assert watch.items == [Item(kind="progress", text="1% x")]


async def test_b7_more_may_be_asked_at_once_than_anybody_reads(doors):
    """B7: the relay never waits for the door while the door waits for it."""
    listing = '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'

    with anyio.fail_after(60):
        async with opened(doors, Desk(Onlooker())) as way:
            done = await anyio.run_process(
                [way.program(BARE), "mcp"], input=listing.encode() * 9000
            )

    assert done.stdout.count(b"\n") == 9000


async def test_b7_a_door_that_was_shut_is_told_in_words(doors):
    """B7: rather than by lines of Python."""
    async with opened(doors, Desk(Onlooker())) as way:
        program = way.program(BARE)
    doors._unused[-1].socket.close()

    done = await anyio.run_process([program, "mcp", "signal", "COMPLETE"], check=False)

    assert (done.returncode, done.stderr) == (1, b"there was no answer: Connection refused\n")


async def test_b7_only_the_first_who_knows_the_word_comes_in(doors):
    """B7: neither who has none or another, nor who comes later with the right one."""
    desk, signal = Desk(Onlooker()), call("signal", signal="COMPLETE")

    async with opened(doors, desk, ("zebra",)) as way:
        for wrong in ((signal,), ("", signal), ("giraffe", signal)):
            async with visiting(way, *wrong) as visitor:
                await closed(visitor)
        async with visiting(way, "zebra", call("progress", percent=1, text="x")) as visitor:
            await answers(visitor)
            async with visiting(way, "zebra", signal) as late:
                await closed(late)

    assert desk.signals == ()


async def test_b7_each_word_lets_one_in(doors):
    """B7: an agent that has to begin again is given another one."""
    desk, told = Desk(Onlooker()), call("progress", percent=1, text="x")

    async with opened(doors, desk, ("zebra", "okapi")) as way:
        async with visiting(way, "zebra", told) as first, visiting(way, "okapi", told) as second:
            assert [len(await answers(each)) for each in (first, second)] == [1, 1]
        for late in way.words:
            async with visiting(way, late, told) as visitor:
                await closed(visitor)


async def test_b7_who_comes_between_two_turns_is_never_heard(doors):
    """B7: what runs on after its turn has no say in the next one."""
    before, after = Desk(Onlooker()), Desk(Onlooker())
    async with opened(doors, before) as way:
        pass

    signal = call("signal", signal="COMPLETE")
    async with visiting(way, signal) as late, opened(doors, after) as again:
        await closed(late)

    assert again.folder == way.folder
    assert (before.signals, after.signals) == ((), ())


async def test_b7_two_turns_at_once_have_two_doors(doors):
    async with opened(doors, Desk(Onlooker())) as one, opened(doors, Desk(Onlooker())) as other:
        assert one.folder != other.folder


async def test_b7_nothing_of_it_is_left_behind_the_last_turn(doors, tmp_path):
    """B7: nor can anybody come in any more."""
    async with opened(doors, Desk(Onlooker())) as way:
        assert os.listdir(tmp_path / "desks")

    doors.close()

    assert os.listdir(tmp_path / "desks") == []
    assert not os.path.exists(way.folder)


async def test_b7_what_a_killed_process_left_behind_is_taken_away(doors, tmp_path):
    """B7: but not the door of another that is alive."""
    (tmp_path / "desks" / "old").mkdir(parents=True)
    os.utime(tmp_path / "desks" / "old", (0, 0))

    others = Doors(tmp_path / "desks")
    async with opened(doors, Desk(Onlooker())) as one, opened(others, Desk(Onlooker())) as other:
        there = sorted(os.listdir(tmp_path / "desks"))

    others.close()
    assert there == sorted(way.folder.rpartition("/")[2] for way in (one, other))


async def test_b7_a_door_that_another_process_is_just_making_is_left_alone(doors, tmp_path):
    """B7: its folder is there before anybody can answer behind it."""
    (tmp_path / "desks" / "young").mkdir(parents=True)

    async with opened(doors, Desk(Onlooker())):
        there = os.listdir(tmp_path / "desks")

    assert "young" in there


async def test_b7_a_door_that_can_not_be_made_leaves_nothing_behind(doors, tmp_path):
    """B7: a turn without one is followed by others, and each tries again."""
    async with opened(doors, Desk(Onlooker())):
        pass
    doors.close()

    async with anyio.create_task_group() as group:
        one = doors.opened(group, Desk(Onlooker()))
        with files_left(1), pytest.raises(OSError, match="Too many open files"), one:
            pass

    assert os.listdir(tmp_path / "desks") == []


@contextmanager
def files_left(number):
    """This process can open only so many more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    taken = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(number):
            os.close(taken.pop())
        yield
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_b7_the_door_of_a_process_that_stands_still_keeps_nobody_waiting(doors, tmp_path):
    """B7: those who knock there may fill it, since nobody lets them in."""
    (tmp_path / "desks" / "still").mkdir(parents=True)
    door, knocks = _bound(tmp_path / "desks" / "still"), []
    os.utime(tmp_path / "desks" / "still", (0, 0))
    with suppress(BlockingIOError), _through(tmp_path / "desks" / "still") as at:
        while True:
            knocks.append(_socket())
            knocks[-1].setblocking(False)
            knocks[-1].connect(f"{at}/socket")

    with door:
        async with opened(doors, Desk(Onlooker())):
            there = os.listdir(tmp_path / "desks")

    for each in knocks:
        each.close()
    assert "still" in there


async def test_b7_where_there_is_no_place_for_one_the_turn_goes_on_without(doors, tmp_path):
    """B7: a last line does as well; and one that somebody has removed is made again."""
    asked = turn(Box(home="/home", workspace="/work"))
    async with on_the_way(doors, asked) as way:
        pass
    shutil.rmtree(way.folder)
    async with on_the_way(doors, asked) as again:
        there = os.listdir(again.folder)
    doors.close()
    shutil.rmtree(tmp_path / "desks")
    (tmp_path / "desks").write_text("no folder")
    async with on_the_way(doors, asked) as none:
        pass

    assert sorted(there) == ["allstop", "socket"]
    assert none is None


class Deliberate(Onlooker):
    """Thinks before it answers."""

    async def ask(self, ask):
        await anyio.sleep(0.2)
        return await super().ask(ask)


class Slow(Onlooker):
    """Nobody answers."""

    def __init__(self):
        super().__init__()
        self.asked, self.left = anyio.Event(), anyio.Event()

    async def ask(self, ask):
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.left.set()
        return Answer(leave=Leave.DENY)


async def test_b7_a_question_of_somebody_who_has_gone_is_taken_back(doors):
    """B7, F5: nobody is kept waiting for an answer that nobody wants."""
    watch = Slow()

    with anyio.fail_after(60):
        async with opened(doors, Desk(watch)) as way:
            async with visiting(way, call("ask", question="Which?")):
                await watch.asked.wait()
            await watch.left.wait()


@pytest.mark.parametrize("line", ["this is no JSON", "[]", "{" * 5000])
async def test_b7_what_makes_no_sense_is_an_error(doors, line):
    """B7: and it goes on."""
    lines = (line, call("progress", percent=1, text="x"))
    async with opened(doors, Desk(Onlooker())) as way, visiting(way, *lines) as visitor:
        wrong, noted = await answers(visitor, 2)

    assert "error" in wrong
    assert "result" in noted


async def test_k12_a_line_without_an_end_and_a_crowd_do_no_harm(doors):
    """K12: who says too much is shown out, and there is room for so many only."""
    desk = Desk(Onlooker())

    async with opened(doors, desk) as way:
        async with visiting(way) as visitor:
            with suppress(anyio.BrokenResourceError):
                while True:
                    await visitor.send(b"x" * 65_536)
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(_knock, way)
        async with visiting(way, call("signal", signal="COMPLETE")) as visitor:
            await answers(visitor)

    assert desk.signals == (Said(signal=Signal.COMPLETE),)


async def _knock(way):
    async with visiting(way):
        pass


async def test_k12_who_never_stops_talking_keeps_nobody_waiting():
    """K12: others have their turn although there is always more to read."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(5):
        theirs.send(b"\n")
    order = []

    async def other():
        order.append("other")

    with theirs, Caller(ours) as caller:
        async with anyio.create_task_group() as group:
            group.start_soon(other)
            for _ in range(5):
                order.append(await caller.receive())

    assert order.index("other") < 2
