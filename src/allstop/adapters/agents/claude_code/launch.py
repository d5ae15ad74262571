"""Builds the launch of Claude Code: its arguments and its whole environment."""

import json
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from allstop.adapters.agents.box_files import writing
from allstop.adapters.agents.claude_code import tools
from allstop.adapters.agents.offered_tools import WAIT_MS, has_turn_tools
from allstop.ports import Box, Launch, Turn


class PermissionMode(StrEnum):
    """Who answers Claude Code's permission requests."""

    ASK = "ask"  # the watch answers all
    EDITS = "edits"  # Claude Code may edit files in its workspace; the watch answers the rest
    ALL = "all"  # all are allowed within the box; only questions reach the watch


class Program(Struct, frozen=True, kw_only=True):
    """The settings of one Claude Code agent."""

    path: str
    key: str
    key_name: str = "ANTHROPIC_API_KEY"
    login: bool = False  # its home holds a login instead of a key
    files: Mapping[str, str] = {}  # a placeholder of a login, written in the box before it starts
    base_url: str | None = None  # None: Anthropic's
    model: str | None = None  # None: Claude Code's default
    env: Mapping[str, str] = {}  # overrides the variables set here
    permissions: PermissionMode = PermissionMode.ASK
    ruled: bool = False  # the rules see every command

    def __repr__(self) -> str:
        return f"Program({self.path})"


class TurnThread(Struct, frozen=True, kw_only=True):
    id: str
    resumed: str | None = None  # the conversation that it resumes or forks

    @property
    def is_new(self) -> bool:
        return self.resumed != self.id


DEFAULT_MAX_OUTPUT = 32_000
"""Claude Code's own limit of tokens per reply."""

RETRIES = 2
"""Of one call to the model; the drive makes and records further ones."""

_FIXED = (
    *("-p", "--output-format", "stream-json", "--input-format", "stream-json"),
    *("--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"),
    # A repository's settings could send the key elsewhere, allow commands and run hooks.
    *("--setting-sources=", "--strict-mcp-config"),
)

_VARIABLES = {
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",  # read CLAUDE.md in added folders
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # so that the turn's end ends everything in it
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "MCP_TOOL_TIMEOUT": str(WAIT_MS),
}


def build_launch(program: Program, turn: Turn, box: Box, thread: TurnThread) -> Launch:
    """The launch of one turn. Claude Code's home is the box's home, never the user's."""
    return Launch(
        argv=writing(program.files, (program.path, *_arguments(program, turn, thread))),
        box=box,
        label=turn.run,
        env={
            **box.env,
            **_cap(turn.max_tokens),
            **_working_directory(program, turn),
            **_environment(program),
        },
        programs=(program.path,) if program.files else (),
    )


def _arguments(program: Program, turn: Turn, thread: TurnThread) -> tuple[str, ...]:
    arguments = list(_FIXED)
    if not turn.compacts:
        arguments.append("--disable-slash-commands")
    if thread.resumed is not None:
        arguments += ("--resume", thread.resumed)
    if thread.resumed is not None and thread.is_new:
        arguments.append("--fork-session")
    if thread.is_new:
        arguments += ("--session-id", thread.id)
    if turn.place is not None and turn.place.workspace:
        arguments += ("--add-dir", ".")
    arguments += _permission_arguments(program.permissions, turn)
    if program.model is not None:
        arguments += ("--model", program.model)
    if has_turn_tools(turn):
        arguments += tools.arguments()
    talk = turn.prompt.talk
    if talk is not None and talk.reply_schema is not None:
        arguments += ("--json-schema", json.dumps(talk.reply_schema))
    return tuple(arguments)


def _permission_arguments(mode: PermissionMode, turn: Turn) -> tuple[str, ...]:
    """Arguments that make Claude Code ask: by default it runs harmless commands unasked."""
    if turn.asks_first:
        return ("--settings", json.dumps({"permissions": {"ask": ["Bash"]}}))
    return ("--permission-mode", "acceptEdits") if mode is PermissionMode.EDITS else ()


def _cap(max_tokens: int | None) -> dict[str, str]:
    """Keep a single reply within the turn's token cap."""
    if max_tokens is None or max_tokens >= DEFAULT_MAX_OUTPUT:
        return {}
    return {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens)}


def _working_directory(program: Program, turn: Turn) -> dict[str, str]:
    """Keep the working directory fixed, because rules judge a command by where it runs."""
    is_judged = turn.asks_first or program.ruled
    return {"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1"} if is_judged else {}


def _environment(program: Program) -> dict[str, str]:
    url = {"ANTHROPIC_BASE_URL": program.base_url} if program.base_url else {}
    key = {} if program.login or program.files else {program.key_name: program.key}
    return {**_VARIABLES, **url, **key, **program.env}
