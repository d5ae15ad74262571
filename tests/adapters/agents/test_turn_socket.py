"""B7: the socket in a box: who may connect, and the tools it serves."""

import json
import os
import resource
import shutil
import socket
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from allstop.adapters.agents.offered_tools import TurnTools
from allstop.adapters.agents.socket_server import SocketClient
from allstop.adapters.agents.turn_socket import (
    TurnSockets,
    _listen,
    _short_path,
    _socket,
    open_turn_socket,
)
from allstop.core.asks import Answer, Permission
from allstop.core.moves import Item
from allstop.core.signals import Signal, SignalClaim
from allstop.ports import Box, Isolation
from allstop.testing.agent_contract import RecordingWatch, turn

LISTING = '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}'

BARE = Isolation(boxed=False, allowed=True, how="")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Each backend waits for the first connection differently."""
    return request.param


@pytest.fixture
async def sockets(tmp_path):
    sockets = TurnSockets(tmp_path / "desks")
    yield sockets
    sockets.close()


@asynccontextmanager
async def opened(sockets, tools, tokens=()):
    async with anyio.create_task_group() as group:
        with sockets.open(group, tools, tokens) as access:
            yield access


@asynccontextmanager
async def turn_socket(sockets, asked):
    async with anyio.create_task_group() as group:
        with open_turn_socket(TurnTools(RecordingWatch()), sockets, asked, group) as access:
            yield access


@asynccontextmanager
async def connected(access, *lines):
    """A client in the box, which sends these lines."""
    with _short_path(Path(access.folder)) as at:
        client = await anyio.connect_unix(f"{at}/socket")
    async with client:
        await client.send("".join(f"{line}\n" for line in lines).encode())
        yield client


def call(name, number=1, **arguments):
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


async def answers(client, number=1):
    said = b""
    while said.count(b"\n") < number:
        said += await client.receive()
    return [json.loads(line) for line in said.splitlines()]


async def closed(client):
    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
        await client.receive()


async def test_b7_a_cancelled_turn_frees_its_socket_for_the_next(sockets):
    """B7: also while a client is connected."""
    with anyio.move_on_after(0.5):
        async with (
            opened(sockets, TurnTools(RecordingWatch())) as access,
            connected(access, LISTING) as client,
        ):
            await answers(client)
            await anyio.sleep_forever()

    async with (
        opened(sockets, TurnTools(RecordingWatch())) as again,
        connected(again, LISTING) as client,
    ):
        await answers(client)

    assert again.folder == access.folder


async def test_b7_no_other_turn_gets_a_socket_while_its_box_lives(sockets):
    """B7: a cancelled turn may take time to end, and its box still sees the socket."""
    other = []
    with anyio.move_on_after(0.5):
        async with anyio.create_task_group() as group:
            with sockets.open(group, TurnTools(RecordingWatch())) as access:
                async with connected(access, LISTING) as client:
                    try:
                        await answers(client)
                        await anyio.sleep_forever()
                    finally:
                        with anyio.CancelScope(shield=True):
                            await anyio.sleep(0.1)
                            with sockets.open(group, TurnTools(RecordingWatch())) as next_one:
                                other.append(next_one.folder)

    assert other
    assert other != [access.folder]


async def test_b7_calls_belong_to_this_turn(sockets):
    """B7: it introduces itself, lists its tools, and takes a signal."""
    watch = RecordingWatch()
    tools = TurnTools(watch)
    hello = '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}'

    async with opened(sockets, tools) as access, connected(access, hello, LISTING) as client:
        introduced, listed = await answers(client, 2)
        await client.send(call("signal", signal="COMPLETE").encode() + b"\n")
        (noted,) = await answers(client)

    names = [tool["name"] for tool in listed["result"]["tools"]]
    assert introduced["result"]["serverInfo"]["name"] == "allstop"
    assert names == ["signal", "progress", "ask"]
    assert not noted["result"]["isError"]
    assert tools.signals == (SignalClaim(signal=Signal.COMPLETE),)
    assert watch.items == [Item(kind="signal", text="COMPLETE")]


async def test_b7_requests_are_answered_after_the_end_of_input(sockets):
    """B7: as in `echo … | allstop mcp`, also without a final newline."""
    watch = Deliberate()
    lines = "\n".join([call("progress", percent=1, text="x"), call("ask", 2, question="Which?")])

    with anyio.fail_after(60):
        async with opened(sockets, TurnTools(watch)) as access:
            done = await anyio.run_process([access.program(BARE), "mcp"], input=lines.encode())

    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["id"], each["result"]["isError"]) for each in told] == [(1, False), (2, False)]
    assert watch.items == [Item(kind="progress", text="1% x")]


async def test_b7_many_requests_at_once_do_not_deadlock(sockets):
    """B7: the relay and the server never wait for each other."""
    listing = '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'

    with anyio.fail_after(60):
        async with opened(sockets, TurnTools(RecordingWatch())) as access:
            done = await anyio.run_process(
                [access.program(BARE), "mcp"], input=listing.encode() * 9000
            )

    assert done.stdout.count(b"\n") == 9000


async def test_b7_a_closed_socket_gives_a_readable_error(sockets):
    """B7: with a message, not a traceback."""
    async with opened(sockets, TurnTools(RecordingWatch())) as access:
        program = access.program(BARE)
    sockets._free[-1].socket.close()

    done = await anyio.run_process([program, "mcp", "signal", "COMPLETE"], check=False)

    assert (done.returncode, done.stderr) == (1, b"there was no answer: Connection refused\n")


async def test_b7_only_the_first_client_with_the_token_is_admitted(sockets):
    """B7: not without a token, with a wrong one, or with a used one."""
    tools, signal = TurnTools(RecordingWatch()), call("signal", signal="COMPLETE")

    async with opened(sockets, tools, ("zebra",)) as access:
        for wrong in ((signal,), ("", signal), ("giraffe", signal)):
            async with connected(access, *wrong) as client:
                await closed(client)
        async with connected(access, "zebra", call("progress", percent=1, text="x")) as client:
            await answers(client)
            async with connected(access, "zebra", signal) as late:
                await closed(late)

    assert tools.signals == ()


async def test_b7_each_token_admits_one_client(sockets):
    """B7: an agent that starts over gets the other token."""
    tools, told = TurnTools(RecordingWatch()), call("progress", percent=1, text="x")

    async with opened(sockets, tools, ("zebra", "okapi")) as access:
        async with (
            connected(access, "zebra", told) as first,
            connected(access, "okapi", told) as second,
        ):
            assert [len(await answers(each)) for each in (first, second)] == [1, 1]
        for late in access.tokens:
            async with connected(access, late, told) as client:
                await closed(client)


async def test_b7_a_connection_between_two_turns_is_closed(sockets):
    """B7: a process of an earlier turn can't reach the next one."""
    before, after = TurnTools(RecordingWatch()), TurnTools(RecordingWatch())
    async with opened(sockets, before) as access:
        pass

    signal = call("signal", signal="COMPLETE")
    async with connected(access, signal) as late, opened(sockets, after) as again:
        await closed(late)

    assert again.folder == access.folder
    assert (before.signals, after.signals) == ((), ())


