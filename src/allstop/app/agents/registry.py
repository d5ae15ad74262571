"""The agents that the settings name, ready to take turns."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from allstop.app.agents.acp import hire_acp, where_acp
from allstop.app.agents.api_models import PROVIDERS, AgentSetupError, hire_model, key_for
from allstop.app.agents.api_models import where as where_model
from allstop.app.agents.box import box, own_box
from allstop.app.agents.claude_code import find_claude, hire_claude, where_claude
from allstop.app.agents.codex import find_codex, hire_codex, where_codex
from allstop.core.ids import AgentName
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.ports import Abilities, Box, Launcher, Turn, Watch
from allstop.ports import Agent as AgentPort
from allstop.settings.agent_order import roster
from allstop.settings.loader import FILE_NAME
from allstop.settings.model import CHAT_DRIVERS, Agent, Driver

if TYPE_CHECKING:
    from allstop.app.project import Project


class Agents(Mapping[AgentName, AgentPort]):
    """The agents of a process: each is made when it is first wanted, or wanted otherwise."""

    def __init__(self, project: Project, launcher: Launcher) -> None:
        self._project = project
        self._launcher = launcher
        self._made: dict[AgentName, AgentPort] = {}
        self._as: dict[AgentName, tuple[Agent, Box]] = {}
        self._let_go: list[AgentPort] = []

    def hire(self, names: Iterable[AgentName]) -> None:
        """They are there, as the settings have them now.

        Raises:
            CrewError: one of them can't work here.
        """
        for name in names:
            wanted = (settings_of(self._project, name), box(self._project))
            if self._as.get(name) == wanted:
                continue
            new = make(self._project, self._launcher, name)
            if name in self._made:  # it may be in the middle of a turn
                self._let_go.append(self._made[name])
            self._made[name] = new
            self._as[name] = wanted

    def __getitem__(self, name: AgentName) -> AgentPort:
        if name not in self._made:
            if ":" not in name and name not in self._project.settings.agents:
                raise KeyError(name)
            try:
                self.hire([name])
            except AgentSetupError as error:
                return Absent(error)
        return self._made[name]

    def __iter__(self) -> Iterator[AgentName]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    async def close(self) -> None:
        for agent in (*self._let_go, *self._made.values()):
            await agent.close()


class Absent:
    """Stands for an agent that can't work here; whoever asks it for a turn is told why."""

    def __init__(self, error: AgentSetupError) -> None:
        self._why = f"{error.message} ({error.hint})" if error.hint else error.message

    @property
    def abilities(self) -> Abilities:
        return Abilities()

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        return Failed(kind=FailureKind.BAD_REQUEST, message=self._why)

    async def close(self) -> None:
        pass


def known(project: Project, name: str) -> AgentName:
    """An agent that is configured.

    Raises:
        CrewError: it isn't.
    """
    agents = project.settings.agents
    if name not in agents:
        raise AgentSetupError(f"there is no agent {name!r}", configured(project))
    return AgentName(name)


def configured(project: Project) -> str:
    """Who there is; and where others are in a file that does not count yet, that."""
    names = f"configured: {', '.join(project.settings.agents) or 'none'}"
    return "; ".join(filter(None, [names, project.loaded.ignored_note]))


def how_to_name_one(project: Project) -> str:
    """What to do where no agent is configured at all."""
    if project.loaded.ignored_note:
        return project.loaded.ignored_note
    if project.root is None or not (project.root / FILE_NAME).exists():
        return "`allstop init` proposes those that are installed"
    return f"describe one under [agents.NAME] in {FILE_NAME}"


def settings_of(project: Project, name: AgentName) -> Agent:
    """Of a configured agent; or of a model that is named as DRIVER:MODEL.

    Raises:
        CrewError: it is neither.
    """
    driver, _, model = name.partition(":")
    if not model:
        return project.settings.agents[known(project, name)]
    if driver not in CHAT_DRIVERS:
        kinds = ", ".join(sorted(each.value for each in CHAT_DRIVERS))
        raise AgentSetupError(f"{name!r}: there is no model behind {driver!r}", f"drivers: {kinds}")
    address = ollama_address(project) if driver == Driver.OLLAMA else None
    return Agent(driver=Driver(driver), model=model, base_url=address)


def ollama_address(project: Project) -> str:
    """As its own variable says, else where it usually is."""
    host = project.environment.variables.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return PROVIDERS[Driver.OLLAMA].base_url
    place = urlsplit(host if "://" in host else f"http://{host}")
    name = place.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else name  # noqa: S104 - it listens there
    return f"{place.scheme}://{name}:{place.port or 11434}/v1"


