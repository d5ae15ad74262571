"""The tools that an agent can call during a turn: `signal`, `progress` and `ask`.

Calls arrive over the agent's own connection or the socket in its box, so they belong to this turn.
Like the agent's message, a call is only a claim.
"""

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
MAX_CALLS = 200
"""In one turn; each call is recorded."""

ToolText = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS)]


class _Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class SignalArguments(_Arguments, frozen=True):
    signal: Annotated[Literal["COMPLETE", "BLOCKED", "PENDING"], Meta(description="How it stands.")]
    text: Annotated[
        str,
        Meta(max_length=TEXT_CHARS, description="BLOCKED: the reason. PENDING: the question."),
    ] = ""


class ProgressArguments(_Arguments, frozen=True):
    percent: Annotated[int, Meta(ge=0, le=100)]
    text: ToolText


class QuestionArguments(_Arguments, frozen=True):
    question: ToolText
    options: Annotated[tuple[ToolText, ...], Meta(max_length=20)] = ()


TOOLS: dict[str, Message] = {
    each["name"]: each
    for each in (
        tool(
            "signal",
            "How the task stands at the end of your work. It counts like the last line of your"
            " final message.",
            SignalArguments,
        ),
        tool("progress", "Tell people how far you are.", ProgressArguments),
        tool(
            "ask",
            "Ask a person, and wait for the answer. Only for what you can't decide yourself.",
            QuestionArguments,
        ),
    )
}


WAIT_MS = 7 * 24 * 3600 * 1000
"""How long an agent waits for a tool: a person may have to answer, and the drive limits the time."""

HARMLESS = {"destructiveHint": False, "openWorldHint": False}
"""The tools reach only people. Codex asks for approval of tools without these hints."""

SERVER = Server(
    version=__version__,
    instructions="Tell the people who gave you this task how it stands, and ask them.",
    tools=[{**each, "annotations": HARMLESS} for each in TOOLS.values()],
)


class ToolResult(NamedTuple):
    """A tool's answer to the agent."""

    text: str
    is_error: bool = False


def has_turn_tools(turn: Turn) -> bool:
    """Whether the turn offers tools: only turns in a workspace do."""
    return turn.place is not None and turn.place.workspace is not None


class TurnTools:
    """Runs the tool calls of one turn and collects its signals."""

    def __init__(self, watch: Watch) -> None:
        self.signals: tuple[SignalClaim, ...] = ()
        self.agent_connected = False  # with a token that only the agent knows
        self._watch = watch
        self._calls = 0

    async def call(self, name: str, arguments: Any) -> ToolResult:
        self._calls += 1
        if self._calls > MAX_CALLS:
            return ToolResult("That was too often for one turn.", is_error=True)
        try:
            match name:
                case "signal":
                    return await self._signal(msgspec.convert(arguments, SignalArguments))
                case "progress":
                    return await self._progress(msgspec.convert(arguments, ProgressArguments))
                case "ask":
                    return await self._ask(msgspec.convert(arguments, QuestionArguments))
                case _:
                    known = ", ".join(TOOLS)
                    return ToolResult(
                        f"There is no tool {name!r}; there are: {known}.", is_error=True
                    )
        except msgspec.ValidationError as error:
            return ToolResult(f"{name}: {error}", is_error=True)

    async def answer(self, call: ToolCall) -> Message:
        result = await self.call(call.name, call.arguments)
        return content(call.id, result.text, is_error=result.is_error)

    async def _signal(self, arguments: SignalArguments) -> ToolResult:
        signal, text = Signal(arguments.signal.lower()), one_line(arguments.text, TEXT_CHARS)
        if signal is not Signal.COMPLETE and not text:
            return ToolResult(
                f"{arguments.signal} needs a text: the reason, or the question.", is_error=True
            )
        said = SignalClaim(signal=signal, text="" if signal is Signal.COMPLETE else text)
        self.signals = (*self.signals, said)
        words = arguments.signal + (f": {said.text}" if said.text else "")
        await self._watch.saw(Item(kind="signal", text=words))
        return ToolResult("Noted. It counts when your turn ends: end it now, with a last word.")

    async def _progress(self, arguments: ProgressArguments) -> ToolResult:
        text = f"{arguments.percent}% {one_line(arguments.text, TEXT_CHARS)}"
        await self._watch.saw(Item(kind="progress", text=text))
        return ToolResult("Noted.")

    async def _ask(self, arguments: QuestionArguments) -> ToolResult:
        options = tuple(Option(label=one_line(each, 200)) for each in arguments.options)
        question = Question(text=arguments.question, options=options)
        name = f"{NAME}-{self._calls}"
        ask = Ask(id=name, kind="question", text=arguments.question, questions=(question,))
        answer = await self._watch.ask(ask)
        (words,) = answer.answers_to(1, "Decide for yourself, carefully, and say what you decided.")
        return ToolResult(words)
