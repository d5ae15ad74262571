"""The sections and keys of allstop.toml: names, types, defaults, ranges and descriptions.

These modules don't postpone annotations: msgspec takes five times as long to evaluate them
from text.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from allstop.core.board_specs import TargetKind
from allstop.settings.model.agents import (
    CHAT_DRIVERS,
    STANDARD_KEY,
    Agent,
    DoneBy,
    Driver,
    GatewayUse,
    PromptBy,
    WireFormat,
)
from allstop.settings.model.bases import Entry, Name, Table, Text, doc
from allstop.settings.model.conversations import Approvals, Auto, GuardedFiles, Guidance, Room
from allstop.settings.model.limits import (
    Allowance,
    Budget,
    ErrorStrategy,
    Limits,
    ModelPrice,
    Retry,
)
from allstop.settings.model.machine import (
    ApprovalRule,
    ApprovalRules,
    Fleet,
    Hooks,
    Network,
    Notify,
    Sandbox,
    SandboxMode,
    Server,
    Store,
    Traces,
)
from allstop.settings.model.tasks import (
    Check,
    Filters,
    HeldOut,
    History,
    Loop,
    Merge,
    Project,
    Review,
    Sprint,
    Target,
    Verification,
    WorkNetwork,
    Workspace,
)

__all__ = (
    "CHAT_DRIVERS", "STANDARD_KEY", "Agent", "Allowance", "ApprovalRule", "ApprovalRules",
    "Approvals", "Auto", "Budget", "Check", "DoneBy", "Driver", "Entry", "ErrorStrategy", "Filters", "Fleet",
    "GatewayUse", "GuardedFiles", "Guidance", "HeldOut", "History", "Hooks", "Limits", "Loop", "Merge", "ModelPrice", "Network",
    "Notify", "Project", "PromptBy", "Retry", "Review", "Room", "Sandbox", "SandboxMode", "Server",
    "Settings", "Sprint", "Store", "Table", "Target", "TargetKind", "Traces", "Verification",
    "WireFormat", "WorkNetwork", "Workspace",
)  # fmt: skip


class Settings(Table, frozen=True, kw_only=True):
    project: Annotated[Project, doc("The repository and its target branch.")] = Project()
    agents: Annotated[Mapping[Name, Agent], doc("The agents, by name.")] = field(
        default_factory=dict
    )
    loop: Annotated[Loop, doc("The loop that runs tasks.")] = Loop()
    verification: Annotated[Verification, doc("The gate: checks a task must pass.")] = (
        Verification()
    )
    workspace: Annotated[Workspace, doc("The clone that each task works in.")] = Workspace()
    merge: Annotated[Merge, doc("Merging verified tasks into the target branch.")] = Merge()
    review: Annotated[Review, doc("When a person reviews finished tasks.")] = Review()
    room: Annotated[Room, doc("Rooms and their limits.")] = Room()
    auto: Annotated[Auto, doc("Full Auto threads.")] = Auto()
    retry: Annotated[Retry, doc("Retries after errors and rate limits.")] = Retry()
    budget: Annotated[Budget, doc("Limits on turns, tokens, money and time.")] = Budget()
    sprint: Annotated[Sprint, doc("What a new sprint begins with.")] = Sprint()
    approvals: Annotated[ApprovalRules, doc("Commands that agents may run.")] = ApprovalRules()
    limits: Annotated[Limits, doc("Resource limits of a task.")] = Limits()
    prices: Annotated[
        Mapping[Text, ModelPrice],
        doc("Prices by model; they replace those of the built-in price list."),
    ] = field(default_factory=dict)
    sandbox: Annotated[Sandbox, doc("The files and the network that agents can reach.")] = Sandbox()
    server: Annotated[Server, doc("The control room.")] = Server()
    notify: Annotated[Notify, doc("Notifications.")] = Notify()
    traces: Annotated[Traces, doc("OpenTelemetry traces.")] = Traces()
    hooks: Annotated[Hooks, doc("Your own commands, run on this machine.")] = Hooks()
    store: Annotated[Store, doc("The database of the journal.")] = Store()
    fleet: Annotated[Fleet, doc("Several machines that work on one board.")] = Fleet()
