"""The messages of ACP agents; only the fields that this driver reads."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field

from allstop.adapters.agents.rpc_peer import Message, RequestId, decoded


class _Message(Struct, frozen=True, rename="camel"):
    pass


class SessionCapabilities(_Message, frozen=True):
    """Capabilities; one is offered if its field is present."""

    resume: Any = None
    fork: Any = None


class Capabilities(_Message, frozen=True):
    load_session: bool = False
    session_capabilities: SessionCapabilities = SessionCapabilities()


class AgentInfo(_Message, frozen=True):
    protocol_version: int = 0
    agent_capabilities: Capabilities = Capabilities()


class ConfigOption(_Message, frozen=True):
    id: str = ""
    category: str | None = None
    current_value: Any = None
    options: Any = None  # values with names; some agents group them


class Mode(_Message, frozen=True):
    id: str = ""


class Modes(_Message, frozen=True):
    current_mode_id: str = ""
    available_modes: tuple[Mode, ...] = ()


class OfferedModes(NamedTuple):
    """The agent's modes by id, and the current one."""

    current: str
    modes: tuple[str, ...]


class Session(_Message, frozen=True):
    session_id: str = ""
    modes: Modes | None = None
    config_options: tuple[ConfigOption, ...] | None = None

    @property
    def offered_modes(self) -> OfferedModes:
        """The modes, which some agents offer as a config option."""
        if self.modes is not None:
            names = tuple(mode.id for mode in self.modes.available_modes)
            return OfferedModes(self.modes.current_mode_id, names)
        option = next((o for o in self.config_options or () if o.category == "mode"), None)
        if option is None or not isinstance(option.options, list):
            return OfferedModes("", ())
        values = (each.get("value") for each in option.options if isinstance(each, dict))
        return OfferedModes(str(option.current_value), tuple(map(str, values)))


class Tokens(_Message, frozen=True):
    """The raw report: any value may be missing or not a number."""

    total_tokens: Any = None
    input_tokens: Any = None
    output_tokens: Any = None
    thought_tokens: Any = None
    cached_read_tokens: Any = None


class Ended(_Message, frozen=True):
    stop_reason: str = ""
    usage: Tokens | None = None


class Cost(_Message, frozen=True):
    amount: float = 0.0
    currency: str = ""


class Location(_Message, frozen=True):
    path: str = ""


class PlanEntry(_Message, frozen=True):
    content: str = ""
    status: str = ""


class ToolCall(_Message, frozen=True):
    """A tool call; later updates contain only the changed fields."""

    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: Any = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Any = field(default=None, name="_meta")


class Update(ToolCall, frozen=True):
    """An update of the session, of any kind."""

    session_update: str = ""
    message_id: str | None = None
    entries: tuple[PlanEntry, ...] = ()
    cost: Cost | None = None
    used: Any = None  # tokens of the conversation


class UpdateNote(_Message, frozen=True):
    session_id: str = ""
    update: Update = Update()


class Option(_Message, frozen=True):
    option_id: str = ""
    kind: str = ""


class Permission(_Message, frozen=True):
    """A permission request: the tool call and the possible answers."""

    tool_call: ToolCall = ToolCall()
    options: tuple[Option, ...] = ()


class Choice(_Message, frozen=True):
    const: str = ""
    title: str | None = None
    description: str | None = None

    @property
    def label(self) -> str:
        return self.title or self.const


class Field(_Message, frozen=True):
    """A field of a form, as JSON Schema describes it."""

    type: str = ""
    title: str | None = None
    description: str | None = None
    enum: tuple[str, ...] | None = None
    one_of: tuple[Choice, ...] | None = None
    any_of: tuple[Choice, ...] | None = None
    items: Field | None = None  # for an array


class Fields(_Message, frozen=True):
    properties: dict[str, Field] = {}


class Form(_Message, frozen=True):
    """A form from the agent, or from an MCP server behind it, for a person."""

    mode: str = "form"
    message: str = ""
    tool_call_id: str = ""
    meta: Any = field(default=None, name="_meta")
    requested_schema: Fields = Fields()

    @property
    def fields(self) -> dict[str, Field]:
        return self.requested_schema.properties


class Cancellation(_Message, frozen=True):
    request_id: RequestId = ""


def read_update(message: Message) -> Update | None:
    note = decoded(message.params, UpdateNote)
    return note.update if note else None


def read_permission(message: Message) -> Permission | None:
    return decoded(message.params, Permission)


def read_form(message: Message) -> Form | None:
    return decoded(message.params, Form)


def read_cancellation(message: Message) -> RequestId:
    """The id of the request that the agent withdrew."""
    return (decoded(message.params, Cancellation) or Cancellation()).request_id