async def test_b7_two_turns_at_once_have_two_sockets(sockets):
    async with (
        opened(sockets, TurnTools(RecordingWatch())) as one,
        opened(sockets, TurnTools(RecordingWatch())) as other,
    ):
        assert one.folder != other.folder


async def test_b7_closing_removes_all_folders(sockets, tmp_path):
    """B7: and no client can connect."""
    async with opened(sockets, TurnTools(RecordingWatch())) as access:
        assert os.listdir(tmp_path / "desks")

    sockets.close()

    assert os.listdir(tmp_path / "desks") == []
    assert not os.path.exists(access.folder)


async def test_b7_folders_of_a_killed_process_are_removed(sockets, tmp_path):
    """B7: but not the sockets of a live process."""
    (tmp_path / "desks" / "old").mkdir(parents=True)
    os.utime(tmp_path / "desks" / "old", (0, 0))

    others = TurnSockets(tmp_path / "desks")
    async with (
        opened(sockets, TurnTools(RecordingWatch())) as one,
        opened(others, TurnTools(RecordingWatch())) as other,
    ):
        there = sorted(os.listdir(tmp_path / "desks"))

    others.close()
    assert there == sorted(access.folder.rpartition("/")[2] for access in (one, other))


async def test_b7_a_folder_that_another_process_is_setting_up_is_kept(sockets, tmp_path):
    """B7: its folder exists before its socket listens."""
    (tmp_path / "desks" / "young").mkdir(parents=True)

    async with opened(sockets, TurnTools(RecordingWatch())):
        there = os.listdir(tmp_path / "desks")

    assert "young" in there


