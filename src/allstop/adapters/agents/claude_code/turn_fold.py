"""Folds Claude Code's messages into the events of one turn. Pure: no I/O, no clock."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from allstop.adapters.agents.account_windows import window_of_claim
from allstop.adapters.agents.api.call_usage import capped_turn
from allstop.adapters.agents.claude_code import items, messages, todo_list, turn_end
from allstop.adapters.agents.claude_code.todo_list import Plan
from allstop.adapters.agents.output_lines import Line, OversizedLine
from allstop.adapters.agents.reset_times import LocalTime
from allstop.core.json_stream import MessageExtractor
from allstop.core.moves import Failed, FailureKind, Item, TurnDone, Usage
from allstop.ports import Live

MAX_TOOLS = 1000
MCP = "mcp_message"
HOOK = "hook_callback"
_REJECTED_STATES = ("cancelled", "discarded", "refused")
_REQUIRED_TYPES = (b'"type":"result"', b'"type":"control_request"')


class Withdrawn(NamedTuple):
    """Claude Code doesn't need this answer any more."""

    request_id: str


class UnknownRequest(NamedTuple):
    """A control request that this driver doesn't know."""

    request_id: str
    what: str


class Accepted(NamedTuple):
    """Claude Code took the message up into the conversation."""

    name: str


class Rejected(NamedTuple):
    """Claude Code dropped the message."""

    name: str


class Aborted(NamedTuple):
    """The driver must end the turn early; its final usage is not yet known."""

    failed: Failed


ClockReader: TypeAlias = Callable[[], LocalTime]
"""Called only if needed: few messages contain a time."""

End: TypeAlias = TurnDone | Failed
TurnEvent: TypeAlias = (
    Live
    | Item
    | messages.ControlRequest
    | Withdrawn
    | UnknownRequest
    | messages.Answer
    | Accepted
    | Rejected
    | Aborted
    | End
)


