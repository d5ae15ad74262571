"""F5, K18: the real Claude Code asks before every command and file change."""

import pytest

from adapters.agents.claude_code.launch_claude import bash, came_back, write
from allstop.adapters.agents.claude_code import PermissionMode
from allstop.adapters.shell import appraise
from allstop.core.asks import NOBODY, Decision, Rule, answer_by_rules
from allstop.policy.policy import Policy
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Call, Say

COMMANDS = (
    "touch one",
    "rm -rf old",
    "sed -i s/a/b/ kept.txt",
    "grep -r a . >found.txt",
    "git log -1",  # it takes these to be harmless, and no rule would see them
    "ls; cat kept.txt",
)
DENY_TOUCH = Rule(prefix=("touch",), decision=Decision.DENY)
FILES = ("/project/.github/workflows/ci.yml", "/project/allstop.toml", "/project/made.txt")


def edit(path):
    change = {"file_path": path, "old_string": "a", "new_string": "b"}
    return Say(calls=(Call(name="Edit", arguments=change),))


def read(path):
    return Say(calls=(Call(name="Read", arguments={"file_path": path}),))


def one_by_one(*steps):
    return lambda asked: steps[min(len(came_back(asked)), len(steps) - 1)]


@pytest.mark.parametrize("permissions", list(PermissionMode))
async def test_f5_denied_actions_are_not_done_in_any_mode(bench, permissions):
    """F5, K18: it asks for each command and file; the model gets the denial."""
    (bench.work / "old").mkdir()
    (bench.work / "kept.txt").write_text("a\n")
    bench.hand_over()
    watch = RecordingWatch(message="Not today.")
    kept = "/project/kept.txt"
    steps = (*map(bash, COMMANDS), *map(write, FILES), read(kept), edit(kept), "zebra")
    agent = await bench.agent(one_by_one(*steps), permissions=permissions)

    result = await bench.turn(agent, watch, asks_first=True)

    assert result.text == "zebra"
    assert [ask.text for ask in watch.asks if ask.kind == "command"] == list(COMMANDS)
    assert [ask.paths for ask in watch.asks if ask.kind == "edit"] == [
        *((path,) for path in FILES),
        (kept,),
    ]
    told = came_back(bench.server.requests[-1])
    assert sum("Not today." in said for said in told) == len(COMMANDS) + len(FILES) + 1
    assert sorted(path.name for path in bench.work.iterdir()) == ["kept.txt", "old"]
    assert (bench.work / "kept.txt").read_text() == "a\n"


async def test_f5_what_is_allowed_is_done(bench):
    """F5: without another permission."""
    watch = RecordingWatch(allows=True)
    agent = await bench.agent(one_by_one(bash("touch one"), write(FILES[-1]), "zebra"))

    await bench.turn(agent, watch, asks_first=True)

    assert [ask.kind for ask in watch.asks] == ["command", "edit"]
    assert sorted(path.name for path in bench.work.iterdir()) == ["made.txt", "one"]


@pytest.mark.parametrize("manner", [{"asks_first": True}, {"ruled": True}], ids=str)
async def test_k18_a_command_runs_where_it_was_judged(bench, manner):
    """K18: `cd` holds for its own line; git in a folder would take the settings of that folder."""
    (bench.work / "sub").mkdir()
    bench.hand_over()
    steps = (bash("cd sub && pwd"), bash("pwd"), "zebra")
    ruled = manner.get("ruled", False)
    agent = await bench.agent(one_by_one(*steps), ruled=ruled)

    await bench.turn(agent, RecordingWatch(allows=True), asks_first=not ruled)

    moved, back = came_back(bench.server.requests[-1])
    assert moved.startswith('"/project/sub')
    assert back == '"/project"'


class Ruled(RecordingWatch):
    """A watch where nobody answers, and one rule denies."""

    async def ask(self, ask):
        await super().ask(ask)
        policy = Policy(workspace="/project", rules=(DENY_TOUCH,))
        return answer_by_rules((), appraise(ask, policy)) or NOBODY


async def test_k18_a_rule_counts_where_it_would_not_have_asked(bench):
    """K18: `touch` is denied; commands without a rule are unchanged."""
    watch = Ruled()
    steps = (bash("touch one"), bash("mkdir two"), bash("python3 -c 'pass'"), "zebra")
    agent = await bench.agent(one_by_one(*steps), permissions=PermissionMode.EDITS, ruled=True)

    result = await bench.turn(agent, watch)

    assert result.text == "zebra"
    assert [path.name for path in bench.work.iterdir()] == ["two"]
    denied, made, refused = came_back(bench.server.requests[-1])
    assert "A rule denies this" in denied
    assert "Denied" not in made
    assert NOBODY.message in refused
    assert [ask.within for ask in watch.asks] == [True, True, True, False]
