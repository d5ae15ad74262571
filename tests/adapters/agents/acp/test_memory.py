"""Updates that arrive in pieces are read in batches."""

import json

import anyio
import pytest
import trio.testing

from allstop.adapters.agents.acp.connection import UPDATE, Connection
from allstop.adapters.agents.output_lines import BATCH_BYTES, BATCH_S
from allstop.ports import Chunk, Exit, Stream

CLOCK = ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def message(**fields):
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def words(text):
    return message(method=UPDATE, params={"update": {"content": {"text": text}}})


ASK = message(id=7, method="session/request_permission", params={})
ANSWER = message(id=1, result={})


class PersonWithModels:
    """A program that prints its folder, then these messages, and ends."""

    def __init__(self, *said):
        self.asked_at = []
        self._said = [b"/project\n", *said]

    async def receive(self):
        self.asked_at.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        return Chunk(Stream.OUT, self._said.pop(0)) if self._said else None

    async def wait(self):
        return Exit(0)


@pytest.mark.parametrize("anyio_backend", [CLOCK], ids=["virtual time"])
@pytest.mark.parametrize(
    ("said", "waits"),
    [
        (words("z"), True),
        (words("z") * 3, True),
        (words("z") + ASK, False),
        (ASK + words("z"), False),
        (ANSWER, False),
        (words("z" * BATCH_BYTES), False),
    ],
    ids=["words", "several", "a request", "a request before", "an answer", "a flood"],
)
async def test_k10_only_text_is_batched(said, waits):
    """K10: answers and requests are passed on at once."""
    person_with_models, heard = PersonWithModels(said), []

    async def hear(message):
        heard.append(message.method)

    await Connection(person_with_models, 60.0).read_messages(hear)

    _, first, second = person_with_models.asked_at
    assert second - first == pytest.approx(BATCH_S if waits else 0)
    assert len(heard) == said.count(b"\n")


class Slow(PersonWithModels):
    """A program that pauses before each message."""

    async def receive(self):
        self.asked_at.append(anyio.current_time())
        await anyio.sleep(1.0)
        return Chunk(Stream.OUT, self._said.pop(0)) if self._said else None


@pytest.mark.parametrize("anyio_backend", [CLOCK], ids=["virtual time"])
async def test_k10_slow_text_is_not_delayed(anyio_backend):
    """K10: slow output is not delayed further."""
    person_with_models = Slow(words("z"), words("e"), words("b"))

    async def hear(message):
        pass

    await Connection(person_with_models, 60.0).read_messages(hear)

    pauses = [
        b - a
        for a, b in zip(person_with_models.asked_at, person_with_models.asked_at[1:], strict=False)
    ]
    assert pauses == pytest.approx([1.0] * 4)
