"""K10, K12: rare behaviour of Claude Code, with a fake program."""

import json

import anyio
import pytest

from allstop.adapters.agents.claude_code.turn import UNRULED
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch

RESULT = '{"type":"result","subtype":"success","is_error":false,"result":"zebra"}'
ASK = (
    '{"type":"control_request","request_id":"r1","request":'
    '{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make install"}}}'
)
CANCEL = '{"type":"control_cancel_request","request_id":"r1"}'


class Undecided(RecordingWatch):
    """A watch that never answers."""

    def __init__(self):
        super().__init__()
        self.was_let_go = False

    async def ask(self, ask):
        self.asks.append(ask)
        try:
            await anyio.sleep_forever()
        finally:
            self.was_let_go = True


async def taken(bench, script, watch=None, *, ruled=False, **fields):
    agent = bench.agent_at(bench.stand_in(script), ruled=ruled)
    with anyio.fail_after(60):
        return await bench.turn(agent, watch, **fields)


async def test_k10_an_end_without_a_result_is_a_crash_with_its_last_words(bench):
    """K10: end of file before the result."""
    result = await taken(bench, 'echo \'{"type":"system"}\'; echo out of cheese >&2; exit 3')

    assert result.kind is FailureKind.CRASHED
    assert "exit code 3" in result.message
    assert "out of cheese" in result.message


async def test_k18_that_it_does_not_show_its_commands_to_the_rules_is_said(bench):
    """K18: people must know that the rules don't see every command."""
    watch = RecordingWatch()
    refusal = {"subtype": "error", "request_id": "allstop-1", "error": "no such thing"}
    answer = json.dumps({"type": "control_response", "response": refusal})

    await taken(
        bench, f"read -r hooks; echo '{answer}'; read -r prompt; echo '{RESULT}'", watch, ruled=True
    )

    assert [item.text for item in watch.items] == [UNRULED]


@pytest.mark.parametrize("given", ['"make"', "null", '["make"]', '{"command": ["make"]}'])
async def test_k12_a_command_that_is_shown_in_an_odd_way_breaks_nothing(bench, given):
    """K12: the rules are still asked, and the turn goes on."""
    watch = RecordingWatch()
    shown = (
        '{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback",'
        f'"callback_id":"rules","input":{{"tool_name":"Bash","tool_input":{given}}}}}}}'
    )
    hears = (
        'read -r hooks; echo \'{"type":"control_response","response":{"request_id":"allstop-1"}}\''
    )

    result = await taken(
        bench,
        f"{hears}; read -r prompt; echo '{shown}'; read -r told; echo '{RESULT}'",
        watch,
        ruled=True,
    )

    assert isinstance(result, TurnDone), result
    assert len(watch.asks) == 1


async def test_k12_a_line_of_200_mb_neither_hangs_nor_bloats(bench):
    """K12: it is skipped with a notice; later lines are read."""
    watch = RecordingWatch()
    script = f"head -c 200000000 /dev/zero | tr '\\0' x; echo; echo '{RESULT}'"

    result = await taken(bench, script, watch)

    assert isinstance(result, TurnDone), result
    assert result.text == "zebra"
    assert [item.text for item in watch.items] == [
        "a line of 200,000,000 bytes was too long to read"
    ]


async def test_k12_a_result_that_is_too_long_fails_the_turn(bench):
    """K12: the turn doesn't wait for the lost end."""
    begun = RESULT.removesuffix('zebra"}')
    script = (
        f"printf '%s' '{begun}'; head -c 40000000 /dev/zero | tr '\\0' x; echo '\"}}'; sleep 99"
    )

    result = await taken(bench, script)

    assert result.kind is FailureKind.CRASHED
    assert "was too long to read" in result.message


