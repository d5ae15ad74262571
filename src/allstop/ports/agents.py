"""Whoever takes turns."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from allstop.core.asks import Answer, Ask
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import Failed, Item, TurnDone
from allstop.core.prompt import Prompt
from allstop.ports.programs import Box


class Live(NamedTuple):
    """Something to show while it happens; it is not kept."""

    kind: str
    text: str


class Watch(Protocol):
    """What an agent tells the loop while it takes a turn."""

    def live(self, live: Live) -> None: ...

    async def opened(self, thread: str) -> None:
        """The agent's name for its conversation, before anything is said in it."""
        ...

    async def saw(self, item: Item) -> None: ...

    async def words(self) -> str:
        """What a person says meanwhile, for who can tell it to the agent at once; waits for it.

        It is the same until `reached` is called. What is not told now is in the next prompt.
        """
        ...

    async def reached(self) -> None:
        """The agent has taken up what `words` gave: it is told no other way, and never again."""
        ...

    async def ask(self, ask: Ask) -> Answer:
        """Whether it may do this, or what it wants to know.

        Waits for a person where no rule decides; that nobody is there is an answer, too.
        """
        ...


class TokenCap(StrEnum):
    """What a driver makes of the most tokens that a turn may use."""

    NONE = "none"  # nothing
    AFTER = "after"  # the turn is ended after the call of its model that came to it
    EXACT = "exact"  # no call is made that could pass it


class Abilities(Struct, frozen=True, kw_only=True):
    """What a driver can do besides taking a turn."""

    resume: bool = False
    fork: bool = False  # who can't fails such a turn and says so
    steer: bool = False  # it can be told something in the middle of a turn
    asks: bool = False
    plan: bool = False
    diff: bool = False
    usage: bool = False
    structured: bool = False
    review: bool = False  # one of its own in a workspace, by a prompt's `review`
    needs_box: bool = False
    token_cap: TokenCap = TokenCap.NONE


class Turn(Struct, frozen=True, kw_only=True):
    """What an agent is asked to do."""

    run: RunId
    prompt: Prompt
    place: Box | None = None
    thread: str | None = None  # go on with this conversation; None starts one
    fork: bool = False  # … in a copy of it
    asks_first: bool = False  # ask before every command, not only for what leads out of the box
    idle_s: float = 600.0
    max_tokens: int | None = None


class Agent(Protocol):
    """Takes turns. Being cancelled must end whatever it started, commands included."""

    @property
    def abilities(self) -> Abilities: ...

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed: ...

    async def close(self) -> None:
        """Let go of what is kept between turns."""
        ...


Agents = Mapping[AgentName, Agent]
