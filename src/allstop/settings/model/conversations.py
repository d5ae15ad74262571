"""Settings of conversations: [room] and [auto]."""

from enum import StrEnum
from typing import Annotated

from allstop.core.context_window import WindowPolicy
from allstop.core.decisions import DecisionPolicy, ReviewWhen
from allstop.settings.model.bases import (
    Count,
    Dollars,
    Minutes,
    Quantity,
    Seconds,
    Share,
    Table,
    Text,
    doc,
)


class Room(Table, frozen=True, kw_only=True):
    max_rounds: Annotated[Count, doc("Rounds after which Collaborate ends.")] = 6
    window: Annotated[
        WindowPolicy,
        doc("elastic grows and is then cut back, which is cheaper; strict never grows."),
    ] = WindowPolicy.ELASTIC
    window_items: Annotated[Count, doc("Minimum number of transcript items sent.")] = 8
    window_items_max: Annotated[
        Count, doc("Number of items at which an elastic window is cut back.")
    ] = 24
    window_tokens: Annotated[Count, doc("Maximum tokens of the minimum window.")] = 3_000
    window_tokens_max: Annotated[
        Count, doc("Number of tokens at which an elastic window is cut back.")
    ] = 9_000
    respect_final: Annotated[bool, doc('Let an agent end Autopilot with "final".')] = False
    soft_turns: Annotated[
        Quantity, doc("Turns between reminders that Autopilot is running; 0 for none.")
    ] = 25
    soft_tokens: Annotated[
        Quantity, doc("Tokens between reminders that Autopilot is running; 0 for none.")
    ] = 50_000
    pause_in_circles: Annotated[bool, doc("Pause for a person when agents repeat themselves.")] = (
        False
    )
    max_turns: Annotated[Count, doc("Emergency cap: turns per session.")] = 200
    max_tokens: Annotated[
        Count, doc("Emergency cap: prompt and completion tokens per session.")
    ] = 200_000
    max_minutes: Annotated[Minutes, doc("Emergency cap: minutes per session.")] = 20
    cost_usd: Annotated[
        Dollars | None, doc("Emergency cap: cost per session, if prices are known.")
    ] = None


class Guidance(StrEnum):
    OFF = "off"
    DEMO = "demo"


class Approvals(StrEnum):
    """Who answers an agent's request for approval."""

    NEVER = "never"
    POLICY = "policy"
    ASK = "ask"


class GuardedFiles(StrEnum):
    """Reaction to a changed file that controls CI, hooks or agents, or holds keys."""

    PAUSE = "pause"
    CONTINUE = "continue"


class Auto(Table, frozen=True, kw_only=True):
    policy: Annotated[
        DecisionPolicy,
        doc("Who decides after each turn: the rules, or a model with the rules as backup."),
    ] = DecisionPolicy.RULES
    decision_agent: Annotated[
        Text | None, doc("The agent whose model decides if policy is model.")
    ] = None
    guidance: Annotated[
        Guidance, doc("demo: run guidance signatures before the first turn and after each turn.")
    ] = Guidance.OFF
    guidance_model: Annotated[
        Text | None,
        doc(
            "An agent or DRIVER:MODEL. Default: decision_agent, "
            "then a local ollama:llama3.2, then rules."
        ),
    ] = None
    cooldown_s: Annotated[float, doc("Seconds between two turns of a thread.", ge=0, le=86_400)] = 1
    review: Annotated[
        ReviewWhen, doc("Run a review at the end of a run, on a repeated error, or both.")
    ] = ReviewWhen.END
    min_confidence: Annotated[Share, doc("A decision with less confidence pauses the thread.")] = (
        0.6
    )
    no_progress_turns: Annotated[
        Count, doc("Turns with an unchanged plan and diff that pause the thread.")
    ] = 3
    repeated_errors: Annotated[
        Count, doc("Repetitions of the same error that pause the thread.")
    ] = 3
    max_compactions: Annotated[
        Count, doc("Compactions within compaction_turns that pause the thread.")
    ] = 3
    compaction_turns: Annotated[
        Count, doc("Number of recent turns in which compactions are counted.")
    ] = 10
    guarded_files: Annotated[
        GuardedFiles,
        doc("Reaction to changed files that control CI, hooks or agents, or hold keys."),
    ] = GuardedFiles.PAUSE
    approvals: Annotated[
        Approvals,
        doc("Who answers approval requests: nobody (never), the rules, or a person (ask)."),
    ] = Approvals.POLICY
    approval_timeout_s: Annotated[
        Seconds, doc("Seconds to wait for a person's answer to a request or question.")
    ] = 600
