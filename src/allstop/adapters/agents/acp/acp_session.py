"""How a conversation is begun or gone on with, by what the agent offers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from allstop.adapters.agents.acp import messages, session_modes
from allstop.adapters.agents.acp.connection import Connection
from allstop.adapters.agents.acp.error_kinds import NOT_FOUND
from allstop.adapters.agents.rpc_peer import RequestFailedError
from allstop.core.mcp import Message

VERSION = 1
CLIENT: dict[str, object] = {
    "protocolVersion": VERSION,
    "clientInfo": {"name": "allstop", "title": "Allstop", "version": "1"},
    # an agent has hands of its own, in the box; ours would be outside of it
    "clientCapabilities": {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"form": {}},  # a person fills it in as they answer a question
    },
}


class Way(StrEnum):
    NEW = "session/new"
    RESUME = "session/resume"  # the history is not told again
    LOAD = "session/load"  # it is, and by some agents late
    FORK = "session/fork"


class Wishes(Struct, frozen=True, kw_only=True):
    """What the agent is to be set to; None is its own choice."""

    model: str | None = None
    mode: str | None = None


class Open(Struct, frozen=True, kw_only=True):
    thread: str
    way: Way
    missed: str = ""  # why it isn't the conversation that was wanted
    decides: bool = False  # it was to ask first, and alone knows what it asks for


async def opened(
    connection: Connection,
    wanted: str | None,
    wishes: Wishes,
    *,
    fork: bool,
    asks_first: bool = False,
    servers: Sequence[Message] = (),
) -> Open:
    """`servers`: one for each try, since each lets in only who comes first.

    Raises:
        RefusedError, GoneError, SilentError: there is none.
    """
    hello = await connection.request("initialize", messages.Hello, CLIENT)
    if hello.protocol_version != VERSION:
        raise RequestFailedError(
            f"it speaks version {hello.protocol_version} of ACP, not {VERSION}"
        )
    way = Way.NEW if wanted is None else _way(hello.agent_capabilities, fork=fork)
    session, way, missed = await _session(connection, wanted, way, servers)
    thread = (wanted or "") if way in (Way.RESUME, Way.LOAD) else session.session_id
    if not thread:
        raise RequestFailedError("the agent did not say how it calls the conversation")
    if wishes.model is not None:
        await _choose(connection, thread, session, "model", wishes.model)
    known = session.offered
    mode = wishes.mode or session_modes.wanted(known.current, known.modes, asks_first=asks_first)
    if mode is not None:
        await _set_mode(connection, thread, session, mode)
    return Open(
        thread=thread, way=way, missed=missed, decides=asks_first and mode != session_modes.ALWAYS
    )


async def _session(
    connection: Connection, wanted: str | None, way: Way, servers: Sequence[Message]
) -> tuple[messages.Opened, Way, str]:
    cwd, missed = await connection.where(), ""
    place: dict[str, object] = {"cwd": cwd, "mcpServers": servers[:1]}
    if way is not Way.NEW:
        try:
            params = {"sessionId": wanted, **place}
            return await connection.request(way.value, messages.Opened, params), way, ""
        except RequestFailedError as error:
            if error.fault.code != NOT_FOUND:
                raise
            missed = "its conversation was not there: it begins again"
            place = {"cwd": cwd, "mcpServers": servers[1:]}  # it may have started the first already
    elif wanted is not None:
        missed = "it can't go on with a conversation: it begins again"
    return await connection.request(Way.NEW.value, messages.Opened, place), Way.NEW, missed


def _way(offers: messages.Offers, *, fork: bool) -> Way:
    if fork:
        if offers.session_capabilities.fork is None:
            raise RequestFailedError("it can't copy a conversation")
        return Way.FORK
    if offers.session_capabilities.resume is not None:
        return Way.RESUME
    return Way.LOAD if offers.load_session else Way.NEW


async def _set_mode(
    connection: Connection, thread: str, session: messages.Opened, mode: str
) -> None:
    """The way of an agent that has modes, or of one that has them among its options."""
    known = [each.id for each in session.modes.available_modes] if session.modes else []
    if not known:
        await _choose(connection, thread, session, "mode", mode)
        return
    if mode not in known:
        raise RequestFailedError(f"it has no mode {mode!r}; it has: {', '.join(known)}")
    params: dict[str, object] = {"sessionId": thread, "modeId": mode}
    await connection.request("session/set_mode", messages.Opened, params)


async def _choose(
    connection: Connection, thread: str, session: messages.Opened, category: str, value: str
) -> None:
    options = session.config_options or ()
    option = next((each.id for each in options if each.category == category), None)
    if option is None:
        raise RequestFailedError(f"it does not let its {category} be chosen: leave out {category}")
    params: dict[str, object] = {"sessionId": thread, "configId": option, "value": value}
    await connection.request("session/set_config_option", messages.Opened, params)
