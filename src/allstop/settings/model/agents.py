"""Settings of [agents.NAME]: driver, model, key, environment and limits of one agent."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import field

from allstop.settings.model import bases
from allstop.settings.model.bases import doc


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
    """How a program receives its prompt."""

    STDIN = "stdin"
    ARG = "arg"
    FILE = "file"


class DoneBy(StrEnum):
    """When a turn counts as COMPLETE: by a signal in the output, or by a clean exit."""

    SIGNAL = "signal"
    EXIT = "exit"


class WireFormat(StrEnum):
    """How a program talks to its model."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class GatewayUse(bases.Entry, frozen=True, kw_only=True):
    speaks: Annotated[
        WireFormat,
        doc("Whose API the program calls. It decides which provider gets the key."),
    ]
    base_url_env: Annotated[
        bases.VariableName, doc("The variable from which the program reads its model's address.")
    ]
    key_env: Annotated[
        bases.VariableName, doc("The variable from which the program reads its key.")
    ]


CHAT_DRIVERS = frozenset({Driver.OPENAI, Driver.ANTHROPIC, Driver.OLLAMA})
"""Drivers that only chat with a model: usable in rooms and for decisions, not for editing files."""

STANDARD_KEY: Mapping[Driver, str] = {
    Driver.OPENAI: "OPENAI_API_KEY",
    Driver.CODEX: "OPENAI_API_KEY",
    Driver.ANTHROPIC: "ANTHROPIC_API_KEY",
    Driver.CLAUDE_CODE: "ANTHROPIC_API_KEY",
}
"""The variable that holds a driver's key if `api_key_env` is unset."""


class Agent(bases.Table, frozen=True, kw_only=True):
    driver: Annotated[Driver, doc("How Allstop talks to the agent.")]
    model: Annotated[
        bases.Text | None,
        doc(
            "The model. Defaults: gpt-6.1-sol (openai), claude-sonnet-5-5 (anthropic), "
            "llama3.2 (ollama), otherwise the program's own default."
        ),
    ] = None
    base_url: Annotated[
        bases.WebAddress | None,
        doc(
            "A compatible endpoint to use instead of the vendor's. "
            "Default for ollama: http://127.0.0.1:11434/v1."
        ),
    ] = None
    api_key_env: Annotated[
        bases.OptionalVariableName | None,
        doc(
            "The environment variable that holds the API key; empty for an endpoint without a key."
        ),
    ] = None
    api_key_file: Annotated[
        bases.OwnPath | None,
        doc("A file that holds the API key, instead of a variable: an absolute path, or ~/…"),
    ] = None
    api_key_command: Annotated[
        tuple[bases.Text, ...],
        doc(
            "A program of yours, with its arguments, that prints the API key. It runs on this "
            "machine, at most once in five minutes. It takes precedence over the file."
        ),
    ] = ()
    account: Annotated[
        bases.Name | None, doc("Agents of one account share its rate limit and its login.")
    ] = None
    accounts: Annotated[
        tuple[bases.Name, ...],
        doc(
            "Accounts in order of preference. The agent stays on the first until it is exhausted, "
            "and goes back after its reset."
        ),
    ] = ()
    command: Annotated[
        tuple[bases.Text, ...], doc("The program and its arguments. It runs in the workspace.")
    ] = ()
    mode: Annotated[
        bases.Text | None,
        doc("acp only: the name of the session mode to start in. Default: the agent's own."),
    ] = None
    prompt: Annotated[PromptBy, doc("How the program receives its prompt.")] = PromptBy.STDIN
    script: Annotated[
        bases.Text | None, doc("scripted only: the script file, relative to the repository.")
    ] = None
    labels: Annotated[
        tuple[bases.Text, ...],
        doc("What a worker with this agent offers to tasks that need it, beside its own labels."),
    ] = ()
    done: Annotated[
        DoneBy, doc('"exit": a clean exit with a change counts as COMPLETE without a signal.')
    ] = DoneBy.SIGNAL
    gateway: Annotated[
        GatewayUse | None,
        doc(
            "acp and command: how the program uses the gateway, if Allstop doesn't know it: "
            "speaks, base_url_env, key_env."
        ),
    ] = None
    env: Annotated[
        Mapping[bases.VariableName, str],
        doc("Environment variables and values set for this agent only."),
    ] = field(default_factory=dict)
    pass_env: Annotated[
        tuple[bases.VariableName, ...],
        doc("Names of this machine's environment variables passed to this agent only."),
    ] = ()
    idle_seconds: Annotated[
        bases.Seconds | None,
        doc(
            "Seconds without output after which a turn counts as stalled. "
            "Default: loop.idle_seconds."
        ),
    ] = None
    timeout_minutes: Annotated[
        bases.Minutes | None,
        doc(
            "Minutes for one attempt at a task; in rooms and threads, for one turn. "
            "Default: loop.timeout_minutes."
        ),
    ] = None
    max_tokens_per_call: Annotated[
        bases.Count | None,
        doc(
            "Maximum tokens of a turn. Exact where a turn is one model call; "
            "coding agents are stopped after they exceed it."
        ),
    ] = None
    record: Annotated[
        bool,
        doc(
            "For debugging: keep the texts of this agent's model calls behind the gateway, without "
            "known secrets, in .allstop/model_calls."
        ),
    ] = False
    flat_rate: Annotated[bool, doc("The agent uses a subscription: count tokens but no costs.")] = (
        False
    )