class TurnFold:
    """The state of one turn; `before` is the conversation's usage at its start."""

    def __init__(
        self, thread: str, max_tokens: int | None = None, plan: Plan | None = None
    ) -> None:
        """`plan`: as known from earlier turns."""
        self.before = messages.Session()
        self.is_lost = False  # Claude Code didn't find the conversation to resume
        self.used = Usage()  # as far as known
        self.context = 0  # tokens of the conversation after the last call
        self.has_compacted = False
        self.unconfirmed: set[str] = set()  # messages sent during the turn, not yet accepted
        self._thread = thread
        self._max_tokens = max_tokens
        self._tools: dict[str, messages.Block] = {}
        self._plan = plan or Plan()
        self._reply_words: MessageExtractor | None = None
        self._error_message: messages.Assistant | None = None
        self._limit: messages.RateLimit | None = None
        self._refusal = ""
        self._unreadable_lines = 0
        # an end that counts only if no message is accepted after it
        self._provisional_end: TurnDone | None = None

    def feed(self, line: Line, at: ClockReader) -> Iterator[TurnEvent]:
        if isinstance(line, OversizedLine):
            yield from self._too_long(line)
        elif (message := messages.read(line)) is not None:
            yield from self._message(message, at)

    def _message(  # noqa: C901 - one case for each kind
        self, message: messages.Message, at: ClockReader
    ) -> Iterator[TurnEvent]:
        match message:
            case messages.StreamEvent():
                yield from self._event(message)
            case messages.Assistant():
                yield from self._assistant(message)
            case messages.User():
                yield from self._tool_results(message)
            case messages.System():
                yield from self._system(message, at)
            case messages.ToolProgress(tool_name=name, elapsed_time_seconds=seconds):
                yield Live("status", f"{name} {seconds:.0f} s")
            case messages.Result():
                yield from self._result(message, at)
            case messages.Lifecycle(command_uuid=name, state=state):
                yield from self._message_state(name, state)
            case messages.ControlRequest(request_id=id_, request=request):
                known = request.subtype in ("can_use_tool", MCP, HOOK)
                yield message if known else UnknownRequest(id_, request.subtype)
            case messages.ControlCancel(request_id=id_):
                yield Withdrawn(id_)
            case messages.ControlResponse(response=answer):
                yield answer
            case messages.RateLimitEvent(rate_limit_info=limit):
                yield from self._rate(limit)
            case messages.Unreadable(line=words):
                yield from self._unreadable(words)

    def _event(self, message: messages.StreamEvent) -> Iterator[TurnEvent]:
        event = message.event
        self._count(event, is_own=message.parent_tool_use_id is None)
        if self._is_capped(message):
            yield Aborted(capped_turn(self.used, self._max_tokens or 0))
        if message.parent_tool_use_id is not None:
            return
        if event.content_block is not None:
            is_reply = event.content_block.name == items.REPLY_TOOL
            self._reply_words = MessageExtractor() if is_reply else None
        if event.delta is not None:
            yield from self._delta(event.delta)

    def _delta(self, delta: messages.Delta) -> Iterator[TurnEvent]:
        """Show every delta, as a sign of life."""
        if delta.text:
            yield Live("text", delta.text)
        elif delta.thinking:
            yield Live("reasoning", delta.thinking)
        elif delta.partial_json and self._reply_words is None:
            yield Live("input", delta.partial_json)
        elif self._reply_words and (shown := self._reply_words.feed(delta.partial_json)):
            yield Live("text", shown)

    def _count(self, event: messages.Event, *, is_own: bool) -> None:
        """Add a call's usage, until the result reports it more exactly.

        `is_own`: the call is of this conversation, not of a subagent's.
        """
        if event.type != "message_delta" or (tokens := event.usage) is None:
            return
        cached = tokens.cache_read_input_tokens or 0
        fresh = (tokens.input_tokens or 0) + (tokens.cache_creation_input_tokens or 0)
        if is_own:
            self.context = fresh + cached + (tokens.output_tokens or 0)
        self.used = Usage(
            input=self.used.input + fresh + cached,
            cached=self.used.cached + cached,
            output=self.used.output + (tokens.output_tokens or 0),
        )

    def _is_capped(self, message: messages.StreamEvent) -> bool:
        """Whether the turn is at its token cap and would call the model again."""
        event = message.event
        if event.type != "message_delta" or self._max_tokens is None:
            return False
        stops = event.delta is not None and event.delta.stop_reason == "end_turn"
        is_last = stops and message.parent_tool_use_id is None and not self.unconfirmed
        return self.used.tokens >= self._max_tokens and not is_last

    def _assistant(self, message: messages.Assistant) -> Iterator[TurnEvent]:
        if message.error:
            self._error_message = message
            return
        for block in message.message.blocks:
            if block.type == "tool_use":
                yield from self._tool_started(block)
            if block.type == "text" and block.text and message.parent_tool_use_id is None:
                yield items.message(block.text)

    def _tool_started(self, block: messages.Block) -> Iterator[TurnEvent]:
        if len(self._tools) < MAX_TOOLS:
            self._tools[block.id] = block
        if block.name != items.REPLY_TOOL:
            yield Live("status", items.describe_call(block))

    def _tool_results(self, message: messages.User) -> Iterator[TurnEvent]:
        for block in message.message.blocks:
            call = self._tools.pop(block.tool_use_id, None)
            if block.type == "tool_result" and call and (item := self._tool_item(call, block)):
                yield item

    def _tool_item(self, call: messages.Block, result: messages.Block) -> Item | None:
        if call.name in todo_list.TOOLS and not result.is_error:
            return Item(
                kind="plan", text=self._plan.apply(call, items.content_text(result.content))
            )
        return items.tool_item(call, result)

    def _system(self, message: messages.System, at: ClockReader) -> Iterator[TurnEvent]:
        match message.subtype:
            case "api_retry":
                delay_ms = message.retry_delay_ms or 0.0
                status, error = message.error_status, message.error
                if failed := turn_end.account_limit(status, error, delay_ms, at()):
                    yield Aborted(failed)
                else:
                    why = f"{status} {error}" if status else "the model didn't answer"
                    yield items.notice(f"Claude Code retries in {delay_ms / 1000:.1f} s: {why}")
            case "task_started" | "task_progress":
                yield Live("status", message.description or "")
            case "permission_denied":
                yield items.notice(f"denied: {message.tool_name}: {message.message}")
            case "model_refusal_no_fallback":
                self._refusal = message.api_refusal_explanation or ""
            case "compact_boundary":
                self.has_compacted = True
                self.context = message.compact_metadata.post_tokens or 0
                yield items.COMPACTION
            case "model_fallback" | "informational":
                words = message.content or message.message or ""
                yield items.notice(f"{message.subtype.replace('_', ' ')}: {words}")
            case _:
                pass

    def _rate(self, limit: messages.RateLimit) -> Iterator[TurnEvent]:
        if limit.status == "rejected":
            self._limit = limit
        window = window_of_claim(
            limit.rate_limit_type or "",
            rejected=limit.status == "rejected",
            used=limit.utilization,
            resets_at=limit.resets_at,
        )
        if window is not None:
            yield Live("limit", "", (window,))
        if limit.status not in ("", "allowed"):
            yield items.notice(f"limit {limit.rate_limit_type or ''}: {limit.status}")

    def _result(self, result: messages.Result, at: ClockReader) -> Iterator[TurnEvent]:
        """A message that arrives after the last call is taken up after this result."""
        end = self._end(result, at)
        if self.unconfirmed and isinstance(end, TurnDone):
            self._provisional_end = end
        else:
            yield end

    def _message_state(self, name: str, state: str) -> Iterator[TurnEvent]:
        if state == "started":
            self.unconfirmed.discard(name)
            self._provisional_end = None
            yield Accepted(name)
        elif state in _REJECTED_STATES and name in self.unconfirmed:
            self.unconfirmed.discard(name)
            yield Rejected(name)
            if self._provisional_end is not None and not self.unconfirmed:
                yield self._provisional_end

    def _end(self, result: messages.Result, at: ClockReader) -> End:
        self.used = turn_end.usage(result, self.before)
        self.is_lost = turn_end.is_lost(result)
        failed = turn_end.failure(result, self._error_message, self._limit, self._refusal, at())
        if failed is not None:
            return replace(failed, usage=self.used)
        return TurnDone(
            text=turn_end.reply(result),
            thread=self._thread,
            usage=self.used,
            context=self.context,
        )

    def _too_long(self, line: OversizedLine) -> Iterator[TurnEvent]:
        """Fail if the line was a required message; quoted text is escaped, so it can't match."""
        message = f"a line of {line.size:,} bytes was too long to read"
        if any(mark in line.head or mark in line.tail for mark in _REQUIRED_TYPES):
            yield Failed(kind=FailureKind.CRASHED, message=message, usage=self.used)
        else:
            yield items.notice(message)

    def _unreadable(self, words: str) -> Iterator[TurnEvent]:
        self._unreadable_lines += 1
        if self._unreadable_lines <= 10:
            yield items.notice(f"unreadable line: {words}")
