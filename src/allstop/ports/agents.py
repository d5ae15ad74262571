"""The agent's protocol: takes turns, and reports to the loop meanwhile."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct

from allstop.core.accounts import Window
from allstop.core.asks import Answer, Ask
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import Failed, Item, TurnDone, Usage
from allstop.core.prompt import Prompt
from allstop.ports.programs import Box

LATE_CALLS = "late calls"
"""The kind of a message about model calls that the end of a turn cut off, or that came after it.

If a stop ended the turn, they are in its receipt."""

UNREACHED = "unreached"
"""The kind of a message about a host that a program in a box could not reach."""


class Live(NamedTuple):
    """A piece of output to show at once; it isn't stored."""

    kind: str
    text: str
    windows: tuple[Window, ...] = ()  # of the agent's account, as its provider reports them


class Watch(Protocol):
    """Receives an agent's reports during a turn."""

    def live(self, live: Live) -> None: ...

    async def opened(self, thread: str) -> None:
        """Report the agent's id of its conversation, before anything is said in it."""
        ...

    async def saw(self, item: Item) -> None: ...

    async def words(self) -> str:
        """Wait for a message of a person to the running turn, for agents that can be steered.

        It returns the same text until `reached` is called. An undelivered text goes into the next
        prompt.
        """
        ...

    async def reached(self) -> None:
        """Report that the agent has received the text of `words`; it isn't sent again."""
        ...

    async def ask(self, ask: Ask) -> Answer:
        """Ask for permission, or for information.

        Waits for a person if no rule decides; the answer may be that nobody is there.
        """
        ...


class TokenCap(StrEnum):
    """How a driver applies the token limit of a turn."""

    NONE = "none"  # not at all
    AFTER = "after"  # ends the turn after the model call that reaches it
    EXACT = "exact"  # makes no call that could exceed it


class Abilities(Struct, frozen=True, kw_only=True):
    """Optional abilities of a driver."""

    resume: bool = False
    fork: bool = False  # without it, such a turn fails with a message
    steer: bool = False  # it can receive messages during a turn
    asks: bool = False
    plan: bool = False
    diff: bool = False
    usage: bool = False
    structured: bool = False
    review: bool = False  # a built-in review of a workspace, by a prompt's `review`
    needs_box: bool = False
    token_cap: TokenCap = TokenCap.NONE
    compact: bool = False  # it compacts a conversation itself; else it writes a summary


class Left(NamedTuple):
    """What budgets leave for model calls; None: there is no limit."""

    tokens: int | None
    microusd: int | None


class Planned(Protocol):
    """What a model call may use at most."""

    @property
    def tokens(self) -> int: ...

    @property
    def cost_microusd(self) -> int: ...


P = TypeVar("P", bound=Planned)


class CallAccount(Protocol):
    """The account of a turn that pays for its model calls, shared with all runs that pay from it."""

    @property
    def left(self) -> Left: ...

    @property
    def left_if_settled(self) -> Left:
        """What would be left if the calls under way used nothing."""
        ...

    async def reserve(self, plan: Callable[[Left], P | None]) -> tuple[int, P] | None:
        """Reserve what `plan` asks for, given what is left, and return it with a number.

        `plan` is pure, and returns None if the call doesn't fit. Then it waits, if the call may fit
        after others have ended; otherwise the result is None.
        """
        ...

    def settle(self, number: int, used: Usage) -> None:
        """Charge what the call used, in place of its reservation."""
        ...


class Turn(Struct, frozen=True, kw_only=True):
    """A request to an agent."""

    run: RunId
    prompt: Prompt
    place: Box | None = None
    thread: str | None = None  # continue this conversation; None starts one
    fork: bool = False  # continue in a copy of it
    asks_first: bool = False  # ask before every command, not only before those that leave the box
    idle_s: float = 600.0
    max_tokens: int | None = None
    account: CallAccount | None = None  # for its model calls; None: only `max_tokens` limits them
    compacts: bool = False  # compact the conversation in place of the prompt, with that ability


class Agent(Protocol):
    """Takes turns. Cancellation must end everything it started, commands included."""

    @property
    def abilities(self) -> Abilities: ...

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed: ...

    async def close(self) -> None:
        """Release resources that are kept between turns."""
        ...


Agents = Mapping[AgentName, Agent]
