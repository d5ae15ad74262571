"""Opens an ACP session: starts, resumes, loads or forks it, by the agent's capabilities."""

from collections.abc import Collection, Sequence
from enum import StrEnum

from msgspec import Struct

from allstop.adapters.agents.acp import messages
from allstop.adapters.agents.acp.connection import Connection
from allstop.adapters.agents.acp.error_kinds import NOT_FOUND
from allstop.adapters.agents.rpc_peer import RequestFailedError
from allstop.core.mcp import Message

ALWAYS = "ask"
"""The only mode that is known to ask before everything."""

_ASKING = (ALWAYS, "default", "read-only", "workspace-write", "edit-internal")
"""Modes that ask, the strictest first. Claude Code and Gemini have `default`, Codex's adapters the
others."""

_STRICTER = ("plan", "dontAsk", "read-only")
"""Modes that allow less than any mode that asks."""

_UNASKED = ("agent", "agent-full-access", "full-access", "bypassPermissions", "yolo")
"""Modes in which a model answers for people, or nothing is asked."""

_USUAL = ("workspace-write", "edit-internal", "default", "auto", "read-only")
"""Modes that allow everything in the workspace and ask about the rest. `auto` is Codex's; Claude
Code's mode of that name lets a model answer, but it has `default` too."""


def choose_mode(current: str, offered: Collection[str], *, asks_first: bool) -> str | None:
    """The mode to set, never a laxer one; None keeps the current mode.

    The current mode may come from the agent's settings, which agents can write themselves.
    """
    if asks_first:
        return None if current in _STRICTER else _first(_ASKING, offered)
    is_unasked = current in _UNASKED or (current == "auto" and "default" in offered)
    return _first(_USUAL, offered) if is_unasked else None


def _first(modes: tuple[str, ...], offered: Collection[str]) -> str | None:
    return next((mode for mode in modes if mode in offered), None)


VERSION = 1
CLIENT: dict[str, object] = {
    "protocolVersion": VERSION,
    "clientInfo": {"name": "allstop", "title": "Allstop", "version": "1"},
    # the agent works in the box itself; this client runs outside of it
    "clientCapabilities": {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"form": {}},  # a person answers it as a question
    },
}


class OpenMethod(StrEnum):
    NEW = "session/new"
    RESUME = "session/resume"  # doesn't send the history
    LOAD = "session/load"  # sends the history, some agents late
    FORK = "session/fork"


class SessionSettings(Struct, frozen=True, kw_only=True):
    """The model and mode to set; None keeps the agent's default."""

    model: str | None = None
    mode: str | None = None


class OpenSession(Struct, frozen=True, kw_only=True):
    thread: str
    method: OpenMethod
    notice: str = ""  # why it isn't the requested conversation
    agent_decides: bool = False  # it should ask before every command, but decides itself


async def open_session(
    connection: Connection,
    wanted: str | None,
    settings: SessionSettings,
    *,
    fork: bool,
    asks_first: bool = False,
    servers: Sequence[Message] = (),
) -> OpenSession:
    """`servers`: one for each try, because each admits only one client.

    Raises RequestFailedError, PeerGoneError or NoAnswerError if the agent opened none.
    """
    agent = await connection.request("initialize", messages.AgentInfo, CLIENT)
    if agent.protocol_version != VERSION:
        raise RequestFailedError(
            f"the agent speaks ACP version {agent.protocol_version}, not {VERSION}"
        )
    first = OpenMethod.NEW if wanted is None else _choose_method(agent, fork=fork)
    session, method, notice = await _session(connection, wanted, first, servers)
    is_same = method in (OpenMethod.RESUME, OpenMethod.LOAD)
    thread = (wanted or "") if is_same else session.session_id
    if not thread:
        raise RequestFailedError("the agent did not name the conversation")
    if settings.model is not None:
        await _choose(connection, thread, session, "model", settings.model)
    offered = session.offered_modes
    mode = settings.mode or choose_mode(offered.current, offered.modes, asks_first=asks_first)
    if mode is not None:
        await _set_mode(connection, thread, session, mode)
    return OpenSession(
        thread=thread,
        method=method,
        notice=notice,
        agent_decides=asks_first and mode != ALWAYS,
    )


async def _session(
    connection: Connection, wanted: str | None, method: OpenMethod, servers: Sequence[Message]
) -> tuple[messages.Session, OpenMethod, str]:
    cwd, notice = await connection.working_directory(), ""
    params: dict[str, object] = {"cwd": cwd, "mcpServers": servers[:1]}
    if method is not OpenMethod.NEW:
        try:
            resumed = {"sessionId": wanted, **params}
            return await connection.request(method.value, messages.Session, resumed), method, ""
        except RequestFailedError as error:
            if error.fault.code != NOT_FOUND:
                raise
            notice = "the agent did not find the conversation and started a new one"
            # the agent may have started the first server
            params = {"cwd": cwd, "mcpServers": servers[1:]}
    elif wanted is not None:
        notice = "the agent can't resume a conversation and started a new one"
    session = await connection.request(OpenMethod.NEW.value, messages.Session, params)
    return session, OpenMethod.NEW, notice


def _choose_method(agent: messages.AgentInfo, *, fork: bool) -> OpenMethod:
    capabilities = agent.agent_capabilities
    if fork:
        if capabilities.session_capabilities.fork is None:
            raise RequestFailedError("the agent can't fork a conversation")
        return OpenMethod.FORK
    if capabilities.session_capabilities.resume is not None:
        return OpenMethod.RESUME
    return OpenMethod.LOAD if capabilities.load_session else OpenMethod.NEW


async def _set_mode(
    connection: Connection, thread: str, session: messages.Session, mode: str
) -> None:
    """Set the mode, which some agents offer as modes and some as a config option."""
    known = [each.id for each in session.modes.available_modes] if session.modes else []
    if not known:
        await _choose(connection, thread, session, "mode", mode)
        return
    if mode not in known:
        raise RequestFailedError(f"the agent has no mode {mode!r}; its modes: {', '.join(known)}")
    params: dict[str, object] = {"sessionId": thread, "modeId": mode}
    await connection.request("session/set_mode", messages.Session, params)


async def _choose(
    connection: Connection, thread: str, session: messages.Session, category: str, value: str
) -> None:
    options = session.config_options or ()
    option = next((each.id for each in options if each.category == category), None)
    if option is None:
        raise RequestFailedError(f"the agent has no setting for its {category}: leave it out")
    params: dict[str, object] = {"sessionId": thread, "configId": option, "value": value}
    await connection.request("session/set_config_option", messages.Session, params)
