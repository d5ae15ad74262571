"""Folds codex's notifications into the steps of one turn. Pure: no I/O, no clock."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from allstop.adapters.agents.account_windows import window_of_span
from allstop.adapters.agents.api.call_usage import TokenCounts
from allstop.adapters.agents.codex import messages
from allstop.adapters.agents.codex.error_kinds import is_account_limit
from allstop.adapters.agents.codex.items import plan_item, to_item
from allstop.adapters.agents.codex.review_usage import ReviewUsage
from allstop.adapters.agents.codex.shell_wrapper import unwrap
from allstop.adapters.agents.rpc_peer import Message, RequestId, decoded
from allstop.core.accounts import Window
from allstop.core.moves import Item
from allstop.core.text import last_chars, one_line
from allstop.metering.usage import as_count
from allstop.ports import Live

TEXT_CHARS = 128 * 1024
DIFF_CHARS = 64 * 1024
MAX_UNKNOWN = 20
USAGE = "thread/tokenUsage/updated"
BEGIN = "turn/started"
END = "turn/completed"
LIMITS = "account/rateLimits/updated"
COMPACTED = "thread/compacted"
COMPACTION = Item(kind="compaction", text="the conversation was compacted")
NO_LOCATION = messages.Location()


class NewItem(NamedTuple):
    item: Item


class ServerRequest(NamedTuple):
    """A request of the server that needs an answer."""

    id: RequestId
    method: str
    params: Raw


class CapReached(NamedTuple):
    """The turn has used all of its tokens."""


class AccountLimited(NamedTuple):
    """codex waits for its provider; the turn ends, so that the account can be held."""

    error: messages.TurnError


class Ended(NamedTuple):
    status: str
    error: messages.TurnError | None


Step: TypeAlias = Live | NewItem | ServerRequest | CapReached | AccountLimited | Ended

_LIVE = {
    "item/agentMessage/delta": "text",
    "item/reasoning/summaryTextDelta": "reasoning",
    "item/commandExecution/outputDelta": "output",
}
_IGNORED = ("account/", "mcpServer/", "remoteControl/", "skills/", "thread/", BEGIN)
"""Known notifications that this driver doesn't need."""


