"""What an app-server says, as far as it is looked at; everything else in it is passed over."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from allstop.adapters.agents.rpc_messages import RequestId


class _Told(Struct, frozen=True, rename="camel"):
    pass


class Named(_Told, frozen=True):
    id: str = ""


class TurnName(_Told, frozen=True):
    id: str = ""
    root_turn_id: str | None = None  # of a review: the turn that it is part of


class Where(_Told, frozen=True):
    """Which conversation, and which turn of it, something belongs to."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    turn: TurnName = TurnName()


class FileChange(_Told, frozen=True):
    path: str = ""
    diff: str = ""


class ThreadItem(_Told, frozen=True):
    """Something said or done, of any type."""

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


class ItemNote(_Told, frozen=True):
    item: ThreadItem


class Delta(_Told, frozen=True):
    delta: str = ""


class PlanStep(_Told, frozen=True):
    step: str = ""
    status: str = ""


class Plan(_Told, frozen=True):
    plan: tuple[PlanStep, ...] = ()


class Diff(_Told, frozen=True):
    diff: str = ""


class Tokens(_Told, frozen=True):
    input_tokens: int = 0  # the cached ones among them
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class TokenUsage(_Told, frozen=True):
    last: Tokens = Tokens()  # of one call of the model
    total: Tokens = Tokens()  # of all in this conversation


class UsageNote(_Told, frozen=True):
    token_usage: TokenUsage = TokenUsage()


class Warned(_Told, frozen=True):
    message: str = ""


class TurnError(_Told, frozen=True):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class ErrorNote(_Told, frozen=True):
    error: TurnError = TurnError()
    will_retry: bool = False


class EndedTurn(_Told, frozen=True):
    status: str = ""
    error: TurnError | None = None


class TurnEnd(_Told, frozen=True):
    turn: EndedTurn


class Window(_Told, frozen=True):
    used_percent: float = 0
    resets_at: int | None = None
    window_duration_mins: int | None = None


class RateLimits(_Told, frozen=True):
    primary: Window | None = None
    secondary: Window | None = None


class LimitsNote(_Told, frozen=True):
    rate_limits: RateLimits = RateLimits()


class Resolved(_Told, frozen=True):
    request_id: RequestId = 0


class Option(_Told, frozen=True):
    label: str = ""
    description: str = ""


class Question(_Told, frozen=True):
    id: str = ""
    question: str = ""
    options: tuple[Option, ...] | None = None


class Approval(_Told, frozen=True):
    """What is asked with any of the requests that people can answer."""

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


class ToolCall(_Told, frozen=True):
    tool: str = ""
    arguments: Any = None


class Opened(_Told, frozen=True):
    thread: Named = Named()
    cwd: str = ""
    model: str = ""


class Started(_Told, frozen=True):
    turn: Named
