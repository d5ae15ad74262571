"""Settings of this machine: [approvals] [sandbox] [server] [notify] [traces] [hooks] [store] [fleet]."""

from enum import StrEnum
from typing import Annotated

from allstop.settings.model.bases import (
    Entry,
    HostRule,
    Hours,
    StoreAddress,
    Table,
    Text,
    ZoneName,
    doc,
)

Words = Text | tuple[Text, ...]


class ApprovalRule(Entry, frozen=True, kw_only=True):
    """Sets exactly one of allow, ask and deny. The strictest matching rule wins."""

    allow: Annotated[Words | None, doc("First words of a command that may run.")] = None
    ask: Annotated[
        Words | None, doc("First words of a command that needs a person's approval.")
    ] = None
    deny: Annotated[Words | None, doc("First words of a command that never runs.")] = None
    match: Annotated[
        tuple[Text, ...],
        doc("Example commands that this rule must match; checked when the settings load."),
    ] = ()
    not_match: Annotated[
        tuple[Text, ...],
        doc("Example commands that this rule must not match; checked when the settings load."),
    ] = ()
    why: Annotated[Text | None, doc("The reason, shown to the agent.")] = None


class BoxedApprovals(StrEnum):
    """What happens to a request that no rule decides, in a sandbox."""

    ALLOW = "allow"
    ASK = "ask"


class ApprovalRules(Table, frozen=True, kw_only=True):
    boxed: Annotated[
        BoxedApprovals,
        doc(
            "In a sandbox, allow or ask about what no rule decides. "
            "Without a sandbox, agents always ask."
        ),
    ] = BoxedApprovals.ALLOW
    rules: Annotated[
        tuple[ApprovalRule, ...],
        doc("Which commands agents may run, need approval for, or may not run."),
    ] = ()


class SandboxMode(StrEnum):
    ON = "on"
    AUTO = "auto"
    OFF = "off"


class Network(StrEnum):
    """What agents in the sandbox can reach, from nothing to everything."""

    NONE = "none"
    MODEL_ONLY = "model-only"
    ALLOW = "allow"
    FULL = "full"


class Sandbox(Table, frozen=True, kw_only=True):
    mode: Annotated[
        SandboxMode,
        doc("auto and on refuse unattended runs if no sandbox works; off runs without a sandbox."),
    ] = SandboxMode.AUTO
    read: Annotated[
        tuple[Text, ...], doc("Additional paths that are readable in the sandbox.")
    ] = ()
    network: Annotated[
        Network | None,
        doc(
            "What agents can reach. allow: their model and `hosts`. Unset: model-only if they can."
        ),
    ] = None
    hosts: Annotated[
        tuple[HostRule, ...],
        doc('With "allow", hosts that agents reach by HTTPS: name, *.name or name:port.'),
    ] = ()


class Server(Table, frozen=True, kw_only=True):
    host: Annotated[Text, doc("The address the control room listens on.")] = "127.0.0.1"
    port: Annotated[int, doc("The port; 0 picks a free one.", ge=0, le=65_535)] = 7373
    hosts: Annotated[
        tuple[Text, ...],
        doc("Additional host names of the control room, for example behind a proxy."),
    ] = ()
    tls_cert: Annotated[
        Text | None, doc("TLS certificate file. Access from other machines needs TLS or a proxy.")
    ] = None
    tls_key: Annotated[Text | None, doc("Private key file of the certificate.")] = None
    behind_proxy: Annotated[
        bool, doc("Your own proxy terminates TLS. It must forward the Host header.")
    ] = False


class Notify(Table, frozen=True, kw_only=True):
    sounds: Annotated[bool, doc("Play sounds in the browser and ring the terminal bell.")] = True
    desktop: Annotated[bool, doc("Show desktop notifications.")] = True
    urls: Annotated[
        tuple[Text, ...], doc("Additional receivers: https addresses or apprise addresses.")
    ] = ()
    private: Annotated[bool, doc("Allow `urls` that lead to this machine or your own network.")] = (
        False
    )
    quiet: Annotated[
        Hours | None,
        doc("Quiet hours, for example 22:00-07:00: only alerts that need you are sent."),
    ] = None
    zone: Annotated[
        ZoneName | None,
        doc("Time zone of `quiet`, for example Europe/Berlin. Default: this machine's."),
    ] = None


class Traces(Table, frozen=True, kw_only=True):
    on: Annotated[bool, doc("Send spans to OpenTelemetry. Needs allstop[otel].")] = False
    endpoint: Annotated[
        Text | None,
        doc("Receiver, for example http://127.0.0.1:4318. Default: the OTEL_… variables."),
    ] = None
    content: Annotated[
        bool, doc("Include the texts of people and agents, not only names and numbers.")
    ] = False


class Hooks(Table, frozen=True, kw_only=True):
    """Commands run on this machine, outside the sandbox, as the user who started Allstop."""

    pre_start: Annotated[Text | None, doc("Runs before a task starts.")] = None
    post_complete: Annotated[Text | None, doc("Runs after a task is verified.")] = None
    pre_merge: Annotated[Text | None, doc("Runs before a merge.")] = None
    post_merge: Annotated[Text | None, doc("Runs after a merge.")] = None
    on_conflict: Annotated[Text | None, doc("Runs when a merge has a conflict.")] = None
    on_pause: Annotated[Text | None, doc("Runs when a run pauses.")] = None
    on_error: Annotated[Text | None, doc("Runs when a task fails.")] = None


class Store(Table, frozen=True, kw_only=True):
    url: Annotated[
        StoreAddress,
        doc(
            '"sqlite": a database in .allstop/. "postgresql://…": a server that several machines share.'
        ),
    ] = "sqlite"
    lease_s: Annotated[
        float,
        doc(
            "Seconds without an answer of the server after which others take over runs.",
            ge=3,
            le=86_400,
        ),
    ] = 30.0


class Fleet(Table, frozen=True, kw_only=True):
    remote: Annotated[
        Text | None,
        doc("The git remote that all machines share; `allstop worker` then does the tasks."),
    ] = None
