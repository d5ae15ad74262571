"""[retry] [budget] [limits] [prices]: how often, how much, how dear."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

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
        Meta(description="What happens to a step that fails: not yet, nothing reads this."),
    ] = ErrorStrategy.RETRY
    max_retries: Annotated[Quantity, Meta(description="Retries of a failed step.")] = 2
    base_ms: Annotated[Milliseconds, Meta(description="The wait before the first retry.")] = 2_000
    factor: Annotated[
        float, Meta(ge=1, le=100, description="How much longer each further wait is.")
    ] = 2
    jitter: Annotated[Share, Meta(description="Share of a wait that chance may add.")] = 0.1
    rate_limit_patterns: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(description="Further regular expressions that tell a rate limit in an error's text."),
    ] = ()
    max_rate_limit_retries: Annotated[
        Quantity, Meta(description="Retries of a limited agent before the fallback is used.")
    ] = 3
    max_rate_limit_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=8_760,
            description="How long an agent at its limit that names no time is tried again.",
        ),
    ] = 24
    step_delay_ms: Annotated[
        Milliseconds, Meta(description="The wait between two steps: not yet, nothing reads this.")
    ] = 500
    recover_primary: Annotated[
        bool,
        Meta(description="Try the first agent again between steps: not yet, nothing reads this."),
    ] = True
    auto_commit: Annotated[
        bool, Meta(description="Commit after each step of a plan: not yet, nothing reads this.")
    ] = False


class AtLimit(StrEnum):
    PAUSE = "pause"
    STOP = "stop"


class Allowance(Table, frozen=True, kw_only=True):
    """Unset means no limit."""

    turns: Annotated[Count | None, Meta(description="Most turns.")] = None
    tokens: Annotated[Count | None, Meta(description="Most tokens, cached ones included.")] = None
    cost_usd: Annotated[Dollars | None, Meta(description="Most money, in US dollars.")] = None
    minutes: Annotated[Minutes | None, Meta(description="Most wall-clock minutes.")] = None


class Budget(Allowance, frozen=True, kw_only=True):
    """The keys of the table itself hold for each run."""

    task: Annotated[Allowance, Meta(description="The same limits for each task.")] = Allowance()
    sprint: Annotated[
        Allowance, Meta(description="The same limits for each sprint: not yet, nothing reads this.")
    ] = Allowance()
    day: Annotated[Allowance, Meta(description="The same limits for each day.")] = Allowance()
    at_limit: Annotated[
        AtLimit, Meta(description="At a limit: pause and ask a person, or stop.")
    ] = AtLimit.PAUSE


class Limits(Table, frozen=True, kw_only=True):
    """Of each task; unset means no limit."""

    processes: Annotated[Count | None, Meta(description="Most processes of a task.")] = None
    memory_mb: Annotated[
        Count | None, Meta(description="Most memory of a task's programs together, in MB.")
    ] = None
    file_mb: Annotated[Count | None, Meta(description="Largest file a task may write, in MB.")] = (
        None
    )
    disk_mb: Annotated[Count | None, Meta(description="Most disk of a workspace, in MB.")] = None


class ModelPrice(Table, frozen=True, kw_only=True):
    """US dollars for a million tokens; unset means the price list's."""

    input_mtok: Annotated[Price | None, Meta(description="Price of a million input tokens.")] = None
    output_mtok: Annotated[Price | None, Meta(description="Price of a million output tokens.")] = (
        None
    )
    cache_read_mtok: Annotated[
        Price | None, Meta(description="Price of a million input tokens read from the cache.")
    ] = None
    cache_write_mtok: Annotated[
        Price | None, Meta(description="Price of a million input tokens written to the cache.")
    ] = None
