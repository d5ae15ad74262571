"""How Claude Code is started: its arguments and its environment, all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from allstop.adapters.agents.claude_code import tools
from allstop.adapters.agents.turn_tools import WAIT_MS, has_turn_tools
from allstop.ports import Box, Launch, Turn


class Leave(StrEnum):
    """Who answers when it asks whether it may do something."""

    ASK = "ask"  # the watch, whatever it is
    EDITS = "edits"  # the watch, but files in its workspace are its own to change
    ALL = "all"  # nobody: the box decides what is possible; only questions reach the watch


class Program(Struct, frozen=True, kw_only=True):
    """Which one, and for whom it works."""

    path: str
    key: str
    login: bool = False  # its home holds one, in place of a key
    base_url: str | None = None  # None: the vendor's own
    model: str | None = None  # None: its own choice
    env: Mapping[str, str] = {}  # wins over what is set here
    leave: Leave = Leave.ASK
    ruled: bool = False  # every command is shown to the rules

    def __repr__(self) -> str:
        return f"Program({self.path})"


class Opening(Struct, frozen=True, kw_only=True):
    """The conversation of a turn."""

    thread: str
    resumed: str | None = None  # the one it goes on with, or is a copy of

    @property
    def is_new(self) -> bool:
        return self.resumed != self.thread


USUAL_OUTPUT = 32_000
"""Tokens that it lets one reply have, if nobody says otherwise."""

RETRIES = 2
"""Of one call to the model. More are for those who write them down."""

_FIXED = (
    *("-p", "--output-format", "stream-json", "--input-format", "stream-json"),
    *("--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"),
    # A repository's settings could send the key elsewhere, allow commands and run hooks.
    *("--setting-sources=", "--strict-mcp-config", "--disable-slash-commands"),
)

_QUIET = {
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",  # its words are still read
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # a turn's end is the end of all in it
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "MCP_TOOL_TIMEOUT": str(WAIT_MS),
}


def launch_of(program: Program, turn: Turn, box: Box, opening: Opening) -> Launch:
    """It keeps its things in its home, which is the box's: never the user's own."""
    return Launch(
        argv=(program.path, *_arguments(program, turn, opening)),
        box=box,
        label=turn.run,
        env={
            **box.env,
            **_cap(turn.max_tokens),
            **_where(program, turn),
            **_environment(program),
        },
    )


def _arguments(program: Program, turn: Turn, opening: Opening) -> tuple[str, ...]:
    words = list(_FIXED)
    if opening.resumed is not None:
        words += ("--resume", opening.resumed)
    if opening.resumed is not None and opening.is_new:
        words.append("--fork-session")
    if opening.is_new:
        words += ("--session-id", opening.thread)
    if turn.place is not None and turn.place.workspace:
        words += ("--add-dir", ".")
    words += _manners(program.leave, turn)
    if program.model is not None:
        words += ("--model", program.model)
    if has_turn_tools(turn):
        words += tools.arguments()
    talk = turn.prompt.talk
    if talk is not None and talk.reply_schema is not None:
        words += ("--json-schema", json.dumps(talk.reply_schema))
    return tuple(words)


def _manners(leave: Leave, turn: Turn) -> tuple[str, ...]:
    """What it asks for. Of its own accord it asks for no command that it takes to be harmless."""
    if turn.asks_first:
        return ("--settings", json.dumps({"permissions": {"ask": ["Bash"]}}))
    return ("--permission-mode", "acceptEdits") if leave is Leave.EDITS else ()


def _cap(max_tokens: int | None) -> dict[str, str]:
    """One reply alone can't pass the cap of the turn."""
    if max_tokens is None or max_tokens >= USUAL_OUTPUT:
        return {}
    return {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens)}


def _where(program: Program, turn: Turn) -> dict[str, str]:
    """A command is judged by where it runs, so none of them moves those that follow."""
    is_judged = turn.asks_first or program.ruled
    return {"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1"} if is_judged else {}


def _environment(program: Program) -> dict[str, str]:
    url = {"ANTHROPIC_BASE_URL": program.base_url} if program.base_url else {}
    key = {} if program.login else {"ANTHROPIC_API_KEY": program.key}
    return {**_QUIET, **url, **key, **program.env}
