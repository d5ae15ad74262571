"""Keys of agents: from a variable, a file, or a command of the person; never written anywhere."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio

from allstop.app.agents.agent_programs import AgentSetupError, find_program
from allstop.app.secrets import ReadKey, key_file
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.core.text import one_line
from allstop.ports import Abilities, Turn, Watch
from allstop.ports import Agent as AgentPort
from allstop.settings.model import STANDARD_KEY, Agent, Driver

if TYPE_CHECKING:
    from allstop.app.project import Project

COMMAND_S = 60.0
"""A command may ask the person to unlock something."""

KEPT = timedelta(minutes=5)
"""How long the output of a command is used."""

MAX_KEY_BYTES = 16 * 1024
NOT_READ_YET = "allstop-key-not-read-yet"
"""Stands for the key of a command until the first turn runs it."""


def has_own_source(settings: Agent) -> bool:
    """Whether the key comes from a file or a command, which may change while Allstop runs."""
    return bool(settings.api_key_command or settings.api_key_file)


def key_name(settings: Agent) -> str:
    """The variable that holds the key; "" if none is needed."""
    if settings.api_key_env is not None:
        return settings.api_key_env
    return STANDARD_KEY.get(settings.driver, "")


def describe_key(settings: Agent) -> str:
    """Where the key comes from, for people; "" if none is needed."""
    if settings.api_key_command:
        return f"key by `{settings.api_key_command[0]}`"
    if settings.api_key_file:
        return f"key in {settings.api_key_file}"
    return f"{variable} is set" if (variable := key_name(settings)) else ""


def key_identity(settings: Agent) -> str | None:
    """What agents with the same key have in common."""
    if settings.api_key_command:
        return one_line(" ".join(settings.api_key_command), 60)
    return settings.api_key_file or settings.api_key_env


def account_key_name(project: Project, settings: Agent, account: str) -> str | None:
    """The variable of an account's own key, if it is set; else the agent's `api_key_env`."""
    variable = f"{key_name(settings)}_{re.sub('[^A-Za-z0-9]', '_', account).upper()}"
    is_set = bool(key_name(settings)) and variable in project.environment.variables
    return variable if is_set else settings.api_key_env


def key_for(project: Project, name: str, settings: Agent) -> str:
    """The agent's key; "" if none is needed. A command is not run here.

    Raises AgentSetupError if there is no key, or it can't be one.
    """
    if settings.api_key_command:
        find_program(project, name, settings.api_key_command[0])
        read = project.read_keys.get(settings.api_key_command)
        return read.key if read else NOT_READ_YET
    if settings.api_key_file:
        return _usable(name, _read_file(project, name, settings.api_key_file), settings)
    if not (variable := key_name(settings)):
        return ""
    key = project.environment.variables.get(variable, "").strip()
    if not key:
        has_login = settings.driver in (Driver.CODEX, Driver.CLAUDE_CODE)
        login = f"`allstop agents login {name}`, " if has_login and not settings.base_url else ""
        raise AgentSetupError(
            f"agent {name!r} has no key: the variable {variable} is not set",
            f"{login}export {variable}=…, name another variable with api_key_env, "
            'or set api_key_env = "" for an endpoint without keys',
            code="agent_key_missing",
        )
    return _usable(name, key, settings)


async def refresh_key(project: Project, name: str, settings: Agent) -> str:
    """The agent's key as it is now; a command is run again after a while.

    Raises AgentSetupError if there is none.
    """
    if command := settings.api_key_command:
        before, now = project.read_keys.get(command), project.clock.now()
        if before is None or not before.at <= now < before.at + KEPT:
            key = _usable(name, await _run(project, name, command), settings)
            project.read_keys[command] = ReadKey(key, now)
            project.reload_secrets()
    return key_for(project, name, settings)


def _read_file(project: Project, name: str, path: str) -> str:
    try:
        with key_file(project.environment, path).open("rb") as file:
            return file.read(MAX_KEY_BYTES).decode(errors="replace").strip()
    except OSError as error:
        raise AgentSetupError(
            f"agent {name!r}: the key's file {path} can't be read: {error.strerror}",
            "correct api_key_file",
            code="agent_key_missing",
        ) from error


async def _run(project: Project, name: str, command: tuple[str, ...]) -> str:
    program = find_program(project, name, command[0])
    environment = project.environment
    try:
        with anyio.fail_after(COMMAND_S):
            done = await anyio.run_process(
                [program, *command[1:]],
                stdin=None,
                input=b"",
                check=False,
                cwd=environment.home,
                env=dict(environment.variables),
            )
    except (OSError, TimeoutError) as error:
        why = f"it didn't end within {COMMAND_S:g} s" if isinstance(error, TimeoutError) else error
        raise _failed(name, command, str(why)) from error
    if done.returncode:
        last = one_line(done.stderr.decode(errors="replace"), 200)
        raise _failed(name, command, f"exit code {done.returncode} {last}".strip())
    return done.stdout[:MAX_KEY_BYTES].decode(errors="replace").strip()


def _failed(name: str, command: tuple[str, ...], why: str) -> AgentSetupError:
    return AgentSetupError(
        f"agent {name!r}: its api_key_command {command[0]} gave no key: {why}",
        "run it in your shell: it must print the key and nothing else",
        code="agent_key_command_failed",
    )


def _usable(name: str, key: str, settings: Agent) -> str:
    """Raises AgentSetupError if the value can't be a key."""
    if key and key.isascii() and key.isprintable():
        return key
    source = (
        f"the output of {settings.api_key_command[0]}"
        if settings.api_key_command
        else settings.api_key_file or f"the value of {key_name(settings)}"
    )
    raise AgentSetupError(
        f"agent {name!r}: {source} can't be a key",
        "a key has only printable ASCII characters",
        code="agent_key_invalid",
    )


class KeyedAgent:
    """Reads its key before each turn, and makes its agent again if the key has changed."""

    def __init__(
        self, read: Callable[[], Awaitable[str]], make: Callable[[], AgentPort], key: str
    ) -> None:
        """`key`: the one with which `make` works now."""
        self._read, self._make, self._key = read, make, key
        self._agent = make()
        self._replaced: list[AgentPort] = []

    @property
    def abilities(self) -> Abilities:
        return self._agent.abilities

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        try:
            key = await self._read()
        except AgentSetupError as error:
            why = f"{error.message} ({error.hint})" if error.hint else error.message
            return Failed(kind=FailureKind.AUTH, message=why)
        if key != self._key:
            self._replaced.append(self._agent)  # another turn may be using it
            self._agent, self._key = self._make(), key
        return await self._agent.take_turn(turn, watch)

    async def close(self) -> None:
        for agent in (*self._replaced, self._agent):
            await agent.close()
