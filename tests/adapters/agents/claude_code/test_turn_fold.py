"""K10, K13: folding recorded messages, without a process or clock."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from allstop.adapters.agents.claude_code.messages import ControlRequest, ModelUsage, Session
from allstop.adapters.agents.claude_code.turn_fold import (
    Aborted,
    Accepted,
    Rejected,
    TurnFold,
    UnknownRequest,
    Withdrawn,
)
from allstop.adapters.agents.output_lines import OversizedLine
from allstop.adapters.agents.reset_times import LocalTime
from allstop.core.accounts import Window
from allstop.core.moves import Failed, FailureKind, Item, TurnDone, Usage
from allstop.ports import Live

TRACES = Path(__file__).parent / "traces"
AT = LocalTime(now=datetime(2026, 11, 16, 5, 0, tzinfo=UTC))


def told(name, fold=None):
    fold = fold or TurnFold("thread")
    lines = (TRACES / f"{name}.jsonl").read_bytes().splitlines()
    return [happening for line in lines for happening in fold.feed(line, lambda: AT)]


def fed(*messages, fold=None):
    fold = fold or TurnFold("thread")
    return [
        happening
        for message in messages
        for happening in fold.feed(json.dumps(message).encode(), lambda: AT)
    ]


def result(**fields):
    return {"type": "result", "subtype": "success", "is_error": False, "result": "x", **fields}


def test_k10_words_are_shown_and_then_kept():
    """K10: live first, then the finished message, then the end."""
    *shown, message, end = told("words")

    assert "".join(live.text for live in shown) == "hello zebra"
    assert {live.kind for live in shown} == {"text"}
    assert message == Item(kind="message", text="hello zebra")
    assert end == TurnDone(
        text="hello zebra",
        thread="thread",
        usage=Usage(input=100, output=20, cost_microusd=800, model="claude-opus-5-5"),
        context=120,
    )


def became(state, name="n"):
    return {"type": "command_lifecycle", "command_uuid": name, "state": state}


def test_b20_an_end_counts_only_when_all_it_was_told_is_taken_up():
    """B20: a late message is answered by the next reply of the same turn."""
    fold = TurnFold("thread")
    fold.unconfirmed.add("n")

    assert fed(became("queued"), result(result="one"), fold=fold) == []
    assert fed(became("started"), fold=fold) == [Accepted("n")]
    (end,) = fed(became("completed"), result(result="two"), fold=fold)
    assert end.text == "two"


@pytest.mark.parametrize("state", ["cancelled", "discarded", "refused"])
def test_b20_an_end_that_was_held_back_for_words_that_are_dropped_counts(state):
    fold = TurnFold("thread")
    fold.unconfirmed.add("n")

    assert fed(result(result="one"), fold=fold) == []
    untold, end = fed(became(state), fold=fold)
    assert untold == Rejected("n")
    assert end.text == "one"


def test_b20_a_failure_is_one_whatever_it_was_told():
    fold = TurnFold("thread")
    fold.unconfirmed.add("n")

    (end,) = fed(result(is_error=True, subtype="error_during_execution"), fold=fold)

    assert isinstance(end, Failed)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("command", "command", "make install (failed)\nExit code 2\nmake: ***"),
        ("file", "file", "/made.txt"),
        ("nobody_to_ask", "notice", "denied: Bash: Permission for this tool use was denied"),
    ],
)
def test_k10_what_it_did_is_an_item(name, kind, words):
    """K10: also a denial because nobody can be asked."""
    items = [item for item in told(name) if isinstance(item, Item) and item.kind == kind]

    assert len(items) == 1
    assert words in items[0].text


def test_k10_a_cancelled_ask_is_dropped():
    """K10: the request, its cancellation, and the end of an interrupted turn."""
    happenings = told("ask_cancelled")

    (wanted,) = (h for h in happenings if isinstance(h, ControlRequest))
    assert Withdrawn(wanted.request_id) in happenings
    assert happenings[-1].kind is FailureKind.CRASHED
    assert happenings[-1].usage.input == 100


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("overloaded", FailureKind.OVERLOADED, "529"),
        ("max_turns", FailureKind.EXITED, "maximum number of turns"),
        ("max_budget", FailureKind.EXITED, "maximum budget"),
    ],
)
def test_k10_a_turn_that_failed_says_why(name, kind, words):
    """K10: also if the text comes in a list of errors."""
    end = told(name)[-1]

    assert end.kind is kind
    assert words in end.message


def test_k10_a_shaped_reply_is_its_json():
    """K10: only its message is shown."""
    happenings = told("structured")

    assert "".join(h.text for h in happenings if isinstance(h, Live)) == "zebra"
    assert json.loads(happenings[-1].text) == {"message": "zebra"}
    assert not [h for h in happenings if isinstance(h, Item)]


def test_k10_usage_is_what_was_added_in_this_turn():
    """K10, K7: cost and tokens accumulate over turns and models."""
    fold = TurnFold("thread")
    fold.before = Session(
        total_cost_usd=1.5, model_usage={"a": ModelUsage(input_tokens=10, output_tokens=5)}
    )
    models = {
        "a": {"inputTokens": 12, "outputTokens": 6, "cacheReadInputTokens": 3},
        "b": {"inputTokens": 100, "outputTokens": 50, "cacheCreationInputTokens": 7},
    }

    (end,) = fed(result(total_cost_usd=1.75, modelUsage=models), fold=fold)

    assert end.usage == Usage(input=112, cached=3, output=51, cost_microusd=250_000, model="b")


def test_k13_a_long_wait_is_the_accounts_and_a_short_one_is_not():
    """K13: by the delay that Claude Code reports before it waits."""
    retry = {"type": "system", "subtype": "api_retry", "error": "rate_limit", "error_status": 429}

    (short,) = fed({**retry, "retry_delay_ms": 600})
    (long,) = fed({**retry, "retry_delay_ms": 90_000.5})
    (other,) = fed({**retry, "error_status": 529, "retry_delay_ms": 90_000})

    assert isinstance(short, Item)
    assert isinstance(other, Item)
    assert isinstance(long, Aborted)
    assert long.failed.kind is FailureKind.RATE_LIMITED
    assert long.failed.retry_at == AT.now + timedelta(milliseconds=90_000.5)


def test_k13_a_typed_reset_wins_over_words():
    """K13: a subscription reports its limits in separate messages."""
    until = AT.now + timedelta(hours=3)
    info = {"status": "rejected", "resetsAt": until.timestamp(), "rateLimitType": "five_hour"}
    words = "You've hit your limit · resets 11pm (UTC)"

    live, notice, end = fed(
        {"type": "rate_limit_event", "rate_limit_info": info},
        result(is_error=True, api_error_status=429, result=words),
    )

    window = Window(name="5 hours", used=1.0, resets_at=until, span_s=18000.0)
    assert live == Live("limit", "", (window,))
    assert notice.kind == "notice"
    assert (end.kind, end.retry_at) == (FailureKind.USAGE_LIMITED, until)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"error": "billing_error"}, FailureKind.BILLING),
        ({"error": "authentication_failed"}, FailureKind.AUTH),
        ({"error": "server_error", "api_error": "connection_failed"}, FailureKind.NETWORK),
        ({"error": "never heard of"}, FailureKind.NETWORK),
    ],
)
def test_k10_a_failure_without_a_status_is_known_by_its_name(fields, kind):
    """K10: by typed fields, never by text."""
    assistant = {"type": "assistant", "message": {"content": [{"type": "text", "text": "oh"}]}}

    (end,) = fed({**assistant, **fields}, result(is_error=True, result="oh"))

    assert (end.kind, end.message) == (kind, "oh")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.BAD_REQUEST),
        (401, FailureKind.AUTH),
        (404, FailureKind.BAD_REQUEST),
        (413, FailureKind.CONTEXT),
        (429, FailureKind.RATE_LIMITED),
        (500, FailureKind.OVERLOADED),
        (529, FailureKind.OVERLOADED),
    ],
)
def test_k10_a_failure_with_a_status_is_known_by_it(status, kind):
    """K10: as for every model; a failed call has the subtype "success"."""
    (end,) = fed(result(is_error=True, api_error_status=status, result="oh"))

    assert (end.kind, end.message) == (kind, f"oh (HTTP {status})")


def test_k10_a_reply_about_limits_is_no_limit():
    """K10, K13: only failures are searched."""
    (end,) = fed(result(result="You've hit your limit · resets 11pm"))

    assert isinstance(end, TurnDone)


def test_k10_the_output_of_subagents_is_not_its_reply():
    """K10: the output of subagents is neither shown nor kept as its own."""
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "sub"}}
    spoken = {"content": [{"type": "text", "text": "sub"}]}

    assert not fed(
        {"type": "stream_event", "event": delta, "parent_tool_use_id": "t1"},
        {"type": "assistant", "message": spoken, "parent_tool_use_id": "t1"},
    )


def test_k12_a_lost_line_matters_only_if_it_was_needed():
    """K12: quoted text is escaped in a line, and doesn't look like an end."""
    quoted, needed = b'{\\"type\\":\\"result\\"', b'{"type":"result"'

    (harmless,) = TurnFold("t").feed(OversizedLine(99, quoted, b""), lambda: AT)
    (end,) = TurnFold("t").feed(OversizedLine(99, b"", needed), lambda: AT)

    assert harmless.kind == "notice"
    assert isinstance(end, Failed)


