"""F1, F2: folding recorded traces of codex 0.163, without a process."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from allstop.adapters.agents.api.call_usage import TokenCounts
from allstop.adapters.agents.codex.approvals import read_ask, write_answer
from allstop.adapters.agents.codex.messages import Location
from allstop.adapters.agents.codex.turn_fold import (
    AccountLimited,
    Ended,
    NewItem,
    ServerRequest,
    TurnFold,
)
from allstop.adapters.agents.rpc_peer import Message, decoded, read
from allstop.core.accounts import Window
from allstop.core.asks import NOBODY, Ask
from allstop.ports import Live

TRACES = Path(__file__).with_name("traces")


def messages(name):
    lines = (TRACES / f"{name}.jsonl").read_bytes().splitlines()
    return [message for line in lines if (message := read(line)) and message.method]


def folded(name):
    fold = TurnFold()
    return fold, [step for message in messages(name) for step in taken(fold, message)]


def taken(fold, message):
    return fold.add(message, decoded(message.params, Location) or Location())


def note(method, **params):
    return Message(method=method, params=msgspec.Raw(json.dumps(params).encode()))


@pytest.mark.parametrize(
    ("name", "kinds", "spent"),
    [
        (
            "work",
            ["plan", "command", "command", "file", "message", "diff"],
            TokenCounts(input=600, cached=50, output=87),
        ),
        ("question", ["message"], TokenCounts(input=200, output=40)),
        (
            "compaction",
            ["message", "command", "compaction", "note", "message"],
            TokenCounts(input=250_200, output=60),
        ),
    ],
)
def test_f1_a_trace_gives_its_items_its_usage_and_one_end(name, kinds, spent):
    """F1, K10: `turn/completed` is the only end."""
    fold, steps = folded(name)

    assert [step.item.kind for step in steps if isinstance(step, NewItem)] == kinds
    assert fold.used == spent
    assert steps[-1] == Ended("completed", None)
    assert sum(isinstance(step, Ended) for step in steps) == 1


@pytest.mark.parametrize("name", ["work", "question", "compaction"])
def test_f2_the_same_trace_gives_the_same_steps(name):
    """F2: folding again gives the same, byte for byte."""
    assert folded(name)[1] == folded(name)[1]


def test_f1_what_is_asked_in_a_trace():
    """F1: commands as argv, an edit with its diff from the item."""
    fold = TurnFold()
    asks = []
    for message in messages("work"):
        for step in taken(fold, message):
            if isinstance(step, ServerRequest):
                where = json.loads(bytes(step.params))
                ask = read_ask(step, fold.started_item(where["itemId"]), "/project")
                asks.append((ask.kind, ask.argv, ask.text, ask.paths))
                assert write_answer(step, NOBODY) == {"decision": "decline"}

    assert asks == [
        ("command", ("ls",), "ls", ()),
        ("command", ("make", "it"), "make it", ()),
        ("edit", (), "/project/a.txt\nnew", ("/project/a.txt",)),
    ]


def test_f1_words_are_live_before_they_are_an_item():
    """F1: deltas."""
    _, steps = folded("work")

    live = [step.text for step in steps if isinstance(step, Live) and step.kind == "text"]
    assert "".join(live) == "finished"


def test_f1_an_end_is_one_however_it_is_worded():
    """F1: an unreadable end still ends the turn."""
    fold = TurnFold()
    fold.turn = "x"

    steps = taken(fold, note("turn/completed", threadId="t", turn={"id": "x", "status": 7}))

    assert steps == (Ended("", None),)
    assert taken(fold, note("item/agentMessage/delta", delta="late", turnId="x")) == ()


def test_f1_the_error_of_a_turn_may_come_before_its_end():
    """F1: `error`."""
    fold = TurnFold()
    fold.turn = "x"

    taken(fold, note("error", turnId="x", willRetry=False, error={"message": "no cheese"}))
    (ended,) = taken(fold, note("turn/completed", turn={"id": "x", "status": "failed"}))

    assert ended.error.message == "no cheese"


def test_p5_a_wait_of_codex_for_a_limit_is_shown_and_ends_the_turn():
    """P5, K13: `error` with `willRetry` and 429; a lost connection is only shown live."""
    fold = TurnFold()
    fold.turn = "x"
    info = {"responseStreamConnectionFailed": {"httpStatusCode": 429}}
    limit = {"message": "Reconnecting... 1/5", "codexErrorInfo": info}
    lost = {"message": "Reconnecting... 1/5", "codexErrorInfo": "other"}

    item, step = taken(fold, note("error", turnId="x", willRetry=True, error=limit))
    (live,) = taken(fold, note("error", turnId="x", willRetry=True, error=lost))

    assert "codex waits for its provider" in item.item.text
    assert isinstance(step, AccountLimited)
    assert step.error.message == "Reconnecting... 1/5"
    assert live == Live("retry", "Reconnecting... 1/5")


def asked(method, **params):
    return ServerRequest(
        1, f"item/{method}", msgspec.Raw(json.dumps({"itemId": "i", **params}).encode())
    )


@pytest.mark.parametrize(
    ("command", "argv", "line"),
    [
        ("/bin/bash -lc 'make install'", ("make", "install"), "make install"),
        ("bash -c 'git commit -m \"two words\"'", ("git", "commit", "-m", "two words"), None),
        ("/bin/sh -lc 'ls; rm -rf /'", ("/bin/sh", "-lc", "ls; rm -rf /"), "ls; rm -rf /"),
        ("/bin/sh -lc 'ls $(x)'", ("/bin/sh", "-lc", "ls $(x)"), "ls $(x)"),
        ("/bin/sh -lc 'cat ~/x'", ("/bin/sh", "-lc", "cat ~/x"), "cat ~/x"),
        ("/bin/sh -lc 'A=1 make'", ("/bin/sh", "-lc", "A=1 make"), "A=1 make"),
        ("/bin/sh -lc 'ls\nrm x'", ("/bin/sh", "-lc", "ls\nrm x"), "ls\nrm x"),
        ("python3 -c 'print()'", ("python3", "-c", "print()"), "python3 -c 'print()'"),
        ("echo 'never closed", (), "echo 'never closed"),
    ],
)
def test_k18_a_command_is_its_words_only_where_it_is_nothing_else(command, argv, line):
    """K18: plain words; anything else stays a shell's argument."""
    ask = read_ask(asked("commandExecution/requestApproval", command=command, cwd="/w"), None, "/w")

    assert ask == Ask(id="i", kind="command", argv=argv, text=line or 'git commit -m "two words"')