class TurnFold:
    """The state of one turn; messages of other turns are ignored."""

    def __init__(self, review_usage: ReviewUsage | None = None) -> None:
        """`review_usage`: estimates the tokens of a turn that codex doesn't report."""
        self._review_usage = review_usage
        self.total = messages.Tokens()  # tokens of the conversation, as last reported
        self.turn = ""  # its id, once known
        self.active = ""  # the id of the running turn, which differs in a review
        self.text = ""
        self.used = TokenCounts()
        self.context = 0  # tokens of the conversation after the last call
        self.error: messages.TurnError | None = None
        self.ended: Ended | None = None
        self.resolved: set[RequestId] = set()
        self._started_items: dict[str, messages.ThreadItem] = {}
        self._unknown: set[str] = set()
        self._compactions: Counter[str] = Counter()  # by type of notification
        self._diff = ""
        self._notes: Mapping[str, Callable[[Raw], tuple[Step, ...]]] = {
            "item/started": self._started,
            "item/completed": self._completed,
            "turn/plan/updated": self._plan,
            "turn/diff/updated": self._diff_updated,
            USAGE: self._used,
            "error": self._failed,
            "warning": self._warned,
            "serverRequest/resolved": self._resolved,
            COMPACTED: lambda _: self._compacted(COMPACTED),
            LIMITS: self._limits,
            END: self._end,
        }

    def add(self, message: Message, where: messages.Location) -> tuple[Step, ...]:
        """The steps that follow from a message; none for messages of other turns."""
        if self.ended:
            return ()
        if not self._is_of_this_turn(message, where):
            self._remember_total(message)
            return ()
        if message.id is not None:
            return (ServerRequest(message.id, message.method, message.params),)
        if message.method in _LIVE:
            return _delta(message)
        take = self._notes.get(message.method) or self._note_unknown(message.method)
        try:
            return take(message.params)
        except msgspec.DecodeError:
            return ()

    def _warned(self, params: Raw) -> tuple[Step, ...]:
        text = one_line(msgspec.json.decode(params, type=messages.WarningNote).message, 300)
        return (NewItem(Item(kind="note", text=f"codex warns: {text}")),) if text else ()

    def _note_unknown(self, method: str) -> Callable[[Raw], tuple[Step, ...]]:
        """Note an unknown notification once, then ignore it."""
        is_new = method not in self._unknown and not method.startswith(_IGNORED)
        if not is_new or method.endswith("elta") or len(self._unknown) >= MAX_UNKNOWN:
            return lambda params: ()
        self._unknown.add(method)
        text = f"codex sent an unknown notification: {one_line(method, 80)}"
        return lambda params: (NewItem(Item(kind="note", text=text)),)

    @property
    def has_compacted(self) -> bool:
        return bool(self._compactions)

    @property
    def tokens(self) -> int:
        return self.used.input + self.used.output

    def started_item(self, item_id: str) -> messages.ThreadItem | None:
        """The item at its start: only then does a file change contain its diff."""
        return self._started_items.get(item_id)

    def _is_of_this_turn(self, message: Message, where: messages.Location) -> bool:
        turn = where.turn_id or where.turn.root_turn_id or where.turn.id
        if message.method == BEGIN:
            self.turn = self.turn or turn
            self.active = where.turn.id if turn == self.turn else self.active
        return not turn or turn == self.turn

    def _remember_total(self, message: Message) -> None:
        """Keep the earlier total, which codex sometimes reports after a turn's start."""
        if message.method == USAGE:
            usage = decoded(message.params, messages.UsageNote) or messages.UsageNote()
            self.total = usage.token_usage.total

    def _started(self, params: Raw) -> tuple[Step, ...]:
        item = msgspec.json.decode(params, type=messages.ItemNote).item
        self._started_items[item.id] = item
        return (Live("status", one_line(unwrap(item.command))),) if item.command else ()

    def _completed(self, params: Raw) -> tuple[Step, ...]:
        item = msgspec.json.decode(params, type=messages.ItemNote).item
        self._started_items.pop(item.id, None)
        if item.type == "agentMessage":
            self.text = last_chars(item.text or "", TEXT_CHARS)
        if item.type == "contextCompaction":
            return self._compacted(item.type)
        seen = to_item(item)
        if seen and self._review_usage:
            self._review_usage.add(seen)
            self.used = self._review_usage.counts
        return (NewItem(seen),) if seen else ()

    def _compacted(self, how: str) -> tuple[Step, ...]:
        """Count once: older versions send a notification, newer ones an item, some both."""
        before = max(self._compactions.values(), default=0)
        self._compactions[how] += 1
        return (NewItem(COMPACTION),) if self._compactions[how] > before else ()

    def _limits(self, params: Raw) -> tuple[Step, ...]:
        """The windows of the whole account."""
        limits = msgspec.json.decode(params, type=messages.LimitsNote).rate_limits
        windows = [each for each in (limits.primary, limits.secondary) if each]
        return tuple(Live("limit", _window(each), (_account_window(each),)) for each in windows)

    def _plan(self, params: Raw) -> tuple[Step, ...]:
        return (NewItem(plan_item(msgspec.json.decode(params, type=messages.Plan))),)

    def _diff_updated(self, params: Raw) -> tuple[Step, ...]:
        self._diff = last_chars(msgspec.json.decode(params, type=messages.Diff).diff, DIFF_CHARS)
        return ()

    def _used(self, params: Raw) -> tuple[Step, ...]:
        """Add a call's tokens; codex repeats reports, so only a changed total counts."""
        usage = msgspec.json.decode(params, type=messages.UsageNote).token_usage
        self.context = as_count(usage.last.total_tokens) or self.context
        if usage.total == self.total:
            return ()
        self.total, last = usage.total, usage.last
        total_input = as_count(last.input_tokens) or 0
        cached = min(as_count(last.cached_input_tokens) or 0, total_input)
        self.used = TokenCounts(
            input=self.used.input + total_input,
            cached=self.used.cached + cached,
            written=self.used.written
            + min(as_count(last.cache_write_input_tokens) or 0, total_input - cached),
            output=self.used.output + (as_count(last.output_tokens) or 0),
        )
        return ()

    def _failed(self, params: Raw) -> tuple[Step, ...]:
        note = msgspec.json.decode(params, type=messages.ErrorNote)
        self.error = note.error
        if not note.will_retry:
            return ()
        if not is_account_limit(note.error):
            return (Live("retry", note.error.message),)
        text = f"codex waits for its provider: {one_line(note.error.message, 300)}"
        return (NewItem(Item(kind="note", text=text)), AccountLimited(note.error))

    def _resolved(self, params: Raw) -> tuple[Step, ...]:
        self.resolved.add(msgspec.json.decode(params, type=messages.Resolved).request_id)
        return ()

    def _end(self, params: Raw) -> tuple[Step, ...]:
        end = decoded(params, messages.TurnEnd)
        turn = end.turn if end else messages.EndedTurn()  # an unreadable end still ends the turn
        self.ended = Ended(turn.status, turn.error or self.error)
        diff = (NewItem(Item(kind="diff", text=self._diff)),) if self._diff else ()
        return (*diff, self.ended)


def _window(window: messages.Window) -> str:
    minutes = window.window_duration_mins
    of = f" of {minutes:,} minutes" if minutes else ""
    return f"{window.used_percent:.0f} %{of} used"


def _account_window(window: messages.Window) -> Window:
    span_s = 60.0 * window.window_duration_mins if window.window_duration_mins else None
    return window_of_span(window.used_percent, span_s, window.resets_at)


def _delta(message: Message) -> tuple[Step, ...]:
    note = decoded(message.params, messages.Delta)
    return (Live(_LIVE[message.method], note.delta),) if note and note.delta else ()
