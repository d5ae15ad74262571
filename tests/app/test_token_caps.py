"""K5: what people are told of budgets is what drivers say of themselves."""

import pytest

from allstop.adapters.agents.api.agent import ModelAgent
from allstop.adapters.agents.claude_code import ClaudeCodeAgent
from allstop.adapters.agents.codex import CodexAgent
from allstop.adapters.agents.command import CommandAgent
from allstop.adapters.agents.scripted import ScriptedAgent
from allstop.app.agents.token_caps import describe_agent_budgets, token_cap
from allstop.settings.model import Agent, Driver

ONE_CALL = "may be passed by one call of the model for each turn under way"
DRIVERS = {
    Driver.OPENAI: ModelAgent,
    Driver.ANTHROPIC: ModelAgent,
    Driver.OLLAMA: ModelAgent,
    Driver.CODEX: CodexAgent,
    Driver.CLAUDE_CODE: ClaudeCodeAgent,
    Driver.COMMAND: CommandAgent,
    Driver.SCRIPTED: ScriptedAgent,
}


@pytest.mark.parametrize("driver", DRIVERS)
def test_k5_what_is_told_of_a_driver_is_what_it_says(driver):
    assert token_cap(driver) is DRIVERS[driver].abilities.token_cap


@pytest.mark.parametrize(
    ("driver", "cap", "words"),
    [
        (Driver.OPENAI, 1000, "hold exactly"),
        (Driver.OPENAI, None, "hold exactly"),
        (
            Driver.CODEX,
            None,
            f"{ONE_CALL}; cost budgets are checked between turns",
        ),
        (Driver.ACP, 1000, "can't hold: it reports only a part of what it uses"),
        (Driver.COMMAND, 1000, "never bind: it doesn't say what it uses"),
    ],
)
def test_k5_people_are_told_which_of_the_two_holds(driver, cap, words):
    assert describe_agent_budgets(Agent(driver=driver, max_tokens_per_call=cap)) == words
