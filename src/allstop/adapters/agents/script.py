"""The script of a scripted agent: what it does, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec import Struct

from allstop.core.errors import AllstopError
from allstop.core.moves import FailureKind, Usage


class _Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Say(_Step, frozen=True):
    """Words of its message."""

    say: str


class Write(_Step, frozen=True):
    """A file of the workspace."""

    write: str
    text: str


class RunCommand(_Step, frozen=True):
    """A shell command in the workspace; the turn fails if it does."""

    run: str


class SpawnCommand(_Step, frozen=True):
    """A shell command that goes on in the background until the turn ends."""

    spawn: str


class Sleep(_Step, frozen=True):
    sleep: float


class Hang(_Step, frozen=True):
    """Never come back."""

    hang: bool


class Promise(_Step, frozen=True):
    """The signal its message ends with: COMPLETE, BLOCKED: …, PENDING: …"""

    signal: str


class Fail(_Step, frozen=True):
    fail: FailureKind
    message: str = ""


class RateLimit(_Step, frozen=True):
    """Be limited for so many seconds."""

    rate_limit: float


class AskLeave(_Step, frozen=True):
    """Ask whether a command may run; say what the answer was."""

    ask: str


class AskQuestion(_Step, frozen=True):
    """Ask a person something; say what the answer was."""

    question: str
    options: tuple[str, ...] = ()


class Hear(_Step, frozen=True):
    """Wait until a person says something; say what it was."""

    hear: bool


class Use(_Step, frozen=True):
    """What the turn used."""

    use: Usage


class Flood(_Step, frozen=True):
    """So many bytes of live output."""

    flood: int


Step: TypeAlias = (
    Say
    | Write
    | RunCommand
    | SpawnCommand
    | Sleep
    | Hang
    | Promise
    | Fail
    | RateLimit
    | AskLeave
    | AskQuestion
    | Hear
    | Use
    | Flood
)

_VERBS: Mapping[str, type[Step]] = {
    "say": Say,
    "write": Write,
    "run": RunCommand,
    "spawn": SpawnCommand,
    "sleep": Sleep,
    "hang": Hang,
    "signal": Promise,
    "fail": Fail,
    "rate_limit": RateLimit,
    "ask": AskLeave,
    "question": AskQuestion,
    "hear": Hear,
    "use": Use,
    "flood": Flood,
}


class ScriptError(AllstopError):
    """A script that can't be followed."""


class ScriptTurn(Struct, frozen=True, kw_only=True):
    steps: tuple[Step, ...]
    when: str = ""  # only where the prompt contains this


class Script(Struct, frozen=True, kw_only=True):
    turns: tuple[ScriptTurn, ...]
    repeat: bool = False  # after the last turn, that one again and again

    def turn(self, number: int, prompt: str) -> ScriptTurn | None:
        """Turn `number`, counted from 0, of those that fit this prompt."""
        fitting = [turn for turn in self.turns if turn.when in prompt]
        if number < len(fitting):
            return fitting[number]
        return fitting[-1] if fitting and self.repeat else None


class _RawTurn(Struct, frozen=True, forbid_unknown_fields=True):
    steps: list[dict[str, object]]
    when: str = ""


class _RawScript(Struct, frozen=True, forbid_unknown_fields=True):
    turn: list[_RawTurn]
    repeat: bool = False


def read_script(text: str, name: str) -> Script:
    """A script from its TOML text; `name` is what a complaint calls it."""
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