@pytest.mark.parametrize(
    "params",
    [
        {"command": "ls", "networkApprovalContext": {"host": "x"}},
        {"command": "ls", "additionalPermissions": {"fileSystem": {}}},
        {"command": "ls", "kind": "network"},
        {"command": "x" * 20_000},
        {"command": None},
    ],
)
def test_k18_what_is_more_than_a_command_is_a_question(params):
    """K18: no rule for commands covers it, and rules never see a part of a command."""
    ask = read_ask(asked("commandExecution/requestApproval", **params), None, "")

    assert (ask.kind, ask.argv) == ("question", ())
    assert len(ask.text) < 17_000


def test_f1_what_is_not_known_is_put_on_record_once_and_passed_over():
    """F1: notifications of a newer codex are noted once; known unneeded ones are not."""
    fold = TurnFold()
    strange = [note("moon/risen", threadId="t"), note("moon/risen"), note("thread/status/changed")]

    steps = [step for message in strange for step in taken(fold, message)]

    assert [step.item.text for step in steps] == ["codex sent an unknown notification: moon/risen"]
    assert not any(taken(fold, note(f"star/{n}Delta")) for n in range(3))
    assert sum(len(taken(fold, note(f"star/{n}"))) for n in range(100)) == 19


@pytest.mark.parametrize("order", ["note item", "item note", "note", "item"])
def test_f4_a_compaction_counts_once_however_it_is_told(order):
    """F4: as an item, as a notification, or as both."""
    fold = TurnFold()
    told = {
        "note": note("thread/compacted", threadId="t"),
        "item": note("item/completed", item={"id": "i", "type": "contextCompaction"}),
    }

    for _ in range(2):
        seen = [step for name in order.split() for step in taken(fold, told[name])]
        assert [step.item.kind for step in seen] == ["compaction"]


def test_p16_how_much_of_a_limit_is_used_is_shown():
    """K10, P16: for each reported window."""
    reset = datetime(2026, 11, 18, 17, 30, tzinfo=UTC)
    windows = {
        "primary": {
            "usedPercent": 40,
            "windowDurationMins": 300,
            "resetsAt": int(reset.timestamp()),
        },
        "secondary": {"usedPercent": 7},
    }

    steps = taken(TurnFold(), note("account/rateLimits/updated", rateLimits=windows))

    primary = Window(name="5 hours", used=0.4, resets_at=reset, span_s=18000.0)
    assert steps == (
        Live("limit", "40 % of 300 minutes used", (primary,)),
        Live("limit", "7 % used", (Window(name="limit", used=0.07),)),
    )
