"""The messages of codex's app-server; only the fields that this driver reads."""

from typing import Any

from msgspec import Struct

from allstop.adapters.agents.rpc_peer import RequestId


class _Message(Struct, frozen=True, rename="camel"):
    pass


class ThreadOrTurn(_Message, frozen=True):
    id: str = ""


class TurnName(_Message, frozen=True):
    id: str = ""
    root_turn_id: str | None = None  # for a review: the turn that contains it


class Location(_Message, frozen=True):
    """The conversation, turn and item that a message belongs to."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    turn: TurnName = TurnName()


class FileChange(_Message, frozen=True):
    path: str = ""
    diff: str = ""


class ThreadItem(_Message, frozen=True):
    """An item of a conversation, of any type."""

    type: str = ""
    id: str = ""
    text: str | None = None
    command: str | None = None
    status: Any = None
    exit_code: int | None = None
    aggregated_output: str | None = None
    changes: tuple[FileChange, ...] = ()
    summary: tuple[str, ...] = ()
    review: str | None = None
    server: str | None = None
    tool: str | None = None
    query: str | None = None


class ItemNote(_Message, frozen=True):
    item: ThreadItem


class Delta(_Message, frozen=True):
    delta: str = ""


class PlanStep(_Message, frozen=True):
    step: str = ""
    status: str = ""


class Plan(_Message, frozen=True):
    plan: tuple[PlanStep, ...] = ()


class Diff(_Message, frozen=True):
    diff: str = ""


class Tokens(_Message, frozen=True):
    total_tokens: int = 0  # for the last call: the size of the conversation
    input_tokens: int = 0  # includes the cached ones
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class TokenUsage(_Message, frozen=True):
    last: Tokens = Tokens()  # one call of the model
    total: Tokens = Tokens()  # all calls in this conversation


class UsageNote(_Message, frozen=True):
    token_usage: TokenUsage = TokenUsage()


class WarningNote(_Message, frozen=True):
    message: str = ""


class TurnError(_Message, frozen=True):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class ErrorNote(_Message, frozen=True):
    error: TurnError = TurnError()
    will_retry: bool = False


class EndedTurn(_Message, frozen=True):
    status: str = ""
    error: TurnError | None = None


class TurnEnd(_Message, frozen=True):
    turn: EndedTurn


class Window(_Message, frozen=True):
    used_percent: float = 0
    resets_at: int | None = None
    window_duration_mins: int | None = None


class RateLimits(_Message, frozen=True):
    primary: Window | None = None
    secondary: Window | None = None


class LimitsNote(_Message, frozen=True):
    rate_limits: RateLimits = RateLimits()


class Resolved(_Message, frozen=True):
    request_id: RequestId = 0


class Option(_Message, frozen=True):
    label: str = ""
    description: str = ""


class Question(_Message, frozen=True):
    id: str = ""
    question: str = ""
    options: tuple[Option, ...] | None = None


class Approval(_Message, frozen=True):
    """The parameters of all requests that people can answer."""

    item_id: str = ""
    approval_id: str | None = None
    kind: str = "command"
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    grant_root: str | None = None
    network_approval_context: Any = None
    additional_permissions: Any = None
    questions: tuple[Question, ...] = ()


class ToolCall(_Message, frozen=True):
    tool: str = ""
    arguments: Any = None


class OpenThread(_Message, frozen=True):
    thread: ThreadOrTurn = ThreadOrTurn()
    cwd: str = ""
    model: str = ""


class StartedTurn(_Message, frozen=True):
    turn: ThreadOrTurn = ThreadOrTurn()  # a compaction's is in its first notification
