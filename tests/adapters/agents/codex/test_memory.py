"""Notifications are read in batches, and unwanted ones are not sent."""

import json
from contextlib import asynccontextmanager

import anyio
import pytest
import trio.testing

from allstop.adapters.agents.codex.app_server import UNWANTED, AppServer
from allstop.adapters.agents.output_lines import BATCH_BYTES, BATCH_S
from allstop.adapters.agents.rpc_peer import read
from allstop.ports import Chunk, Stream
from allstop.testing.agent_contract import RecordingWatch, turn

CLOCK = ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def note(method, **params):
    return json.dumps({"method": method, "params": {"threadId": "t", **params}}).encode() + b"\n"


DELTA = note("item/agentMessage/delta", delta="zebra")


class PersonWithModels:
    """A program that prints these messages, then nothing more."""

    def __init__(self, *said):
        self.asked_at = []
        self._said = list(said)

    async def receive(self):
        self.asked_at.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if not self._said:
            await anyio.sleep_forever()
        return Chunk(Stream.OUT, self._said.pop(0))


@pytest.mark.parametrize("anyio_backend", [CLOCK], ids=["virtual time"])
@pytest.mark.parametrize(
    ("said", "waits"),
    [
        (DELTA, True),
        (DELTA * 2 + note("item/started"), True),
        (DELTA + note("turn/completed"), False),
        (DELTA + b'{"id":7,"method":"item/tool/call","params":{"threadId":"t"}}\n', False),
        (b'{"id":1,"result":{}}\n', False),
        (note("item/agentMessage/delta", delta="z" * BATCH_BYTES), False),
    ],
    ids=["words", "several", "an end", "a request", "an answer", "a flood"],
)
async def test_k10_only_text_is_batched(said, waits):
    """K10: answers and requests are passed on at once."""
    person_with_models, heard = PersonWithModels(said, DELTA), []
    server = AppServer(person_with_models, 60.0)
    with server.listening("t", lambda message, where: heard.append(message.method) or True):
        async with server.reading():
            while len(person_with_models.asked_at) < 3:
                await anyio.sleep(BATCH_S / 10)

    first, second, _ = person_with_models.asked_at
    assert second - first == pytest.approx(BATCH_S if waits else 0)
    assert heard[-1] == "item/agentMessage/delta"


class Overheard:
    """A launcher that records the methods of its programs' messages."""

    def __init__(self, launcher):
        self.isolation = launcher.isolation
        self.methods = []
        self._launcher = launcher

    @asynccontextmanager
    async def launch(self, launch):
        async with self._launcher.launch(launch) as child:
            yield _Child(child, self.methods)


class _Child:
    def __init__(self, child, methods):
        self._child = child
        self._methods = methods

    def __getattr__(self, name):
        return getattr(self._child, name)

    async def receive(self):
        chunk = await self._child.receive()
        lines = chunk.data.splitlines() if chunk else ()
        self._methods += [said.method for line in lines if (said := read(line))]
        return chunk


async def test_f1_the_real_one_leaves_out_what_is_of_no_use(stage, place):
    """F1: it sends the turn's notifications, and none of the unwanted ones."""
    stage.launcher = Overheard(stage.launcher)
    agent = await stage.agent_that("zebra")

    result = await agent.take_turn(turn(place), RecordingWatch())

    assert result.text == "zebra"
    assert "turn/completed" in stage.launcher.methods
    assert not {*UNWANTED} & {*stage.launcher.methods}
