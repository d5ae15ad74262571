"""Live text between processes: sent to every receiver, and never waited for."""

import json
import os
import socket

import pytest

from allstop.adapters.live_text import MAX_CHARS, LiveMessage, LiveTextSender, receive_live_text
from allstop.core.ids import RunId
from allstop.ports import Live

RUN = RunId("room:default")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def sender(tmp_path):
    sender = LiveTextSender(tmp_path / "ears")
    yield sender
    sender.close()


@pytest.fixture
def listener(tmp_path):
    """As another process would: under another number than ours."""
    own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    own.bind(str(tmp_path / "ears" / "1.sock"))
    own.settimeout(0)
    yield own
    own.close()


def test_without_an_ear_nobody_is_told(sender):
    assert not sender.has_receivers


async def test_only_the_owner_can_enter_the_folder_and_one_does_not_hear_oneself(sender, tmp_path):
    with receive_live_text(tmp_path / "ears"):
        assert not sender.has_receivers

    assert (tmp_path / "ears").stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "ears").iterdir()) == []


async def test_what_is_said_is_heard(tmp_path):
    with receive_live_text(tmp_path / "ears") as own:
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        there = str(tmp_path / "ears" / f"{os.getpid()}.sock")
        told.sendto(b'["room:default", "text", "c1", "Hello"]', there)
        told.sendto(b"no words of ours", there)
        told.close()

        assert await own.receive() == [LiveMessage(RUN, "text", "c1", "Hello")]


def test_what_nobody_takes_in_time_comes_with_what_is_said_next(sender, listener):
    assert sender.has_receivers
    pieces = [f"{number} " for number in range(2000)]
    for piece in pieces:
        sender.send(RUN, Live("text", piece), "c1")
    receive = _heard(listener)
    sender.send(RUN, Live("text", "end"), "c1")
    receive += _heard(listener)

    assert receive == "".join(pieces) + "end"


def test_of_very_much_the_end_is_told(sender, listener):
    assert sender.has_receivers

    sender.send(RUN, Live("text", "a" * MAX_CHARS + "b"), "c1")

    assert _heard(listener) == "a" * (MAX_CHARS - 1) + "b"


def test_an_ear_that_was_left_behind_is_taken_away(sender, listener, tmp_path):
    listener.close()
    assert sender.has_receivers

    sender.send(RUN, Live("text", "x"), "c1")

    assert not sender.has_receivers
    assert list((tmp_path / "ears").iterdir()) == []


def _heard(listener):
    said = ""
    while True:
        try:
            said += json.loads(listener.recv(256 * 1024))[3]
        except BlockingIOError:
            return said
