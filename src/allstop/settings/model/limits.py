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
)


class ErrorStrategy(StrEnum):
    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"


class Retry(Table, frozen=True, kw_only=True):
    error_strategy: Annotated[
        ErrorStrategy,
        Meta(description="Action after a step of a plan fails. Not implemented; has no effect."),
    ] = ErrorStrategy.RETRY
    max_retries: Annotated[Quantity, Meta(description="Maximum retries of a failed step.")] = 2
    base_ms: Annotated[Milliseconds, Meta(description="Milliseconds before the first retry.")] = (
        2_000
    )
    factor: Annotated[
        float,
        Meta(ge=1, le=100, description="Factor by which each wait is longer than the one before."),
    ] = 2
    jitter: Annotated[Share, Meta(description="Random share added to a wait.")] = 0.1
    rate_limit_patterns: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(
            description="Additional regular expressions that recognize a rate limit in an error's text."
        ),
    ] = ()
    max_rate_limit_retries: Annotated[
        Quantity, Meta(description="Retries of a rate-limited agent before its fallback is used.")
    ] = 3
    max_rate_limit_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=8_760,
            description="Hours to keep retrying a rate-limited agent that names no reset time.",
        ),
    ] = 24
    step_delay_ms: Annotated[
        Milliseconds,
        Meta(
            description="Milliseconds between two steps of a plan. Not implemented; has no effect."
        ),
    ] = 500
    recover_primary: Annotated[
        bool,
        Meta(description="Retry the first agent between steps. Not implemented; has no effect."),
    ] = True
    auto_commit: Annotated[
        bool, Meta(description="Commit after each step of a plan. Not implemented; has no effect.")
    ] = False


class Allowance(Table, frozen=True, kw_only=True):
    """An unset key means no limit."""

    turns: Annotated[Count | None, Meta(description="Maximum turns.")] = None
    tokens: Annotated[Count | None, Meta(description="Maximum tokens, including cached ones.")] = (
        None
    )
    cost_usd: Annotated[Dollars | None, Meta(description="Maximum cost in US dollars.")] = None
    minutes: Annotated[Minutes | None, Meta(description="Maximum wall-clock minutes.")] = None


class Budget(Allowance, frozen=True, kw_only=True):
    """The table's own keys limit each run."""

    task: Annotated[Allowance, Meta(description="The same limits for each task.")] = Allowance()
    sprint: Annotated[
        Allowance,
        Meta(description="The same limits for each sprint. Not implemented; has no effect."),
    ] = Allowance()
    day: Annotated[Allowance, Meta(description="The same limits for each day.")] = Allowance()
    at_limit: Annotated[
        AtLimit, Meta(description="At a limit, pause and ask a person, or stop.")
    ] = AtLimit.PAUSE


class Limits(Table, frozen=True, kw_only=True):
    """Limits of each task. An unset key means no limit."""

    processes: Annotated[Count | None, Meta(description="Maximum processes of a task.")] = None
    memory_mb: Annotated[
        Count | None, Meta(description="Maximum memory of all programs of a task, in MB.")
    ] = None
    file_mb: Annotated[
        Count | None, Meta(description="Maximum size of a file that a task writes, in MB.")
    ] = None
    disk_mb: Annotated[
        Count | None, Meta(description="Maximum disk space of a workspace, in MB.")
    ] = None


class ModelPrice(Table, frozen=True, kw_only=True):
    """US dollars per million tokens. An unset key means the price list's value."""

    input_mtok: Annotated[Price | None, Meta(description="Price per million input tokens.")] = None
    output_mtok: Annotated[Price | None, Meta(description="Price per million output tokens.")] = (
        None
    )
    cache_read_mtok: Annotated[
        Price | None, Meta(description="Price per million input tokens read from the cache.")
    ] = None
    cache_write_mtok: Annotated[
        Price | None, Meta(description="Price per million input tokens written to the cache.")
    ] = None
