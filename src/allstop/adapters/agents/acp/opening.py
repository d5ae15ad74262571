"""How a conversation is begun or gone on with, by what the agent offers."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from allstop.adapters.agents.acp import messages as told
from allstop.adapters.agents.acp.connection import Connection
from allstop.adapters.agents.acp.verdicts import NOT_FOUND
from allstop.adapters.agents.peer import RefusedError

VERSION = 1
CLIENT: dict[str, object] = {
    "protocolVersion": VERSION,
    "clientInfo": {"name": "allstop", "title": "Allstop", "version": "1"},
    # an agent has hands of its own, in the box; ours would be outside of it
    "clientCapabilities": {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    },
}


class Way(StrEnum):
    NEW = "session/new"
    RESUME = "session/resume"  # the history is not told again
    LOAD = "session/load"  # it is, and by some agents late
    FORK = "session/fork"


class Open(Struct, frozen=True, kw_only=True):
    thread: str
    way: Way
    missed: str = ""  # why it isn't the conversation that was wanted


async def opened(
    connection: Connection, wanted: str | None, *, fork: bool, model: str | None
) -> Open:
    """
    Raises:
        RefusedError, GoneError, SilentError: there is none.
    """
    hello = await connection.request("initialize", told.Hello, CLIENT)
    if hello.protocol_version != VERSION:
        raise RefusedError(f"it speaks version {hello.protocol_version} of ACP, not {VERSION}")
    way = Way.NEW if wanted is None else _way(hello.agent_capabilities, fork=fork)
    session, way, missed = await _session(connection, wanted, way)
    thread = (wanted or "") if way in (Way.RESUME, Way.LOAD) else session.session_id
    if not thread:
        raise RefusedError("the agent did not say how it calls the conversation")
    if model is not None:
        await _choose(connection, thread, session, model)
    return Open(thread=thread, way=way, missed=missed)


async def _session(
    connection: Connection, wanted: str | None, way: Way
) -> tuple[told.Opened, Way, str]:
    place: dict[str, object] = {"cwd": await connection.where(), "mcpServers": []}
    missed = ""
    if way is not Way.NEW:
        try:
            params = {"sessionId": wanted, **place}
            return await connection.request(way.value, told.Opened, params), way, ""
        except RefusedError as error:
            if error.fault.code != NOT_FOUND:
                raise
            missed = "its conversation was not there: it begins again"
    elif wanted is not None:
        missed = "it can't go on with a conversation: it begins again"
    return await connection.request(Way.NEW.value, told.Opened, place), Way.NEW, missed


def _way(offers: told.Offers, *, fork: bool) -> Way:
    if fork:
        if offers.session_capabilities.fork is None:
            raise RefusedError("it can't copy a conversation")
        return Way.FORK
    if offers.session_capabilities.resume is not None:
        return Way.RESUME
    return Way.LOAD if offers.load_session else Way.NEW


async def _choose(connection: Connection, thread: str, session: told.Opened, model: str) -> None:
    options = session.config_options or ()
    option = next((each.id for each in options if each.category == "model"), None)
    if option is None:
        raise RefusedError("it does not let its model be chosen: leave out model")
    params: dict[str, object] = {"sessionId": thread, "configId": option, "value": model}
    await connection.request("session/set_config_option", told.Opened, params)
