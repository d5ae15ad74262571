"""Every section and key of allstop.toml: names, types, defaults, ranges, descriptions.

Annotations are evaluated at once in these modules: msgspec needs them, and pays five times as
much for reading them from text.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, field

from allstop.settings.model.agents import STANDARD_KEY, TALKERS, Agent, DoneBy, Driver, PromptBy
from allstop.settings.model.bases import Entry, Name, Table, Text
from allstop.settings.model.host import (
    ApprovalRule,
    ApprovalRules,
    Hooks,
    Network,
    Notify,
    Sandbox,
    SandboxMode,
    Server,
    Store,
    Traces,
)
from allstop.settings.model.limits import (
    Allowance,
    AtLimit,
    Budget,
    ErrorStrategy,
    Limits,
    ModelPrice,
    Retry,
)
from allstop.settings.model.talk import (
    Approvals,
    Auto,
    AutoReview,
    GuardedFiles,
    Guidance,
    Policy,
    Room,
    Window,
)
from allstop.settings.model.work import (
    Check,
    Filters,
    Loop,
    LoopMode,
    Merge,
    Project,
    Protection,
    Review,
    ReviewMode,
    Sprint,
    Target,
    TargetKind,
    Verification,
    Workspace,
)

__all__ = [
    "STANDARD_KEY",
    "TALKERS",
    "Agent",
    "Allowance",
    "ApprovalRule",
    "ApprovalRules",
    "Approvals",
    "AtLimit",
    "Auto",
    "AutoReview",
    "Budget",
    "Check",
    "DoneBy",
    "Driver",
    "Entry",
    "ErrorStrategy",
    "Filters",
    "GuardedFiles",
    "Guidance",
    "Hooks",
    "Limits",
    "Loop",
    "LoopMode",
    "Merge",
    "ModelPrice",
    "Network",
    "Notify",
    "Policy",
    "Project",
    "PromptBy",
    "Protection",
    "Retry",
    "Review",
    "ReviewMode",
    "Room",
    "Sandbox",
    "SandboxMode",
    "Server",
    "Settings",
    "Sprint",
    "Store",
    "Table",
    "Target",
    "TargetKind",
    "Traces",
    "Verification",
    "Window",
    "Workspace",
]


class Settings(Table, frozen=True, kw_only=True):
    project: Annotated[Project, Meta(description="The repository.")] = Project()
    agents: Annotated[Mapping[Name, Agent], Meta(description="Who does the work, by name.")] = (
        field(default_factory=dict)
    )
    loop: Annotated[Loop, Meta(description="The execution loop.")] = Loop()
    verification: Annotated[Verification, Meta(description="The gate.")] = Verification()
    workspace: Annotated[Workspace, Meta(description="The clone each task works in.")] = Workspace()
    merge: Annotated[Merge, Meta(description="Bringing verified work to the target.")] = Merge()
    review: Annotated[Review, Meta(description="When a person looks at the work.")] = Review()
    room: Annotated[Room, Meta(description="Rooms and their guards.")] = Room()
    auto: Annotated[Auto, Meta(description="Full auto.")] = Auto()
    retry: Annotated[Retry, Meta(description="Errors and rate limits.")] = Retry()
    budget: Annotated[Budget, Meta(description="Limits on turns, tokens, money and time.")] = (
        Budget()
    )
    sprint: Annotated[Sprint, Meta(description="Sprints: not yet, nothing reads this.")] = Sprint()
    approvals: Annotated[ApprovalRules, Meta(description="What agents may run.")] = ApprovalRules()
    limits: Annotated[Limits, Meta(description="Resources of a task.")] = Limits()
    prices: Annotated[
        Mapping[Text, ModelPrice],
        Meta(description="Prices by model, over those of the price list."),
    ] = field(default_factory=dict)
    sandbox: Annotated[Sandbox, Meta(description="What agents can see and reach.")] = Sandbox()
    server: Annotated[Server, Meta(description="The control room.")] = Server()
    notify: Annotated[Notify, Meta(description="How a person is called.")] = Notify()
    traces: Annotated[Traces, Meta(description="OpenTelemetry.")] = Traces()
    hooks: Annotated[Hooks, Meta(description="Commands of yours, run on this machine.")] = Hooks()
    store: Annotated[Store, Meta(description="Where everything is kept.")] = Store()