def test_k12_unreadable_lines_are_noted_only_a_few_times():
    """K12: a program that prints a million lines of something else."""
    fold = TurnFold("thread")

    notices = [h for _ in range(1000) for h in fold.feed(b"what?", lambda: AT)]

    assert len(notices) == 10


def test_k18_an_unknown_request_is_told_apart():
    """K18: the process answers it with an error."""
    request = {"subtype": "elicitation", "message": {"deep": [1]}}

    assert fed({"type": "control_request", "request_id": "r", "request": request}) == [
        UnknownRequest("r", "elicitation")
    ]


def test_k12_whatever_it_does_is_a_sign_of_life():
    """K12: thinking, writing a long file, a long command, a subagent."""

    def delta(**fields):
        return {"type": "stream_event", "event": {"type": "content_block_delta", "delta": fields}}

    uses = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make\nall"}}]

    assert fed(
        delta(type="thinking_delta", thinking="hm"),
        delta(type="input_json_delta", partial_json='{"content":"a'),
        {"type": "assistant", "message": {"content": uses}},
        {"type": "tool_progress", "tool_name": "Bash", "elapsed_time_seconds": 30.2},
        {"type": "system", "subtype": "task_progress", "description": "looks around"},
    ) == [
        Live("reasoning", "hm"),
        Live("input", '{"content":"a'),
        Live("status", "Bash make all"),
        Live("status", "Bash 30 s"),
        Live("status", "looks around"),
    ]


def test_messages_of_later_versions_are_ignored():
    assert not fed({"type": "hologram"}, {"type": "system", "subtype": "hologram"}, {})
