"""[agents.NAME]: who does the work."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from allstop.settings.model.bases import (
    Count,
    Minutes,
    Name,
    OptionalVariableName,
    Seconds,
    Table,
    Text,
    VariableName,
    WebAddress,
)


class Driver(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"
    CODEX = "codex"
    CLAUDE_CODE = "claude-code"
    ACP = "acp"
    COMMAND = "command"
    SCRIPTED = "scripted"


class PromptBy(StrEnum):
    """How a program is given its prompt."""

    STDIN = "stdin"
    ARG = "arg"
    FILE = "file"


class DoneBy(StrEnum):
    """What counts as COMPLETE."""

    SIGNAL = "signal"
    EXIT = "exit"


TALKERS = frozenset({Driver.OPENAI, Driver.ANTHROPIC, Driver.OLLAMA})
"""Models without hands: they sit in rooms and decide, and can't work on files."""

STANDARD_KEY: Mapping[Driver, str] = {
    Driver.OPENAI: "OPENAI_API_KEY",
    Driver.CODEX: "OPENAI_API_KEY",
    Driver.ANTHROPIC: "ANTHROPIC_API_KEY",
    Driver.CLAUDE_CODE: "ANTHROPIC_API_KEY",
}
"""The variable a driver takes its key from where `api_key_env` is not given."""


class Agent(Table, frozen=True, kw_only=True):
    driver: Annotated[Driver, Meta(description="The kind of agent: how it is talked to.")]
    model: Annotated[
        Text | None,
        Meta(
            description="The model; if unset gpt-6.1-sol (openai), claude-sonnet-5-5 (anthropic), "
            "llama3.2 (ollama), else the program's own."
        ),
    ] = None
    base_url: Annotated[
        WebAddress | None,
        Meta(
            description="Any compatible endpoint in place of the vendor's; "
            "ollama: http://127.0.0.1:11434/v1 if unset."
        ),
    ] = None
    api_key_env: Annotated[
        OptionalVariableName | None,
        Meta(description="The variable that holds the key; empty for an endpoint without one."),
    ] = None
    account: Annotated[
        Name | None,
        Meta(description="Agents of one account share its rate limit and its login."),
    ] = None
    command: Annotated[
        tuple[Text, ...], Meta(description="The program and its arguments; runs in the workspace.")
    ] = ()
    mode: Annotated[
        Text | None,
        Meta(description="acp: the session mode it starts in, by its name; else its own choice."),
    ] = None
    prompt: Annotated[PromptBy, Meta(description="How a program is given its prompt.")] = (
        PromptBy.STDIN
    )
    script: Annotated[
        Text | None,
        Meta(description="The file a scripted agent follows, relative to the repository."),
    ] = None
    done: Annotated[
        DoneBy,
        Meta(
            description='"exit": a clean exit with a change counts as COMPLETE, without a signal.'
        ),
    ] = DoneBy.SIGNAL
    env: Annotated[
        Mapping[VariableName, str],
        Meta(description="Variables given to this agent only, with their values."),
    ] = field(default_factory=dict)
    pass_env: Annotated[
        tuple[VariableName, ...],
        Meta(description="Names of this machine's variables passed on to this agent only."),
    ] = ()
    idle_seconds: Annotated[
        Seconds | None,
        Meta(description="Silence after which a turn has stalled; else loop.idle_seconds."),
    ] = None
    timeout_minutes: Annotated[
        Minutes | None,
        Meta(
            description="Time for one attempt while it works, elsewhere for a turn; "
            "else loop.timeout_minutes."
        ),
    ] = None
    max_tokens_per_call: Annotated[
        Count | None,
        Meta(
            description="Most tokens of a turn: exact where a turn is one model call; "
            "coders stop after it."
        ),
    ] = None
    flat_rate: Annotated[
        bool, Meta(description="A subscription: tokens are counted, costs are not.")
    ] = False
