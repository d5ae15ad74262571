"""Presets: how known agents are started, logged in and paid, and what usage they report."""

from pathlib import Path

from msgspec import Struct

from allstop.settings.model import DoneBy, Driver, PromptBy


class Preset(Struct, frozen=True, kw_only=True):
    name: str
    driver: Driver
    program: str  # as it is looked up on PATH
    arguments: tuple[str, ...] = ()
    install: str = ""
    key_env: str = ""  # the variable of its key, if it works with one
    base_url_env: str = ""  # the variable of its endpoint, if it has one
    more_env: tuple[str, ...] = ()  # further variables that it needs
    mode: str = ""  # the session mode to start in; "": its own
    login: tuple[str, ...] = ()  # the arguments of its login; (): it has none
    usage: str = ""  # what it reports
    tried: str = ""  # the version that was tried; "": none
    prompt: PromptBy = PromptBy.STDIN
    done: DoneBy = DoneBy.SIGNAL

    @property
    def command(self) -> tuple[str, ...]:
        """The setting `command`; empty where the driver knows its program."""
        knows = self.driver in (Driver.CODEX, Driver.CLAUDE_CODE)
        return () if knows else (self.program, *self.arguments)


EACH_CALL = "each model call; cost"
LAST_CALL = "the last model call"
ESTIMATE = "nothing; its tokens are estimated"
UNKNOWN = "nothing that is known"
NONE = "nothing"

PRESETS = (
    Preset(
        name="codex",
        driver=Driver.CODEX,
        program="codex",
        install="npm install -g @openai/codex",
        key_env="OPENAI_API_KEY",
        base_url_env="OPENAI_BASE_URL",
        login=("login",),
        usage="each model call; cost by the price list",
        tried="0.166.0",
    ),
    Preset(
        name="claude",
        driver=Driver.CLAUDE_CODE,
        program="claude",
        install="npm install -g @anthropic-ai/claude-code",
        key_env="ANTHROPIC_API_KEY",
        base_url_env="ANTHROPIC_BASE_URL",
        login=("auth", "login"),
        usage=EACH_CALL,
        tried="2.1.325",
    ),
    Preset(
        name="gemini",
        driver=Driver.ACP,
        program="gemini",
        arguments=("--acp",),
        install="npm install -g @google/gemini-cli",
        key_env="GEMINI_API_KEY",
        base_url_env="GOOGLE_GEMINI_BASE_URL",
        usage=ESTIMATE,
        tried="0.61.0",
    ),
    Preset(
        name="opencode",
        driver=Driver.ACP,
        program="opencode",
        arguments=("acp",),
        install="npm install -g opencode-ai",
        login=("auth", "login"),
        usage=LAST_CALL,
        tried="1.18.33",
    ),
    Preset(
        name="qwen",
        driver=Driver.ACP,
        program="qwen",
        arguments=("--acp",),
        install="npm install -g @qwen-code/qwen-code",
        key_env="OPENAI_API_KEY",
        base_url_env="OPENAI_BASE_URL",
        more_env=("OPENAI_MODEL",),
        usage=ESTIMATE,
        tried="0.24.4",
    ),
    Preset(
        name="copilot",
        driver=Driver.ACP,
        program="copilot",
        arguments=("--acp",),
        install="npm install -g @github/copilot",
        login=("login",),
        usage=UNKNOWN,
    ),
    Preset(
        name="goose",
        driver=Driver.ACP,
        program="goose",
        arguments=("acp",),
        login=("configure",),
        usage=UNKNOWN,
        tried="1.52.0",
    ),
    Preset(
        name="cursor",
        driver=Driver.ACP,
        program="cursor-agent",
        arguments=("acp",),
        key_env="CURSOR_API_KEY",
        login=("login",),
        usage=UNKNOWN,
    ),
    Preset(
        name="amp",
        driver=Driver.COMMAND,
        program="amp",
        arguments=("--execute",),
        install="npm install -g @sourcegraph/amp",
        key_env="AMP_API_KEY",
        login=("login",),
        usage=NONE,
        done=DoneBy.EXIT,
    ),
    Preset(
        name="aider",
        driver=Driver.COMMAND,
        program="aider",
        arguments=("--yes-always", "--no-pretty", "--no-check-update", "--message"),
        install="python -m pip install aider-chat",
        key_env="OPENAI_API_KEY",
        base_url_env="OPENAI_API_BASE",
        usage=NONE,
        tried="0.86.2",
        prompt=PromptBy.ARG,
        done=DoneBy.EXIT,
    ),
    Preset(
        name="crush",
        driver=Driver.COMMAND,
        program="crush",
        arguments=("run", "--quiet"),
        install="npm install -g @charmland/crush",
        usage=NONE,
        prompt=PromptBy.ARG,
        done=DoneBy.EXIT,
    ),
    Preset(
        name="kimi",
        driver=Driver.ACP,
        program="kimi",
        arguments=("--acp",),
        install="uv tool install kimi-cli",
        key_env="KIMI_API_KEY",
        base_url_env="KIMI_BASE_URL",
        usage=UNKNOWN,
    ),
    Preset(
        name="pi",
        driver=Driver.COMMAND,
        program="pi",
        arguments=("--print",),
        install="npm install -g @mariozechner/pi-coding-agent",
        usage=NONE,
        prompt=PromptBy.ARG,
        done=DoneBy.EXIT,
    ),
)
"""In the order in which `allstop init` proposes them."""


def preset_of(command: tuple[str, ...]) -> Preset | None:
    """The preset whose program a `command` starts."""
    program = Path(command[0]).name if command else ""
    return next((preset for preset in PRESETS if preset.program == program), None)
