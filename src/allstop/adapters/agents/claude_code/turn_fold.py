"""From the messages of one turn to what happens in it. Knows no process and no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from allstop.adapters.agents.api.call_usage import capped
from allstop.adapters.agents.claude_code import items, todo_list, turn_end
from allstop.adapters.agents.claude_code.messages import (
    Answer,
    Assistant,
    Block,
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Delta,
    Event,
    Lifecycle,
    Message,
    RateLimit,
    RateLimitEvent,
    Result,
    Session,
    StreamEvent,
    System,
    ToolProgress,
    Unreadable,
    User,
    read,
)
from allstop.adapters.agents.claude_code.todo_list import Plan
from allstop.adapters.agents.output_lines import Line, TooLong
from allstop.adapters.agents.reset_times import Moment
from allstop.core.json_stream import MessageExtractor
from allstop.core.moves import Failed, FailureKind, Item, TurnDone, Usage
from allstop.ports import Live

TOOLS_AT_MOST = 1000
MCP = "mcp_message"
HOOK = "hook_callback"
_UNHEARD = ("cancelled", "discarded", "refused")
_NEEDED = (b'"type":"result"', b'"type":"control_request"')


class Dropped(NamedTuple):
    """It no longer waits for this answer."""

    request_id: str


class Unknown(NamedTuple):
    """It asks for something nobody here knows."""

    request_id: str
    what: str


class TakenUp(NamedTuple):
    """What it was told under this name is part of the conversation from now on."""

    name: str


class Untold(NamedTuple):
    """It will not hear what it was told under this name."""

    name: str


class GivenUp(NamedTuple):
    """It would go on, but must not; what it used is not yet known."""

    failed: Failed


When: TypeAlias = Callable[[], Moment]
"""Asked only where it matters: few messages tell of a time."""

End: TypeAlias = TurnDone | Failed
Happening: TypeAlias = (
    Live | Item | ControlRequest | Dropped | Unknown | Answer | TakenUp | Untold | GivenUp | End
)


class Telling:
    """One turn. `before` is what the conversation had used when it began."""

    def __init__(
        self, thread: str, max_tokens: int | None = None, plan: Plan | None = None
    ) -> None:
        """`plan`: as far as it is known from turns before."""
        self.before = Session()
        self.is_lost = False  # the conversation it was to go on with isn't there
        self.used = Usage()  # as far as that is known
        self.told: set[str] = set()  # in the middle of the turn, and not yet taken up
        self._thread = thread
        self._max_tokens = max_tokens
        self._tools: dict[str, Block] = {}
        self._plan = plan or Plan()
        self._words: MessageExtractor | None = None
        self._told: Assistant | None = None
        self._limit: RateLimit | None = None
        self._refusal = ""
        self._nonsense = 0
        self._early: TurnDone | None = None  # an end, but something it was told is still to come

    def feed(self, line: Line, at: When) -> Iterator[Happening]:
        if isinstance(line, TooLong):
            yield from self._too_long(line)
        elif (message := read(line)) is not None:
            yield from self._message(message, at)

    def _message(  # noqa: C901 - one case for each kind
        self, message: Message, at: When
    ) -> Iterator[Happening]:
        match message:
            case StreamEvent():
                yield from self._event(message)
            case Assistant():
                yield from self._said(message)
            case User():
                yield from self._came(message)
            case System():
                yield from self._system(message, at)
            case ToolProgress(tool_name=name, elapsed_time_seconds=seconds):
                yield Live("status", f"{name} {seconds:.0f} s")
            case Result():
                yield from self._result(message, at)
            case Lifecycle(command_uuid=name, state=state):
                yield from self._became(name, state)
            case ControlRequest(request_id=id_, request=request):
                known = request.subtype in ("can_use_tool", MCP, HOOK)
                yield message if known else Unknown(id_, request.subtype)
            case ControlCancel(request_id=id_):
                yield Dropped(id_)
            case ControlResponse(response=answer):
                yield answer
            case RateLimitEvent(rate_limit_info=limit):
                yield from self._rate(limit)
            case Unreadable(line=words):
                yield from self._makes_no_sense(words)

    def _event(self, message: StreamEvent) -> Iterator[Happening]:
        event = message.event
        self._count(event)
        if self._is_capped(message):
            yield GivenUp(capped(self.used, self._max_tokens or 0))
        if message.parent_tool_use_id is not None:
            return
        if event.content_block is not None:
            is_reply = event.content_block.name == items.REPLY_TOOL
            self._words = MessageExtractor() if is_reply else None
        if event.delta is not None:
            yield from self._delta(event.delta)

    def _delta(self, delta: Delta) -> Iterator[Happening]:
        """Whatever it is, it is a sign of life."""
        if delta.text:
            yield Live("text", delta.text)
        elif delta.thinking:
            yield Live("reasoning", delta.thinking)
        elif delta.partial_json and self._words is None:
            yield Live("input", delta.partial_json)
        elif self._words and (shown := self._words.feed(delta.partial_json)):
            yield Live("text", shown)

    def _count(self, event: Event) -> None:
        """Each call tells at its end what it used; the result tells it better."""
        if event.type != "message_delta" or (tokens := event.usage) is None:
            return
        cached = tokens.cache_read_input_tokens or 0
        fresh = (tokens.input_tokens or 0) + (tokens.cache_creation_input_tokens or 0)
        self.used = Usage(
            input=self.used.input + fresh + cached,
            cached=self.used.cached + cached,
            output=self.used.output + (tokens.output_tokens or 0),
        )

    def _is_capped(self, message: StreamEvent) -> bool:
        """Whether it would call its model again, and must not."""
        event = message.event
        if event.type != "message_delta" or self._max_tokens is None:
            return False
        stops = event.delta is not None and event.delta.stop_reason == "end_turn"
        is_last = stops and message.parent_tool_use_id is None and not self.told
        return self.used.tokens >= self._max_tokens and not is_last

    def _said(self, message: Assistant) -> Iterator[Happening]:
        if message.error:
            self._told = message
            return
        for block in message.message.blocks:
            if block.type == "tool_use":
                yield from self._uses(block)
            if block.type == "text" and block.text and message.parent_tool_use_id is None:
                yield items.message(block.text)

    def _uses(self, block: Block) -> Iterator[Happening]:
        if len(self._tools) < TOOLS_AT_MOST:
            self._tools[block.id] = block
        if block.name != items.REPLY_TOOL:
            yield Live("status", items.begun(block))

    def _came(self, message: User) -> Iterator[Happening]:
        for block in message.message.blocks:
            used = self._tools.pop(block.tool_use_id, None)
            if block.type == "tool_result" and used and (item := self._done(used, block)):
                yield item

    def _done(self, used: Block, came: Block) -> Item | None:
        if used.name in todo_list.TOOLS and not came.is_error:
            return Item(kind="plan", text=self._plan.take(used, items.words(came.content)))
        return items.done(used, came)

    def _system(self, message: System, at: When) -> Iterator[Happening]:
        match message.subtype:
            case "api_retry":
                delay_ms = message.retry_delay_ms or 0.0
                status, error = message.error_status, message.error
                if failed := turn_end.limited(status, error, delay_ms, at()):
                    yield GivenUp(failed)
                else:
                    why = f"{status or 'no answer'} {error}"
                    yield items.notice(f"asks again in {delay_ms / 1000:.1f} s: {why}")
            case "task_started" | "task_progress":
                yield Live("status", message.description or "")
            case "permission_denied":
                yield items.notice(f"denied: {message.tool_name}: {message.message}")
            case "model_refusal_no_fallback":
                self._refusal = message.api_refusal_explanation or ""
            case "compact_boundary":
                yield items.COMPACTION
            case "model_fallback" | "informational":
                words = message.content or message.message or ""
                yield items.notice(f"{message.subtype.replace('_', ' ')}: {words}")
            case _:
                pass

    def _rate(self, limit: RateLimit) -> Iterator[Happening]:
        if limit.status == "rejected":
            self._limit = limit
        if limit.status not in ("", "allowed"):
            yield items.notice(f"limit {limit.rate_limit_type or ''}: {limit.status}")

    def _result(self, result: Result, at: When) -> Iterator[Happening]:
        """What it is told too late for what it does, it takes up right after that."""
        end = self._end(result, at)
        if self.told and isinstance(end, TurnDone):
            self._early = end
        else:
            yield end

    def _became(self, name: str, state: str) -> Iterator[Happening]:
        if state == "started":
            self.told.discard(name)
            self._early = None
            yield TakenUp(name)
        elif state in _UNHEARD and name in self.told:
            self.told.discard(name)
            yield Untold(name)
            if self._early is not None and not self.told:
                yield self._early

    def _end(self, result: Result, at: When) -> End:
        self.used = turn_end.usage(result, self.before)
        self.is_lost = turn_end.is_lost(result)
        failed = turn_end.failure(result, self._told, self._limit, self._refusal, at())
        if failed is not None:
            return replace(failed, usage=self.used)
        return TurnDone(text=turn_end.reply(result), thread=self._thread, usage=self.used)

    def _too_long(self, line: TooLong) -> Iterator[Happening]:
        """Whether it matters can still be seen: what others wrote stands there escaped."""
        told = f"a line of {line.size:,} bytes was thrown away"
        if any(mark in line.head or mark in line.tail for mark in _NEEDED):
            yield Failed(kind=FailureKind.CRASHED, message=told, usage=self.used)
        else:
            yield items.notice(told)

    def _makes_no_sense(self, words: str) -> Iterator[Happening]:
        self._nonsense += 1
        if self._nonsense <= 10:
            yield items.notice(f"a line that makes no sense: {words}")