async def test_b7_a_socket_that_fails_to_open_leaves_no_folder(sockets, tmp_path):
    """B7: later turns try again."""
    async with opened(sockets, TurnTools(RecordingWatch())):
        pass
    sockets.close()

    async with anyio.create_task_group() as group:
        one = sockets.open(group, TurnTools(RecordingWatch()))
        with files_left(1), pytest.raises(OSError, match="Too many open files"), one:
            pass

    assert os.listdir(tmp_path / "desks") == []


@contextmanager
def files_left(number):
    """Let this process open only so many more files."""
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


async def test_b7_the_socket_of_a_stopped_process_blocks_nobody(sockets, tmp_path):
    """B7: its queue may be full, because nothing accepts."""
    (tmp_path / "desks" / "still").mkdir(parents=True)
    listener, probes = _listen(tmp_path / "desks" / "still"), []
    os.utime(tmp_path / "desks" / "still", (0, 0))
    with suppress(BlockingIOError), _short_path(tmp_path / "desks" / "still") as at:
        while True:
            probes.append(_socket())
            probes[-1].setblocking(False)
            probes[-1].connect(f"{at}/socket")

    with listener:
        async with opened(sockets, TurnTools(RecordingWatch())):
            there = os.listdir(tmp_path / "desks")

    for each in probes:
        each.close()
    assert "still" in there


async def test_b7_without_a_socket_the_turn_goes_on(sockets, tmp_path):
    """B7: the agent can signal in text; a removed folder is made again."""
    asked = turn(Box(home="/home", workspace="/work"))
    async with turn_socket(sockets, asked) as access:
        pass
    shutil.rmtree(access.folder)
    async with turn_socket(sockets, asked) as again:
        there = os.listdir(again.folder)
    sockets.close()
    shutil.rmtree(tmp_path / "desks")
    (tmp_path / "desks").write_text("no folder")
    async with turn_socket(sockets, asked) as none:
        pass

    assert sorted(there) == ["allstop", "socket"]
    assert none is None


class Deliberate(RecordingWatch):
    """A watch that answers after a pause."""

    async def ask(self, ask):
        await anyio.sleep(0.2)
        return await super().ask(ask)


class Slow(RecordingWatch):
    """A watch that never answers."""

    def __init__(self):
        super().__init__()
        self.asked, self.left = anyio.Event(), anyio.Event()

    async def ask(self, ask):
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.left.set()
        return Answer(leave=Permission.DENY)


async def test_b7_the_question_of_a_disconnected_client_is_withdrawn(sockets):
    """B7, F5: the ask ends when its client disconnects."""
    watch = Slow()

    with anyio.fail_after(60):
        async with opened(sockets, TurnTools(watch)) as access:
            async with connected(access, call("ask", question="Which?")):
                await watch.asked.wait()
            await watch.left.wait()


@pytest.mark.parametrize("line", ["this is no JSON", "[]", "{" * 5000])
async def test_b7_an_invalid_request_gets_an_error(sockets, line):
    """B7: later requests are answered."""
    lines = (line, call("progress", percent=1, text="x"))
    async with (
        opened(sockets, TurnTools(RecordingWatch())) as access,
        connected(access, *lines) as client,
    ):
        wrong, noted = await answers(client, 2)

    assert "error" in wrong
    assert "result" in noted


async def test_k12_an_endless_line_and_many_clients_do_no_harm(sockets):
    """K12: a client with an endless line is disconnected, and the number of clients is limited."""
    tools = TurnTools(RecordingWatch())

    async with opened(sockets, tools) as access:
        async with connected(access) as client:
            with suppress(anyio.BrokenResourceError):
                while True:
                    await client.send(b"x" * 65_536)
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(_connect, access)
        async with connected(access, call("signal", signal="COMPLETE")) as client:
            await answers(client)

    assert tools.signals == (SignalClaim(signal=Signal.COMPLETE),)


async def _connect(access):
    async with connected(access):
        pass


async def test_k12_a_client_that_never_stops_sending_blocks_nobody():
    """K12: other tasks run although there is always more to read."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(5):
        theirs.send(b"\n")
    order = []

    async def other():
        order.append("other")

    with theirs, SocketClient(ours) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(other)
            for _ in range(5):
                order.append(await client.receive())

    assert order.index("other") < 2
