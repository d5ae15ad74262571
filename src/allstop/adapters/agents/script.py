"""Reads the script of a scripted agent: its steps, turn by turn."""

from collections.abc import Mapping
from typing import TypeAlias, get_args

import msgspec
from msgspec import Struct

from allstop.core.errors import AllstopError
from allstop.core.moves import FailureKind, Usage


class _Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Say(_Step, frozen=True):
    """Add text to the agent's message."""

    say: str


class Write(_Step, frozen=True):
    """Write a file in the workspace."""

    write: str
    text: str


class RunCommand(_Step, frozen=True):
    """Run a shell command in the workspace; the turn fails if the command does."""

    run: str


class SpawnCommand(_Step, frozen=True):
    """Start a shell command that runs in the background until the turn ends."""

    spawn: str


class Sleep(_Step, frozen=True):
    sleep: float


class Hang(_Step, frozen=True):
    """Never end the turn."""

    hang: bool


class EmitSignal(_Step, frozen=True):
    """End the message with a signal: COMPLETE, BLOCKED: …, PENDING: …"""

    signal: str


class Fail(_Step, frozen=True):
    fail: FailureKind
    message: str = ""


class RateLimit(_Step, frozen=True):
    """Fail with a rate limit that ends after so many seconds."""

    rate_limit: float


class AskPermission(_Step, frozen=True):
    """Ask whether a command may run, and repeat the answer in the message."""

    ask: str


class AskQuestion(_Step, frozen=True):
    """Ask a person a question, and repeat the answer in the message."""

    question: str
    options: tuple[str, ...] = ()


class AwaitMessage(_Step, frozen=True):
    """Wait for a person's message, and repeat it in the agent's message."""

    hear: bool


class ReportUsage(_Step, frozen=True):
    """Set the tokens and cost that the turn reports."""

    use: Usage


class ReportContext(_Step, frozen=True):
    """Set the size of the conversation that the turn reports, in tokens."""

    context: int


class Flood(_Step, frozen=True):
    """Produce so many bytes of live output."""

    flood: int


Step: TypeAlias = (
    Say
    | Write
    | RunCommand
    | SpawnCommand
    | Sleep
    | Hang
    | EmitSignal
    | Fail
    | RateLimit
    | AskPermission
    | AskQuestion
    | AwaitMessage
    | ReportUsage
    | ReportContext
    | Flood
)

_VERBS: Mapping[str, type[Step]] = {kind.__struct_fields__[0]: kind for kind in get_args(Step)}
"""The first field of each step names it."""


class ScriptError(AllstopError):
    """A script is not valid."""

    default_code = "invalid_script"


class ScriptTurn(Struct, frozen=True, kw_only=True):
    steps: tuple[Step, ...]
    when: str = ""  # use this turn only if the prompt contains this text


class Script(Struct, frozen=True, kw_only=True):
    turns: tuple[ScriptTurn, ...]
    repeat: bool = False  # after the last turn, repeat it

    def turn(self, number: int, prompt: str) -> ScriptTurn | None:
        """Turn `number`, counted from 0, among the turns that match this prompt."""
        matching = [turn for turn in self.turns if turn.when in prompt]
        if number < len(matching):
            return matching[number]
        return matching[-1] if matching and self.repeat else None


class _RawTurn(Struct, frozen=True, forbid_unknown_fields=True):
    steps: list[dict[str, object]]
    when: str = ""


class _RawScript(Struct, frozen=True, forbid_unknown_fields=True):
    turn: list[_RawTurn]
    repeat: bool = False


def read_script(text: str, name: str) -> Script:
    """Read a script from TOML text; error messages call it `name`."""
    import tomllib

    try:
        raw = msgspec.convert(tomllib.loads(text), _RawScript)
        turns = tuple(
            ScriptTurn(steps=tuple(map(_step, turn.steps)), when=turn.when) for turn in raw.turn
        )
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ScriptError(f"{name}: {error}", "see docs/reference/scripted.md") from error
    return Script(turns=turns, repeat=raw.repeat)


def _step(table: dict[str, object]) -> Step:
    for verb, kind in _VERBS.items():
        if verb in table:
            return msgspec.convert(table, kind)
    known = ", ".join(_VERBS)
    raise msgspec.ValidationError(f"a step has none of {known}: {table}")