def chosen(project: Project, name: str | None = None) -> tuple[AgentName, ...]:
    """Who works, in order of preference.

    Raises:
        CrewError: nobody can.
    """
    settings = project.settings
    names = roster(settings) if name is None else (known(project, name),)
    if not names and settings.agents:
        raise AgentSetupError(
            f"no agent that can work is configured: {', '.join(settings.agents)} can only talk",
            "add one with the driver codex, claude-code, acp or command; rooms need none",
        )
    if not names:
        raise AgentSetupError("no agent is configured", how_to_name_one(project))
    for each in names:
        if settings.agents[each].driver in CHAT_DRIVERS:
            raise AgentSetupError(
                f"agent {each!r} can chat in rooms but can't edit files",
                "for tasks use an agent with the driver codex, claude-code, acp or command",
            )
    return tuple(AgentName(each) for each in names)


def refuse_absent(project: Project, names: Iterable[AgentName]) -> None:
    """Before anything is written down for them to do.

    Raises:
        CrewError: one of them can't work here.
    """
    for name in names:
        where(project, name, settings_of(project, name))


def where(project: Project, name: str, settings: Agent) -> str:
    """What would be started, for people.

    Raises:
        CrewError: it isn't there, or lacks something.
    """
    match settings.driver:
        case Driver.SCRIPTED:
            script = settings.script or ""
            if not ((project.root or Path.cwd()) / script).is_file():
                hint = f"there is no file {script}"
                raise AgentSetupError(f"agent {name!r}: the script can't be read", hint)
            return script
        case Driver.COMMAND:
            return program(_words(project, name, settings)[0], project)
        case Driver.CODEX:
            return where_codex(project, name, settings)
        case Driver.CLAUDE_CODE:
            return where_claude(project, name, settings)
        case Driver.ACP:
            return where_acp(project, name, settings)
        case Driver.OPENAI | Driver.ANTHROPIC | Driver.OLLAMA:
            key_for(project, name, settings)
            return where_model(settings)


def make(project: Project, launcher: Launcher, name: AgentName) -> AgentPort:
    settings = settings_of(project, name)
    match settings.driver:
        case Driver.SCRIPTED:
            return _scripted(project, launcher, name, settings)
        case Driver.COMMAND:
            return _command(project, launcher, name, settings)
        case Driver.OPENAI | Driver.ANTHROPIC | Driver.OLLAMA:
            return hire_model(project, name, settings)
        case Driver.CODEX:
            return hire_codex(project, launcher, name, settings)
        case Driver.CLAUDE_CODE:
            return hire_claude(project, launcher, name, settings)
        case Driver.ACP:
            return hire_acp(project, launcher, name, settings)


def _scripted(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    from allstop.adapters.agents.script import read_script
    from allstop.adapters.agents.scripted import ScriptedAgent

    assert settings.script is not None, "the settings demand one"
    path = (project.root or Path.cwd()) / settings.script
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AgentSetupError(f"agent {name!r}: the script can't be read: {error}") from error
    return ScriptedAgent(
        read_script(text, settings.script),
        launcher=launcher,
        clock=project.clock,
        trusted=project.is_trusted,
    )


def _command(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    from allstop.adapters.agents.command import CommandAgent
    from allstop.adapters.agents.turn_socket import TurnSockets

    first, *others = _words(project, name, settings)
    return CommandAgent(
        (program(first, project), *others),
        launcher=launcher,
        fallback_box=own_box(project, project.folder / "homes" / name),
        clock=project.clock,
        prompt=settings.prompt.value,
        env=_environment(project, settings),
        limit_patterns=project.settings.retry.rate_limit_patterns,
        sockets=TurnSockets(project.folder / "desks"),
    )


def _words(project: Project, name: str, settings: Agent) -> tuple[str, ...]:
    """The program and its arguments."""
    if settings.command:
        return tuple(settings.command)
    withheld = [u for u in project.loaded.untrusted if u.key.startswith(f"agents.{name}.")]
    hint = str(withheld[0]) if withheld else "give it a command in allstop.toml"
    raise AgentSetupError(f"agent {name!r} has no command", hint)


def own_program(project: Project, name: str, settings: Agent) -> str:
    """The program of an agent that has one of its vendor's."""
    find = find_codex if settings.driver is Driver.CODEX else find_claude
    return find(project, name, settings)


def program(name: str, project: Project) -> str:
    """The program as this machine finds it; a relative path is one of the repository's."""
    if "/" in name:
        return name
    found = shutil.which(name, path=project.environment.variables.get("PATH"))
    if found is None:
        raise AgentSetupError(
            f"the program {name!r} is not on PATH", "install it, or give its whole path"
        )
    return found


def _environment(project: Project, settings: Agent) -> Mapping[str, str]:
    host = project.environment.variables
    passed = {name: host[name] for name in settings.pass_env if name in host}
    return {**passed, **settings.env}
