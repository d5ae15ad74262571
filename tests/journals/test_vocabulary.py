"""Every word that was ever written is understood for ever, down to the last field."""

from pathlib import Path

import msgspec
import pytest

from allstop.core.events import Event
from journals.make_vocabulary import every_word

FILES = sorted((Path(__file__).parent / "words").glob("*.jsonl"))


def lines():
    return [(file.stem, line) for file in FILES for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_q20_every_word_that_was_ever_written_is_still_understood(file):
    """A name that was changed or dropped would be missing when the line is written again."""
    for line in file.read_bytes().splitlines():
        event = msgspec.json.decode(line, type=Event)

        assert msgspec.json.encode(event) == line


def test_every_word_there_is_has_been_written_down():
    """What is new gets a line in a new file, before it is released."""
    written = {line for _, line in lines()}
    missing = [event for event in every_word() if msgspec.json.encode(event) not in written]

    assert missing == [], "see journals/vocabulary.py: write them down in a file of their own"
