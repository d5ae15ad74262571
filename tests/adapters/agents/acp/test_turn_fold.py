"""K10, F1: folding recorded traces of ACP agents, without a process."""

import json
from pathlib import Path

import msgspec
import pytest

from allstop.adapters.agents.acp import messages as told
from allstop.adapters.agents.acp.approvals import read_ask, write_answer
from allstop.adapters.agents.acp.tool_calls import MAX_BYTES, MAX_CALLS, ToolCalls
from allstop.adapters.agents.acp.turn_fold import TurnFold
from allstop.adapters.agents.api.call_usage import TokenCounts
from allstop.adapters.agents.rpc_peer import Message, read
from allstop.core.asks import NOBODY, Answer, Ask, Permission
from allstop.core.moves import Item
from allstop.ports import Live

TRACES = Path(__file__).with_name("traces")


def lines(name):
    return [json.loads(line) for line in (TRACES / f"{name}.jsonl").read_text().splitlines()]


def messages(name):
    return [read(json.dumps(line).encode()) for line in lines(name)]


def folded(name):
    """The fold of a trace, and all its events."""
    fold = TurnFold()
    updates = [told.read_update(each) for each in messages(name) if each.method == "session/update"]
    happened = [each for update in updates for each in fold.add(update)]
    return fold, [*happened, *fold.end()]


def updated(*updates):
    """The fold of made-up updates, and its events."""
    fold = TurnFold()
    steps = []
    for each in updates:
        note = Message(params=json.dumps({"update": each}).encode())
        steps += fold.add(told.read_update(note))
    return fold, [*steps, *fold.end()]


def said(text, **more):
    kind = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {**kind, **more}


def items(steps):
    return [step for step in steps if isinstance(step, Item)]


@pytest.mark.parametrize(
    ("name", "kinds", "text"),
    [
        ("claude_command", ["message", "command", "message"], "done"),
        ("claude_file", ["file", "message", "diff"], "done"),
        ("claude_plan", ["message", "plan", "message"], "ok"),
    ],
)
def test_k10_a_trace_gives_its_items_and_what_was_said_last(name, kinds, text):
    fold, steps = folded(name)

    assert [item.kind for item in items(steps)] == kinds
    assert fold.text == text
    assert fold.context == 120
    assert fold.cost > 0


def test_k10_a_command_is_told_with_its_output_and_its_end():
    _, steps = folded("claude_command")

    (command,) = (item.text for item in items(steps) if item.kind == "command")
    assert command == (
        "$ make install\nExit code 2\nmake: *** No rule to make target 'install'.  Stop.\n[failed]"
    )
    assert Live("status", "make install") in steps


def test_k10_a_changed_file_is_told_as_a_diff():
    _, steps = folded("claude_file")

    diff = "--- /project/made.txt\n+++ /project/made.txt\n@@ -0,0 +1 @@\n+x\n"
    assert [item for item in items(steps) if item.kind != "message"] == [
        Item(kind="file", text=f"{diff}[completed]"),
        Item(kind="diff", text=diff),
    ]


def test_k10_a_plan_is_told_step_by_step():
    entries = [
        {"content": "read", "status": "completed"},
        {"content": "write", "status": "in_progress"},
        {"content": "test", "status": "pending"},
    ]

    _, steps = updated({"sessionUpdate": "plan", "entries": entries})

    assert steps == [Item(kind="plan", text="[x] read\n[>] write\n[ ] test")]


def test_k10_a_failure_that_is_worded_as_a_reply_is_told_by_its_status():
    """K10, K13: codex's adapter reports such a turn as successful."""
    fold, _ = folded("codex_limit")

    assert fold.has_failed
    assert "429" in fold.text


def test_k10_a_failure_that_passed_is_forgotten():
    def status(kind):
        meta = {"codex": {"threadStatus": {"type": kind}}}
        return {"sessionUpdate": "session_info_update", "_meta": meta}

    fold, _ = updated(status("systemError"), status("active"), said("zebra"), status("idle"))

    assert not fold.has_failed


