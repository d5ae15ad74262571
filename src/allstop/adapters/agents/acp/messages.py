"""What an agent says over ACP, as far as it is looked at; everything else in it is passed over."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field

from allstop.adapters.agents.rpc_messages import Message, RequestId, decoded


class _Told(Struct, frozen=True, rename="camel"):
    pass


class SessionOffers(_Told, frozen=True):
    """What is offered is there, whatever is in it."""

    resume: Any = None
    fork: Any = None


class Offers(_Told, frozen=True):
    load_session: bool = False
    session_capabilities: SessionOffers = SessionOffers()


class AuthMethod(_Told, frozen=True):
    name: str = ""


class Hello(_Told, frozen=True):
    protocol_version: int = 0
    agent_capabilities: Offers = Offers()
    auth_methods: tuple[AuthMethod, ...] = ()


class ConfigOption(_Told, frozen=True):
    id: str = ""
    category: str | None = None
    current_value: Any = None
    options: Any = None  # values with their names, some agents in groups


class Mode(_Told, frozen=True):
    id: str = ""


class Modes(_Told, frozen=True):
    current_mode_id: str = ""
    available_modes: tuple[Mode, ...] = ()


class Offered(NamedTuple):
    """The modes that it has, by their names, and which one it is in."""

    current: str
    modes: tuple[str, ...]


class Opened(_Told, frozen=True):
    session_id: str = ""
    modes: Modes | None = None
    config_options: tuple[ConfigOption, ...] | None = None

    @property
    def offered(self) -> Offered:
        """Some have modes, some have them among their options."""
        if self.modes is not None:
            names = tuple(mode.id for mode in self.modes.available_modes)
            return Offered(self.modes.current_mode_id, names)
        option = next((o for o in self.config_options or () if o.category == "mode"), None)
        if option is None or not isinstance(option.options, list):
            return Offered("", ())
        values = (each.get("value") for each in option.options if isinstance(each, dict))
        return Offered(str(option.current_value), tuple(map(str, values)))


class Tokens(_Told, frozen=True):
    """As they came: anything may be missing or no number."""

    total_tokens: Any = None
    input_tokens: Any = None
    output_tokens: Any = None
    thought_tokens: Any = None
    cached_read_tokens: Any = None


class Ended(_Told, frozen=True):
    stop_reason: str = ""
    usage: Tokens | None = None


class Cost(_Told, frozen=True):
    amount: float = 0.0
    currency: str = ""


class Location(_Told, frozen=True):
    path: str = ""


class PlanEntry(_Told, frozen=True):
    content: str = ""
    status: str = ""


class ToolCall(_Told, frozen=True):
    """Something that is done with a tool. A later word on it has only what has changed."""

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
    """Something said or done, of any kind."""

    session_update: str = ""
    message_id: str | None = None
    entries: tuple[PlanEntry, ...] = ()
    cost: Cost | None = None


class UpdateNote(_Told, frozen=True):
    session_id: str = ""
    update: Update = Update()


class Option(_Told, frozen=True):
    option_id: str = ""
    kind: str = ""


class Permission(_Told, frozen=True):
    """What leave is wanted for, and the answers there are."""

    tool_call: ToolCall = ToolCall()
    options: tuple[Option, ...] = ()


class Choice(_Told, frozen=True):
    const: str = ""
    title: str | None = None
    description: str | None = None

    @property
    def label(self) -> str:
        return self.title or self.const


class Field(_Told, frozen=True):
    """Of a form: what is wanted, as JSON Schema says it."""

    type: str = ""
    title: str | None = None
    description: str | None = None
    enum: tuple[str, ...] | None = None
    one_of: tuple[Choice, ...] | None = None
    any_of: tuple[Choice, ...] | None = None
    items: Field | None = None  # of an array


class Fields(_Told, frozen=True):
    properties: dict[str, Field] = {}


class Form(_Told, frozen=True):
    """What an agent, or a server of tools behind it, wants to know from a person."""

    mode: str = "form"
    message: str = ""
    tool_call_id: str = ""
    meta: Any = field(default=None, name="_meta")
    requested_schema: Fields = Fields()

    @property
    def fields(self) -> dict[str, Field]:
        return self.requested_schema.properties


class TakenBack(_Told, frozen=True):
    request_id: RequestId = ""


def update_in(message: Message) -> Update | None:
    note = decoded(message.params, UpdateNote)
    return note.update if note else None


def permission_in(message: Message) -> Permission | None:
    return decoded(message.params, Permission)


def form_in(message: Message) -> Form | None:
    return decoded(message.params, Form)


def taken_back_in(message: Message) -> RequestId:
    """Which request is no longer to be answered."""
    return (decoded(message.params, TakenBack) or TakenBack()).request_id
