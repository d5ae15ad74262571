"""Real agents without a sandbox: rules judge commands by their real folder."""

import re

import anyio

from adapters.agents.claude_code import launch_claude
from adapters.agents.codex import launch_codex
from allstop.testing.model_server import model_server
from real_agents.test_mixed_agents import DONE, KEYS, sets_up

BARE = '[sandbox]\nmode = "off"\n[auto]\ncooldown_s = 0\nreview = "never"\n'


async def test_k18_f5_the_clone_is_its_own_and_the_checkout_is_not(person):
    """K18, F5: Claude Code uses absolute paths, and no box maps them."""
    theirs = person.repository / "theirs.txt"
    (person.repository / "out").symlink_to(person.home)
    person.commit()

    def answer(asked):
        came = launch_claude.came_back(asked)
        if not came:
            return launch_claude.bash("pwd")
        clone = re.search(r"/[^\"\\]+", came[0])[0]
        paths = (f"{clone}/made.txt", str(theirs), f"{clone}/out/leaked.txt")
        return (*map(launch_claude.write, paths), DONE)[min(len(came) - 1, 3)]

    async with model_server(answer) as server:
        sets_up(person, server, BARE)
        person.variables |= KEYS
        asked = ("auto", "Write a parser", "--agent", "claude")
        said, _ = await anyio.to_thread.run_sync(person.at_terminal, *asked)

    assert re.search(r"allowed: Write /\S+/made.txt", said)
    assert re.search(r"denied: Write /\S+/theirs.txt", said)
    assert "never: outside the workspace" in said
    assert re.search(r"denied: Write /\S+/leaked.txt", said)
    assert not theirs.exists()
    assert not (person.home / "leaked.txt").exists()
    assert "made.txt" in person.git("ls-tree", "--name-only", "main").split()


async def test_k18_f5_codex_changes_its_clone_unasked(person):
    """K18, F5: codex uses absolute paths too."""
    steps = (launch_codex.run("cat a.txt"), launch_codex.patch("made.txt"), DONE)

    def answer(asked):
        return steps[len(launch_codex.outputs(asked))]

    async with model_server(answer) as server:
        sets_up(person, server, BARE)
        person.variables |= KEYS
        asked = ("auto", "Write a parser", "--agent", "codex")
        said, _ = await anyio.to_thread.run_sync(person.at_terminal, *asked)

    assert "allowed: cat a.txt (built-in: cat)" in said
    assert "(inside the workspace)" in said
    assert "made.txt" in person.git("ls-tree", "--name-only", "main").split()
