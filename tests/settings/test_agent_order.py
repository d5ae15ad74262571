"""The order of agents for runs that name no agent."""

from __future__ import annotations

import pytest

from allstop.settings.agent_order import fallbacks, roster
from allstop.settings.model import Agent, Driver, Loop, Settings


@pytest.mark.parametrize(
    ("agents", "loop", "order"),
    [
        ((), Loop(), ()),
        (("a", "b"), Loop(), ("a",)),
        (("gpt", "claude"), Loop(), ("claude", "gpt")),
        (("gpt", "codex"), Loop(), ("gpt",)),
        (("codex", "claude"), Loop(), ("claude",)),
        (("claude", "gpt"), Loop(agent="claude"), ("claude", "gpt")),
        (("claude", "gpt"), Loop(agent="gpt"), ("gpt",)),
        (("claude", "gpt", "x"), Loop(agent="claude", fallback="x"), ("claude", "x")),
        (("claude", "gpt", "x"), Loop(order=("x", "gpt")), ("x", "gpt")),
        (("a", "b", "c"), Loop(agent="b", order=("a", "b", "c")), ("b", "a", "c")),
        (("a",), Loop(agent="a", fallback="a"), ("a",)),
    ],
)
def test_p8_agents_are_tried_in_this_order(agents, loop, order):
    settings = Settings(agents={name: Agent(driver=Driver.CODEX) for name in agents}, loop=loop)

    assert roster(settings) == order


@pytest.mark.parametrize(
    ("loop", "others"),
    [
        (Loop(agent="a"), ()),
        (Loop(agent="a", fallback="b"), ("b",)),
        (Loop(order=("a", "b")), ("a", "b")),
        (Loop(agent="claude"), ("gpt",)),
    ],
)
def test_p5_a_tasks_own_agent_is_followed_only_by_those_that_are_named_as_such(loop, others):
    names = ("a", "b", "claude", "gpt")
    settings = Settings(agents={name: Agent(driver=Driver.CODEX) for name in names}, loop=loop)

    assert fallbacks(settings) == others
