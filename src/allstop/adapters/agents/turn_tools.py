"""Tools of ours for an agent at work: it signals, says how far it is, and asks; nothing else.

Calls come over the agent's own connection, or through a door in its box, so they are of this turn
and of no other run. What is said here is a claim, as the words of its message are.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from allstop import __version__
from allstop.core.asks import Ask, Option, Question
from allstop.core.mcp import Message, Server, ToolCall, content, tool
from allstop.core.moves import Item
from allstop.core.signals import Signal, SignalClaim
from allstop.core.text import one_line
from allstop.ports import Turn, Watch

NAME = "allstop"
TEXT_CHARS = 2000
MOST_CALLS = 200
"""Of one turn: each is written down."""

Words = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS)]


class _Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class GivenSignal(_Arguments, frozen=True):
    signal: Annotated[Literal["COMPLETE", "BLOCKED", "PENDING"], Meta(description="How it stands.")]
    text: Annotated[
        str,
        Meta(max_length=TEXT_CHARS, description="BLOCKED: the reason. PENDING: the question."),
    ] = ""


class GivenProgress(_Arguments, frozen=True):
    percent: Annotated[int, Meta(ge=0, le=100)]
    text: Words


class GivenQuestion(_Arguments, frozen=True):
    question: Words
    options: Annotated[tuple[Words, ...], Meta(max_length=20)] = ()


TOOLS: dict[str, Message] = {
    each["name"]: each
    for each in (
        tool(
            "signal",
            "How the task stands at the end of your work. It counts like the last line of your"
            " final message.",
            GivenSignal,
        ),
        tool("progress", "Tell people how far you are.", GivenProgress),
        tool(
            "ask",
            "Ask a person, and wait for the answer. Only for what you can't decide yourself.",
            GivenQuestion,
        ),
    )
}


WAIT_MS = 7 * 24 * 3600 * 1000
"""How long an agent waits for one of them: a person may be asked, and the loop keeps the time."""

HARMLESS = {"destructiveHint": False, "openWorldHint": False}
"""All that they reach is people. Codex asks about a tool of which this is not said."""

SERVER = Server(
    version=__version__,
    instructions="Tell the people who gave you this task how it stands, and ask them.",
    tools=[{**each, "annotations": HARMLESS} for each in TOOLS.values()],
)


class Told(NamedTuple):
    """What a tool answers."""

    text: str
    is_error: bool = False


def is_open(turn: Turn) -> bool:
    """There is one for work in a workspace; whoever only talks has no use for it."""
    return turn.place is not None and turn.place.workspace is not None


class Desk:
    """What is laid on it in one turn."""

    def __init__(self, watch: Watch) -> None:
        self.signals: tuple[SignalClaim, ...] = ()
        self.met = False  # the agent has come to it, with the word that only it was told
        self._watch = watch
        self._calls = 0

    async def call(self, name: str, arguments: Any) -> Told:
        self._calls += 1
        if self._calls > MOST_CALLS:
            return Told("That was too often for one turn.", is_error=True)
        try:
            match name:
                case "signal":
                    return await self._signal(msgspec.convert(arguments, GivenSignal))
                case "progress":
                    return await self._progress(msgspec.convert(arguments, GivenProgress))
                case "ask":
                    return await self._ask(msgspec.convert(arguments, GivenQuestion))
                case _:
                    known = ", ".join(TOOLS)
                    return Told(f"There is no tool {name!r}; there are: {known}.", is_error=True)
        except msgspec.ValidationError as error:
            return Told(f"{name}: {error}", is_error=True)

    async def used(self, call: ToolCall) -> Message:
        """The same for who speaks MCP."""
        told = await self.call(call.name, call.arguments)
        return content(call.id, told.text, is_error=told.is_error)

    async def _signal(self, given: GivenSignal) -> Told:
        signal, text = Signal(given.signal.lower()), one_line(given.text, TEXT_CHARS)
        if signal is not Signal.COMPLETE and not text:
            return Told(f"{given.signal} needs a text: the reason, or the question.", is_error=True)
        said = SignalClaim(signal=signal, text="" if signal is Signal.COMPLETE else text)
        self.signals = (*self.signals, said)
        words = given.signal + (f": {said.text}" if said.text else "")
        await self._watch.saw(Item(kind="signal", text=words))
        return Told("Noted. It counts when your turn ends: end it now, with a last word.")

    async def _progress(self, given: GivenProgress) -> Told:
        text = f"{given.percent}% {one_line(given.text, TEXT_CHARS)}"
        await self._watch.saw(Item(kind="progress", text=text))
        return Told("Noted.")

    async def _ask(self, given: GivenQuestion) -> Told:
        options = tuple(Option(label=one_line(each, 200)) for each in given.options)
        question = Question(text=given.question, options=options)
        name = f"{NAME}-{self._calls}"
        ask = Ask(id=name, kind="question", text=given.question, questions=(question,))
        answer = await self._watch.ask(ask)
        (words,) = answer.answers_to(1, "Decide for yourself, carefully, and say what you decided.")
        return Told(words)