async def test_k12_a_result_in_invalid_utf8_is_read(bench):
    """K12: bytes that are no text lose nothing around them."""
    result = await taken(bench, "printf '%b' '" + RESULT.replace("zebra", r"\0377 zebra") + r"\n'")

    assert isinstance(result, TurnDone), result
    assert result.text == "\N{REPLACEMENT CHARACTER} zebra"


async def test_k12_noise_between_its_lines_is_told_and_survived(bench):
    """K12: a program that prints something else to its output."""
    watch = RecordingWatch()

    result = await taken(bench, f"echo hello; echo '[1]'; echo; echo '{RESULT}'", watch)

    assert result.text == "zebra"
    assert [item.kind for item in watch.items] == ["notice", "notice"]


async def test_k10_a_withdrawn_ask_is_dropped(bench):
    """K10: the person is no longer asked, and no late answer is sent."""
    watch = Undecided()
    script = f"read p; echo '{ASK}'; sleep 0.3; echo '{CANCEL}'; echo '{CANCEL}'; read x; echo '{RESULT}'"
    agent = bench.agent_at(bench.stand_in(script))
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent, watch)
        with anyio.fail_after(60):
            while not watch.was_let_go:
                await anyio.sleep(0.01)
        await anyio.sleep(0.3)
        group.cancel_scope.cancel()

    assert [ask.text for ask in watch.asks] == ["make install"]


async def test_k18_an_unknown_request_is_refused(bench):
    """K18: an unknown request is answered with an error, never with a yes."""
    hook = '{"type":"control_request","request_id":"h1","request":{"subtype":"hook_callback"}}'
    script = f"read p; echo '{hook}'; read answer; echo \"$answer\" >answer; echo '{RESULT}'"

    await taken(bench, script)

    told = (bench.work / "answer").read_text()
    assert '"subtype": "error"' in told
    assert "hook_callback is not known here" in told


@pytest.mark.parametrize(
    "script", ["trap '' INT TERM; while :; do sleep 9; done", "cat >/dev/null"]
)
async def test_k10_one_that_does_not_heed_an_interrupt_is_ended(bench, script, tmp_path):
    """K10, K2: otherwise it would run forever."""
    agent = bench.agent_at(bench.stand_in(f'echo \'{{"type":"system"}}\'; touch begun; {script}'))
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent)
        with anyio.fail_after(60):
            while not (bench.work / "begun").exists():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()

    assert list((tmp_path / "live").glob("*.json")) == []


async def test_k10_a_stopped_turn_is_interrupted_before_it_is_ended(bench):
    """K10: so that Claude Code can save the conversation."""
    script = 'touch begun; while read -r line; do echo "$line" >>heard; done'
    agent = bench.agent_at(bench.stand_in(script))
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent)
        with anyio.fail_after(60):
            while not (bench.work / "heard").exists():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()

    last = (bench.work / "heard").read_text().splitlines()[-1]
    assert json.loads(last)["request"] == {"subtype": "interrupt", "cancel_queued": True}


async def test_k12_one_that_never_listens_gets_a_long_prompt_and_ends(bench):
    """K12: writing and reading run at the same time, so neither blocks the other."""
    flood = "head -c 300000 /dev/zero | tr '\\0' '\\n'"

    result = await taken(bench, f"{flood}; echo '{RESULT}'; sleep 99", text="x" * 300_000)

    assert result.text == "zebra"


async def test_k10_an_error_of_the_watch_comes_through_as_it_is(bench):
    """K10: not in an exception group."""

    class Broken(RecordingWatch):
        async def ask(self, ask):
            raise LookupError("no journal")

    with pytest.raises(LookupError, match="no journal"):
        await taken(bench, f"read p; echo '{ASK}'; sleep 99", Broken())


async def test_k10_a_program_that_is_not_there_is_a_clear_failure(bench):
    """K10: a failed turn, not an exception."""
    result = await bench.turn(bench.agent_at("/no/such/claude"))

    assert result.kind is FailureKind.UNAVAILABLE
    assert "/no/such/claude" in result.message
