"""Settings of limits: [retry] [budget] [limits] [prices]."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from allstop.core.brakes import AtLimit
from allstop.settings.model.bases import (
    Count,
    Dollars,
    Milliseconds,
    Minutes,
    Price,
    Quantity,
    Share,
    Table,
    doc,
)


class ErrorStrategy(StrEnum):
    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"


class Retry(Table, frozen=True, kw_only=True):
    error_strategy: Annotated[
        ErrorStrategy, doc("Action after a step of a plan fails in autopilot.")
    ] = ErrorStrategy.RETRY
    max_retries: Annotated[Quantity, doc("Maximum retries of a failed step.")] = 2
    base_ms: Annotated[Milliseconds, doc("Milliseconds before the first retry.")] = 2_000
    factor: Annotated[
        float, doc("Factor by which each wait is longer than the one before.", ge=1, le=100)
    ] = 2
    jitter: Annotated[Share, doc("Random share added to a wait.")] = 0.1
    rate_limit_patterns: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        doc("Additional regular expressions that recognize a rate limit in an error's text."),
    ] = ()
    max_rate_limit_retries: Annotated[
        Quantity, doc("Retries of a rate-limited agent before its fallback is used.")
    ] = 3
    max_rate_limit_hours: Annotated[
        float,
        doc(
            "Hours to keep retrying a rate-limited agent that names no reset time.", ge=0, le=8_760
        ),
    ] = 24
    step_delay_ms: Annotated[
        Milliseconds,
        doc("Milliseconds between two steps of a plan."),
    ] = 500
    recover_primary: Annotated[
        bool, doc("Take the first agent back between steps once its limit is over.")
    ] = True
    auto_commit: Annotated[
        bool, doc("Commit each step of a plan; otherwise all its work once, before the gate.")
    ] = False


class Allowance(Table, frozen=True, kw_only=True):
    """An unset key means no limit."""

    turns: Annotated[Count | None, doc("Maximum turns.")] = None
    tokens: Annotated[Count | None, doc("Maximum tokens, including cached ones.")] = None
    cost_usd: Annotated[Dollars | None, doc("Maximum cost in US dollars.")] = None
    minutes: Annotated[Minutes | None, doc("Maximum wall-clock minutes.")] = None


class Budget(Allowance, frozen=True, kw_only=True):
    """The table's own keys limit each run."""

    task: Annotated[Allowance, doc("The same limits for each task.")] = Allowance()
    sprint: Annotated[
        Allowance, doc("The same limits for all that the board uses during a sprint.")
    ] = Allowance()
    day: Annotated[Allowance, doc("The same limits for each day.")] = Allowance()
    at_limit: Annotated[AtLimit, doc("At a limit, pause and ask a person, or stop.")] = (
        AtLimit.PAUSE
    )


class Limits(Table, frozen=True, kw_only=True):
    """Limits of each task. An unset key means no limit."""

    processes: Annotated[Count | None, doc("Maximum processes of a task.")] = None
    memory_mb: Annotated[Count | None, doc("Maximum memory of all programs of a task, in MB.")] = (
        None
    )
    file_mb: Annotated[Count | None, doc("Maximum size of a file that a task writes, in MB.")] = (
        None
    )
    disk_mb: Annotated[Count | None, doc("Maximum disk space of a workspace, in MB.")] = None


class ModelPrice(Table, frozen=True, kw_only=True):
    """US dollars per million tokens. An unset key means the price list's value."""

    input_mtok: Annotated[Price | None, doc("Price per million input tokens.")] = None
    output_mtok: Annotated[Price | None, doc("Price per million output tokens.")] = None
    cache_read_mtok: Annotated[
        Price | None, doc("Price per million input tokens read from the cache.")
    ] = None
    cache_write_mtok: Annotated[
        Price | None, doc("Price per million input tokens written to the cache.")
    ] = None
