"""[approvals] [sandbox] [server] [notify] [traces] [hooks] [store]: what touches this machine."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from allstop.settings.model.bases import Entry, Hours, StoreAddress, Table, Text, ZoneName

Words = Text | tuple[Text, ...]


class ApprovalRule(Entry, frozen=True, kw_only=True):
    """Exactly one of allow, ask, deny; the strictest rule that matches wins."""

    allow: Annotated[
        Words | None, Meta(description="A command that may run, by its first words.")
    ] = None
    ask: Annotated[
        Words | None, Meta(description="A command a person is asked about, by its first words.")
    ] = None
    deny: Annotated[
        Words | None, Meta(description="A command that never runs, by its first words.")
    ] = None
    match: Annotated[
        tuple[Text, ...], Meta(description="Commands this rule must match, checked when loaded.")
    ] = ()
    not_match: Annotated[
        tuple[Text, ...],
        Meta(description="Commands this rule must not match, checked when loaded."),
    ] = ()
    why: Annotated[Text | None, Meta(description="The reason, told to the agent.")] = None


class ApprovalRules(Table, frozen=True, kw_only=True):
    rules: Annotated[
        tuple[ApprovalRule, ...], Meta(description="What agents may run without being asked about.")
    ] = ()


class SandboxMode(StrEnum):
    ON = "on"
    AUTO = "auto"
    OFF = "off"


class Network(StrEnum):
    NONE = "none"
    MODEL_ONLY = "model-only"
    FULL = "full"


class Sandbox(Table, frozen=True, kw_only=True):
    mode: Annotated[
        SandboxMode,
        Meta(
            description="auto and on refuse unattended runs where no sandbox works; off runs without."
        ),
    ] = SandboxMode.AUTO
    read: Annotated[
        tuple[Text, ...], Meta(description="Further paths shown read-only in the sandbox.")
    ] = ()
    network: Annotated[
        Network,
        Meta(
            description="What agents and checks can reach from the sandbox; model-only is refused: not yet."
        ),
    ] = Network.FULL


class Server(Table, frozen=True, kw_only=True):
    host: Annotated[Text, Meta(description="The address the control room listens on.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535, description="The port; 0 for any that is free.")] = (
        7373
    )
    hosts: Annotated[
        tuple[Text, ...], Meta(description="Further names it is called by, as behind a proxy.")
    ] = ()
    tls_cert: Annotated[
        Text | None, Meta(description="A certificate file: other machines need TLS or a proxy.")
    ] = None
    tls_key: Annotated[Text | None, Meta(description="The certificate's private key file.")] = None
    behind_proxy: Annotated[
        bool, Meta(description="A proxy of yours in front of it does TLS; it must pass Host on.")
    ] = False


class Notify(Table, frozen=True, kw_only=True):
    sounds: Annotated[
        bool, Meta(description="Sounds in the browser, and the bell of a terminal.")
    ] = True
    desktop: Annotated[bool, Meta(description="Desktop notifications.")] = True
    urls: Annotated[
        tuple[Text, ...],
        Meta(description="Further places to notify: https addresses, or those of apprise."),
    ] = ()
    private: Annotated[
        bool, Meta(description="Whether `urls` may lead to this machine or your own network.")
    ] = False
    quiet: Annotated[
        Hours | None,
        Meta(description="Hours in which only what needs you is told, as 22:00-07:00."),
    ] = None
    zone: Annotated[
        ZoneName | None,
        Meta(description="The time zone of `quiet`, as Europe/Berlin; else this machine's."),
    ] = None


class Traces(Table, frozen=True, kw_only=True):
    on: Annotated[
        bool, Meta(description="Send spans of what happens to OpenTelemetry; needs allstop[otel].")
    ] = False
    endpoint: Annotated[
        Text | None,
        Meta(description="Where to, as http://127.0.0.1:4318; else what OTEL_… variables say."),
    ] = None
    content: Annotated[
        bool, Meta(description="Send what people and agents say, too, not only names and numbers.")
    ] = False


class Hooks(Table, frozen=True, kw_only=True):
    """Commands run on this machine, outside the sandbox, as the person who started it."""

    pre_start: Annotated[Text | None, Meta(description="Before a task starts.")] = None
    post_complete: Annotated[Text | None, Meta(description="After a task is verified.")] = None
    pre_merge: Annotated[Text | None, Meta(description="Before a merge.")] = None
    post_merge: Annotated[Text | None, Meta(description="After a merge.")] = None
    on_conflict: Annotated[Text | None, Meta(description="When a merge meets a conflict.")] = None
    on_pause: Annotated[Text | None, Meta(description="When a run pauses.")] = None
    on_error: Annotated[Text | None, Meta(description="When a task fails.")] = None


class Store(Table, frozen=True, kw_only=True):
    url: Annotated[
        StoreAddress,
        Meta(
            description='"sqlite" in .allstop/; "postgresql://…" for a fleet is refused: not yet.'
        ),
    ] = "sqlite"