def test_k10_words_belong_to_one_message_until_something_else_is_told():
    """K10: the reply is the last message of the turn."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "status": "pending"}
    thought = {**said("hm"), "sessionUpdate": "agent_thought_chunk"}

    fold, steps = updated(
        said("let "), said("me"), thought, call, said("a", messageId="1"), said("b", messageId="2")
    )

    assert [(item.kind, item.text) for item in items(steps)] == [
        ("message", "let me"),
        ("reasoning", "hm"),
        ("message", "a"),
        ("message", "b"),
    ]
    assert fold.text == "b"


def test_k10_a_tool_whose_beginning_was_never_told_is_told_once():
    """K10: gemini reports only the end; others report it twice."""
    over = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "title": "Read a.txt",
        "kind": "read",
        "status": "completed",
    }

    _, steps = updated(over, over)

    assert items(steps) == [Item(kind="tool", text="Read a.txt [completed]")]


def test_k12_a_huge_change_is_not_compared():
    """K12: comparing takes time that grows with the square of the length."""
    change = {"type": "diff", "path": "a", "oldText": "x\n" * 200_000, "newText": "y\n" * 200_000}
    over = {"toolCallId": "t", "kind": "edit", "status": "completed", "content": [change]}

    _, steps = updated({"sessionUpdate": "tool_call", **over})

    assert "400,000 characters became 400,000" in items(steps)[0].text


@pytest.mark.parametrize(
    ("tokens", "spent"),
    [
        ({"inputTokens": 100, "outputTokens": 20}, TokenCounts(input=100, output=20)),
        (  # what was cached is among the input
            {"inputTokens": 100, "cachedReadTokens": 40, "outputTokens": 20, "totalTokens": 120},
            TokenCounts(input=100, cached=40, output=20),
        ),
        (  # … or besides it
            {"inputTokens": 60, "cachedReadTokens": 40, "outputTokens": 20, "totalTokens": 120},
            TokenCounts(input=100, cached=40, output=20),
        ),
        (  # thoughts are besides the output
            {"inputTokens": 100, "outputTokens": 20, "thoughtTokens": 30, "totalTokens": 150},
            TokenCounts(input=100, output=50),
        ),
        ({"inputTokens": -5, "outputTokens": "many"}, TokenCounts(input=10, output=0)),
        (None, TokenCounts(input=10, output=0)),
    ],
)
def test_k10_tokens_are_counted_whichever_way_they_are_told(tokens, spent):
    counts = None if tokens is None else msgspec.convert(tokens, told.Tokens)

    assert TurnFold().count_tokens(counts, 40) == spent


def permission(name):
    (message,) = (each for each in messages(name) if each.method == "session/request_permission")
    return told.read_permission(message)


def test_k18_permission_for_a_command_shows_its_line():
    wanted = permission("claude_command")

    ask = read_ask(0, wanted.tool_call, "/project")

    call = wanted.tool_call.tool_call_id
    assert ask == Ask(id=f"{call}:0", argv=("make", "install"), text="make install")
    assert (
        write_answer(wanted, Answer(leave=Permission.ALLOW))["outcome"]["optionId"] == "allow-once"
    )
    assert write_answer(wanted, NOBODY)["outcome"]["optionId"] == "reject"


def test_k18_permission_for_a_change_shows_its_files():
    ask = read_ask(0, permission("claude_file").tool_call, "/project")

    assert (ask.kind, ask.paths) == ("edit", ("/project/made.txt",))
    assert "+x" in ask.text


@pytest.mark.parametrize(
    ("raw", "argv", "text"),
    [
        ({"command": "make install"}, ("make", "install"), "make install"),
        ({"command": ["bash", "-lc", "make a && b"]}, (), "make a && b"),
        ({"command": ["make", "a;b"]}, (), '["make", "a;b"]'),
        ({"command": "ls", "cwd": "/project"}, ("ls",), "ls"),
        ({"command": "ls", "cwd": "/etc; x"}, (), "cd '/etc; x' && ls"),
        ({"command": "ls", "directory": "sub"}, (), "cd sub && ls"),
        ({"command": "echo $HOME"}, (), "echo $HOME"),
    ],
)
def test_k18_a_command_is_judged_by_what_a_shell_would_get(raw, argv, text):
    call = told.ToolCall(tool_call_id="t", kind="execute", title="harmless", raw_input=raw)

    assert read_ask(1, call, "/project") == Ask(id="t:1", argv=argv, text=text)


@pytest.mark.parametrize(
    "call",
    [
        told.ToolCall(kind="execute", title="ls"),  # a title is for people
        told.ToolCall(kind="execute", title="ls", raw_input={"command": "x" * 20_000}),
        told.ToolCall(kind="edit", title="ls"),  # which file?
        told.ToolCall(kind="delete", title="ls", locations=(told.Location("a"),)),
        told.ToolCall(kind="fetch", title="ls"),
    ],
)
def test_k18_what_no_rule_can_judge_is_for_a_person(call):
    ask = read_ask(1, call, "/project")

    assert (ask.kind, ask.argv, ask.paths) == ("tool", (), ())
    assert ask.text.startswith("ls")


def test_k12_tools_that_never_end_are_kept_within_bounds():
    """K12: the contents of calls are dropped if they are too large; the calls are kept."""
    calls = ToolCalls()
    given = {"command": "make"}

    for number in range(3):
        calls.update(told.ToolCall(tool_call_id=f"t{number}", title="Make", raw_input=given), 10)
    assert calls.known(told.ToolCall(tool_call_id="t0")).raw_input == given

    calls.update(told.ToolCall(tool_call_id="large"), MAX_BYTES)
    light = calls.known(told.ToolCall(tool_call_id="t0"))
    assert (light.title, light.raw_input) == ("Make", None)

    calls.update(told.ToolCall(tool_call_id="next", raw_input=given), MAX_BYTES)
    assert calls.known(told.ToolCall(tool_call_id="next")).raw_input == given

    for number in range(MAX_CALLS):
        calls.update(told.ToolCall(tool_call_id=f"u{number}"), 10)
    assert calls.known(told.ToolCall(tool_call_id="t0")).title is None


def test_k12_names_of_tools_are_kept_within_bounds_too():
    """K12: a title comes from the agent and may be as long as a line."""
    calls, title = ToolCalls(), "x" * (MAX_BYTES // 4)
    names = [f"t{number}" for number in range(MAX_CALLS // 10)]

    for name in names:
        calls.update(told.ToolCall(tool_call_id=name, title=title), len(title))

    kept = [name for name in names if calls.known(told.ToolCall(tool_call_id=name)).title]
    assert kept == names[-3:]
