"""Events survive a round trip through JSON."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core import events
from allstop.core.commands import Command
from allstop.core.events import Commanded, Event, MoveEnded, MoveStarted
from allstop.core.ids import HELM, child_of, root_of
from allstop.core.moves import Result, TakeTurn, Work, without_prompt_text
from allstop.core.prompt import Prompt, prompt
from support.strategies import EVENTS, NOW, some

KINDS = sorted(Event.__args__, key=lambda kind: kind.__name__)


def over_the_wire(value, kind):
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(st.data())
def test_every_kind_of_event_survives_the_wire(kind, data):
    event = data.draw(some(kind))

    assert over_the_wire(event, Event) == event


@pytest.mark.parametrize("kind", Work.__args__, ids=lambda kind: kind.__name__)
@given(st.data())
def test_every_kind_of_move_survives_the_wire(kind, data):
    event = MoveStarted(at=NOW, id=1, move=data.draw(some(kind)))

    assert over_the_wire(event, Event) == event


@pytest.mark.parametrize("kind", Result.__args__, ids=lambda kind: kind.__name__)
@given(st.data())
def test_every_kind_of_result_survives_the_wire(kind, data):
    event = MoveEnded(at=NOW, id=1, result=data.draw(some(kind)))

    assert over_the_wire(event, Event) == event


@pytest.mark.parametrize("kind", Command.__args__, ids=lambda kind: kind.__name__)
@given(st.data())
def test_every_kind_of_command_survives_the_wire(kind, data):
    event = Commanded(at=NOW, command=data.draw(some(kind)))

    assert over_the_wire(event, Event) == event


@given(EVENTS)
def test_writing_an_event_again_gives_the_same_bytes(event):
    encoded = msgspec.json.encode(event)

    assert msgspec.json.encode(over_the_wire(event, Event)) == encoded


@given(EVENTS, st.text(max_size=5).filter(bool))
def test_a_field_that_a_later_version_added_does_not_hinder_reading(event, name):
    table = msgspec.to_builtins(event)
    table.setdefault(f"x_{name}", 1)

    assert msgspec.convert(table, Event, strict=False) == event


def test_every_event_of_the_module_is_in_the_union():
    declared = {
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, events._Event)
    }

    assert declared - {events._Event} == set(Event.__args__)


def test_tags_are_distinct_and_never_change():
    """Old journals must always fold: a tag that changes would make them unreadable."""
    tags = {kind.__struct_config__.tag for kind in KINDS}

    assert tags == {
        "account_held",
        "account_released",
        "asked",
        "call_reserved",
        "child_closed",
        "child_rested",
        "child_waited",
        "child_went_on",
        "closed",
        "commanded",
        "halted",
        "move_ended",
        "move_started",
        "noted",
        "opened",
        "reached",
        "rested",
        "stopped",
        "thread_opened",
        "waited",
        "windows_seen",
    }


@given(st.text())
def test_the_record_of_a_turn_keeps_the_prompts_digest_and_not_its_text(text):
    move = TakeTurn(agent="a", prompt=prompt(text))

    kept = without_prompt_text(move).prompt
    assert kept == Prompt(digest=move.prompt.digest, chars=len(text))
    assert prompt(text).digest == kept.digest


@given(st.text(), st.text())
def test_different_prompts_have_different_digests(one, two):
    assert (prompt(one).digest == prompt(two).digest) == (one == two)


def test_a_text_that_is_cut_in_the_middle_of_a_letter_has_a_digest():
    assert prompt("\ud83d").chars == 1


def test_the_root_of_a_run_is_the_run_at_the_top():
    child = child_of(child_of("board", "a"), "merge")

    assert child == "board/a/merge"
    assert [root_of(run) for run in (child, "board", HELM)] == ["board", "board", HELM]
