"""[room] [auto]: agents that talk, and threads that are kept going."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from allstop.settings.model.bases import (
    Count,
    Dollars,
    Minutes,
    Quantity,
    Seconds,
    Share,
    Table,
    Text,
)


class Window(StrEnum):
    ELASTIC = "elastic"
    STRICT = "strict"


class Room(Table, frozen=True, kw_only=True):
    max_rounds: Annotated[Count, Meta(description="Rounds after which Collaborate ends.")] = 6
    window: Annotated[
        Window,
        Meta(description="elastic grows and cuts back, which is cheaper; strict never grows."),
    ] = Window.ELASTIC
    window_items: Annotated[Count, Meta(description="Fewest items of the transcript sent.")] = 8
    window_items_max: Annotated[
        Count, Meta(description="Items at which an elastic window is cut back.")
    ] = 24
    window_tokens: Annotated[Count, Meta(description="Tokens the fewest items may take.")] = 3_000
    window_tokens_max: Annotated[
        Count, Meta(description="Tokens at which an elastic window is cut back.")
    ] = 9_000
    respect_final: Annotated[bool, Meta(description='Let "final" of an agent end Autopilot.')] = (
        False
    )
    soft_turns: Annotated[
        Quantity, Meta(description="Turns between two reminders that Autopilot runs; 0 for none.")
    ] = 25
    soft_tokens: Annotated[
        Quantity, Meta(description="Tokens between two reminders that Autopilot runs; 0 for none.")
    ] = 50_000
    pause_in_circles: Annotated[
        bool, Meta(description="Wait for a person when the same is said again and again.")
    ] = False
    max_turns: Annotated[Count, Meta(description="Emergency cap: turns of a session.")] = 200
    max_tokens: Annotated[
        Count, Meta(description="Emergency cap: tokens of a session, prompt and completion.")
    ] = 200_000
    max_minutes: Annotated[Minutes, Meta(description="Emergency cap: minutes of a session.")] = 20
    cost_usd: Annotated[
        Dollars | None, Meta(description="Emergency cap: cost of a session where prices are known.")
    ] = None


class Policy(StrEnum):
    RULES = "rules"
    MODEL = "model"


class Guidance(StrEnum):
    OFF = "off"
    DEMO = "demo"


class AutoReview(StrEnum):
    """When the agent is asked to review its own run."""

    NEVER = "never"
    END = "end"
    ERROR = "error"
    BOTH = "both"


class Approvals(StrEnum):
    """Who answers when an agent asks whether it may."""

    NEVER = "never"
    POLICY = "policy"
    ASK = "ask"


class GuardedFiles(StrEnum):
    """What happens when work changes a file that steers others."""

    PAUSE = "pause"
    CONTINUE = "continue"


class Auto(Table, frozen=True, kw_only=True):
    policy: Annotated[
        Policy, Meta(description="Who decides after a turn: rules, or a model backed by the rules.")
    ] = Policy.RULES
    decision_agent: Annotated[
        Text | None, Meta(description="The agent whose model decides under the model policy.")
    ] = None
    guidance: Annotated[
        Guidance,
        Meta(description="demo: guidance signatures before the first and after every turn."),
    ] = Guidance.OFF
    guidance_model: Annotated[
        Text | None,
        Meta(
            description="Who guides: an agent or DRIVER:MODEL; if unset the decision agent, "
            "a local ollama:llama3.2, rules."
        ),
    ] = None
    cooldown_s: Annotated[
        float, Meta(ge=0, le=86_400, description="Seconds between two turns of a thread.")
    ] = 1
    review: Annotated[
        AutoReview, Meta(description="A review at the end of a run, on a repeated error, or both.")
    ] = AutoReview.END
    min_confidence: Annotated[
        Share, Meta(description="A decision below this confidence pauses the thread.")
    ] = 0.6
    no_progress_turns: Annotated[
        Count, Meta(description="Turns with the same plan and diff that pause the thread.")
    ] = 3
    repeated_errors: Annotated[
        Count, Meta(description="Times the same error may come before the thread is paused.")
    ] = 3
    max_compactions: Annotated[
        Count, Meta(description="Compactions within compaction_turns that pause the thread.")
    ] = 3
    compaction_turns: Annotated[
        Count, Meta(description="The turns over which compactions are counted.")
    ] = 10
    guarded_files: Annotated[
        GuardedFiles,
        Meta(description="When the work changes what steers CI, hooks, agents or holds keys."),
    ] = GuardedFiles.PAUSE
    approvals: Annotated[
        Approvals, Meta(description="Who answers an agent that asks: nobody, the rules, a person.")
    ] = Approvals.POLICY
    approval_timeout_s: Annotated[
        Seconds, Meta(description="Seconds an approval or question may stay unanswered.")
    ] = 600
