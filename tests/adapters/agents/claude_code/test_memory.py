"""Output that arrives in pieces is read in batches."""

import json
from datetime import UTC, datetime

import anyio
import pytest
import trio.testing

from allstop.adapters.agents.claude_code.launch import PermissionMode
from allstop.adapters.agents.claude_code.turn import TurnProcess
from allstop.adapters.agents.claude_code.turn_fold import TurnFold
from allstop.adapters.agents.output_lines import BATCH_BYTES, BATCH_S
from allstop.adapters.agents.reset_times import LocalTime
from allstop.ports import Chunk, Stream
from allstop.testing.agent_contract import RecordingWatch

CLOCK = ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})
NOW = LocalTime(now=datetime(2026, 1, 1, tzinfo=UTC), local=UTC)


def line(kind, **fields):
    return json.dumps({"type": kind, **fields}).encode() + b"\n"


def said(text):
    return line("stream_event", event={"type": "content_block_delta", "delta": {"text": text}})


INIT = line("system", subtype="init")
ASK = line("control_request", request_id="1", request={"subtype": "zebra"})
END = line("result", subtype="success", result="zebra")


class PersonWithModels:
    """A program that prints these messages and ignores its input."""

    def __init__(self, *said):
        self.asked_at = []
        self._said = list(said)

    async def send(self, data):
        await anyio.lowlevel.checkpoint()

    async def receive(self):
        self.asked_at.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        return Chunk(Stream.OUT, self._said.pop(0))


@pytest.mark.parametrize("anyio_backend", [CLOCK], ids=["virtual time"])
@pytest.mark.parametrize(
    ("piece", "waits"),
    [
        (said("z"), True),
        (INIT + said("z") + said("e"), True),
        (INIT, False),
        (said("z") + ASK, False),
        (ASK + said("z"), False),
        (said("z" * BATCH_BYTES), False),
    ],
    ids=["words", "several", "a beginning", "a request", "a request before", "a flood"],
)
async def test_k10_only_text_is_batched(piece, waits):
    """K10: answers and requests are passed on at once."""
    person_with_models = PersonWithModels(piece, END)
    process = TurnProcess(
        person_with_models, TurnFold("t"), RecordingWatch(), lambda: NOW, PermissionMode.ASK
    )

    end = await process.run("hello", is_resumed=False)

    first, second = person_with_models.asked_at
    assert second - first == pytest.approx(BATCH_S if waits else 0)
    assert end.text == "zebra"
