"""From what an app-server notes to what happened in one turn. Pure: no I/O, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from allstop.adapters.agents.api.call_usage import Spent, counted
from allstop.adapters.agents.codex import messages
from allstop.adapters.agents.codex.items import item_of, plan_of
from allstop.adapters.agents.codex.review_usage import Guess
from allstop.adapters.agents.codex.shell_wrapper import line_of
from allstop.adapters.agents.rpc_messages import Message, RequestId, decoded
from allstop.core.moves import Item
from allstop.core.text import last_chars, one_line
from allstop.ports import Live

TEXT_CHARS = 128 * 1024
DIFF_CHARS = 64 * 1024
MOST_STRANGE = 20
USAGE = "thread/tokenUsage/updated"
BEGIN = "turn/started"
END = "turn/completed"
LIMITS = "account/rateLimits/updated"
COMPACTED = "thread/compacted"
COMPACTION = Item(kind="compaction", text="the conversation was compacted")
NOWHERE = messages.Where()


class Saw(NamedTuple):
    item: Item


class Asked(NamedTuple):
    """The server wants an answer."""

    id: RequestId
    method: str
    params: Raw


class Capped(NamedTuple):
    """It has used all the tokens it may."""


class Ended(NamedTuple):
    status: str
    error: messages.TurnError | None


Step: TypeAlias = Live | Saw | Asked | Capped | Ended

_LIVE = {
    "item/agentMessage/delta": "text",
    "item/reasoning/summaryTextDelta": "reasoning",
    "item/commandExecution/outputDelta": "output",
}
_OF_NO_USE = ("account/", "mcpServer/", "remoteControl/", "skills/", "thread/", BEGIN)
"""What these tell is known, and nothing to us."""


class Fold:
    """One turn of one conversation. What belongs to another turn is passed over."""

    def __init__(self, guess: Guess | None = None) -> None:
        """`guess`: for a turn of which nobody tells what it uses."""
        self._guess = guess
        self.total = messages.Tokens()  # of the conversation, as it was last told
        self.turn = ""  # its name, once it has one
        self.active = ""  # … and that of what runs in it, which is another in a review
        self.text = ""
        self.spent = Spent()
        self.error: messages.TurnError | None = None
        self.ended: Ended | None = None
        self.resolved: set[RequestId] = set()
        self._begun: dict[str, messages.ThreadItem] = {}
        self._strange: set[str] = set()
        self._compactions: Counter[str] = Counter()  # by how they were told
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

    def take(self, message: Message, where: messages.Where) -> tuple[Step, ...]:
        """What it means; nothing for what isn't ours."""
        if self.ended:
            return ()
        if not self._is_ours(message, where):
            self._remember(message)
            return ()
        if message.id is not None:
            return (Asked(message.id, message.method, message.params),)
        if message.method in _LIVE:
            return _delta(message)
        take = self._notes.get(message.method) or self._stranger(message.method)
        try:
            return take(message.params)
        except msgspec.DecodeError:
            return ()

    def _warned(self, params: Raw) -> tuple[Step, ...]:
        text = one_line(msgspec.json.decode(params, type=messages.Warned).message, 300)
        return (Saw(Item(kind="note", text=f"codex warns: {text}")),) if text else ()

    def _stranger(self, method: str) -> Callable[[Raw], tuple[Step, ...]]:
        """What isn't known is put on record once and passed over."""
        is_new = method not in self._strange and not method.startswith(_OF_NO_USE)
        if not is_new or method.endswith("elta") or len(self._strange) >= MOST_STRANGE:
            return lambda params: ()
        self._strange.add(method)
        text = f"codex told {one_line(method, 80)}, which is not known here"
        return lambda params: (Saw(Item(kind="note", text=text)),)

    @property
    def used(self) -> int:
        return self.spent.input + self.spent.output

    def begun(self, item_id: str) -> messages.ThreadItem | None:
        """The item as it was when it began: a file change tells its diff only there."""
        return self._begun.get(item_id)

    def _is_ours(self, message: Message, where: messages.Where) -> bool:
        turn = where.turn_id or where.turn.root_turn_id or where.turn.id
        if message.method == BEGIN:
            self.turn = self.turn or turn
            self.active = where.turn.id if turn == self.turn else self.active
        return not turn or turn == self.turn

    def _remember(self, message: Message) -> None:
        """What the conversation had used before is told, now and then, after a turn began."""
        if message.method == USAGE:
            usage = decoded(message.params, messages.UsageNote) or messages.UsageNote()
            self.total = usage.token_usage.total

    def _started(self, params: Raw) -> tuple[Step, ...]:
        item = msgspec.json.decode(params, type=messages.ItemNote).item
        self._begun[item.id] = item
        return (Live("status", one_line(line_of(item.command))),) if item.command else ()

    def _completed(self, params: Raw) -> tuple[Step, ...]:
        item = msgspec.json.decode(params, type=messages.ItemNote).item
        self._begun.pop(item.id, None)
        if item.type == "agentMessage":
            self.text = last_chars(item.text or "", TEXT_CHARS)
        if item.type == "contextCompaction":
            return self._compacted(item.type)
        seen = item_of(item)
        if seen and self._guess:
            self._guess.heard(seen)
            self.spent = self._guess.spent
        return (Saw(seen),) if seen else ()

    def _compacted(self, how: str) -> tuple[Step, ...]:
        """Older ones tell it as a note, newer ones as an item; of both it is one."""
        before = max(self._compactions.values(), default=0)
        self._compactions[how] += 1
        return (Saw(COMPACTION),) if self._compactions[how] > before else ()

    def _limits(self, params: Raw) -> tuple[Step, ...]:
        """Of the whole account, so it is only shown."""
        limits = msgspec.json.decode(params, type=messages.LimitsNote).rate_limits
        windows = [each for each in (limits.primary, limits.secondary) if each]
        return tuple(Live("limit", _window(each)) for each in windows)

    def _plan(self, params: Raw) -> tuple[Step, ...]:
        return (Saw(plan_of(msgspec.json.decode(params, type=messages.Plan))),)

    def _diff_updated(self, params: Raw) -> tuple[Step, ...]:
        self._diff = last_chars(msgspec.json.decode(params, type=messages.Diff).diff, DIFF_CHARS)
        return ()

    def _used(self, params: Raw) -> tuple[Step, ...]:
        """Told after each call of the model, and now and then again; only a new sum counts."""
        usage = msgspec.json.decode(params, type=messages.UsageNote).token_usage
        if usage.total == self.total:
            return ()
        self.total, last = usage.total, usage.last
        read = counted(last.input_tokens) or 0
        cached = min(counted(last.cached_input_tokens) or 0, read)
        self.spent = Spent(
            input=self.spent.input + read,
            cached=self.spent.cached + cached,
            written=self.spent.written
            + min(counted(last.cache_write_input_tokens) or 0, read - cached),
            output=self.spent.output + (counted(last.output_tokens) or 0),
        )
        return ()

    def _failed(self, params: Raw) -> tuple[Step, ...]:
        note = msgspec.json.decode(params, type=messages.ErrorNote)
        self.error = note.error
        return (Live("retry", note.error.message),) if note.will_retry else ()

    def _resolved(self, params: Raw) -> tuple[Step, ...]:
        self.resolved.add(msgspec.json.decode(params, type=messages.Resolved).request_id)
        return ()

    def _end(self, params: Raw) -> tuple[Step, ...]:
        end = decoded(params, messages.TurnEnd)
        turn = end.turn if end else messages.EndedTurn()  # an end is one, however it is worded
        self.ended = Ended(turn.status, turn.error or self.error)
        diff = (Saw(Item(kind="diff", text=self._diff)),) if self._diff else ()
        return (*diff, self.ended)


def _window(window: messages.Window) -> str:
    minutes = window.window_duration_mins
    of = f" of {minutes:,} minutes" if minutes else ""
    return f"{window.used_percent:.0f} %{of} used"


def _delta(message: Message) -> tuple[Step, ...]:
    note = decoded(message.params, messages.Delta)
    return (Live(_LIVE[message.method], note.delta),) if note and note.delta else ()
