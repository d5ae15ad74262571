"""Registry of the configured agents: validates, describes and creates them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from allstop.app.agents.accounts import AccountNames, Accounts, Choice, HeldAgent
from allstop.app.agents.acp import describe_acp, find_acp, make_acp_agent
from allstop.app.agents.agent_programs import (
    AgentSetupError,
    command_line,
    find_program,
)
from allstop.app.agents.api_models import (
    PROVIDERS,
    describe_model,
    make_model_agent,
)
from allstop.app.agents.box import box, own_box
from allstop.app.agents.claude_code import describe_claude, find_claude, make_claude_agent
from allstop.app.agents.codex import describe_codex, find_codex, make_codex_agent
from allstop.app.agents.gateway_agent import (
    NO_HOLDS,
    Holds,
    through_gateway,
    with_allowed_hosts,
)
from allstop.app.agents.keys import (
    KeyedAgent,
    account_key_name,
    has_own_source,
    key_for,
    key_identity,
    refresh_key,
)
from allstop.app.agents.model_access import (
    configuration,
    network_of,
    require_box,
    require_gateway,
    uses_gateway,
)
from allstop.app.agents.outside_logins import ADDRESSES, LoginAddresses
from allstop.app.agents.shared_holds import FILE_NAME as FILE_NAME_OF_HOLDS
from allstop.app.agents.shared_holds import SharedHolds
from allstop.core.ids import AgentName
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.metering.stored_logins import LoginKind
from allstop.ports import Abilities, Box, Launcher, Turn, Watch
from allstop.ports import Agent as AgentPort
from allstop.settings import networks
from allstop.settings.agent_order import roster
from allstop.settings.loader import FILE_NAME
from allstop.settings.model import CHAT_DRIVERS, Agent, Driver, Network

if TYPE_CHECKING:
    from allstop.app.project import Project


class Agents(Mapping[AgentName, AgentPort]):
    """The agents of a process. Each is created on first use, and again after its settings change."""

    def __init__(self, project: Project, launcher: Launcher) -> None:
        self._project = project
        self._launcher = launcher
        self._made: dict[AgentName, AgentPort] = {}
        self._made_from: dict[AgentName, tuple[Agent, Box, Network]] = {}
        self._replaced: list[AgentPort] = []
        folder = project.environment.trust_file.parent
        shared = SharedHolds(folder / FILE_NAME_OF_HOLDS)
        self._accounts = Accounts(project.journal, project.clock, shared)

    def ensure_agents(self, names: Iterable[AgentName]) -> None:
        """Create the agents, or replace them if their settings changed.

        Raises AgentSetupError if one of them can't be used.
        """
        place = box(self._project)
        for name in names:
            settings = settings_of(self._project, name)
            wanted = (settings, place, network_of(self._project, name, settings))
            if self._made_from.get(name) == wanted:
                continue
            choices = [
                self._choice(name, each) for each in by_account(self._project, name, settings)
            ]
            new = HeldAgent(self._accounts, choices, self._project.clock)
            if name in self._made:  # closed later: it may be in the middle of a turn
                self._replaced.append(self._made[name])
            self._made[name] = new
            self._made_from[name] = wanted

    def _choice(self, name: AgentName, settings: Agent) -> Choice:
        account = account_names(self._project, name, settings)
        holds = Holds(
            now=partial(self._accounts.failure, account),
            meet=partial(self._accounts.settle, account),
        )
        made = make_agent(self._project, self._launcher, name, settings, holds)
        return Choice(account, made)

    def __getitem__(self, name: AgentName) -> AgentPort:
        if name not in self._made:
            if ":" not in name and name not in self._project.settings.agents:
                raise KeyError(name)
            try:
                self.ensure_agents([name])
            except AgentSetupError as error:
                return UnusableAgent(error)
        return self._made[name]

    def __iter__(self) -> Iterator[AgentName]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    async def close(self) -> None:
        for agent in (*self._replaced, *self._made.values()):
            await agent.close()


class UnusableAgent:
    """Takes the place of an agent that can't be used: each turn fails with the reason."""

    def __init__(self, error: AgentSetupError) -> None:
        self._why = f"{error.message} ({error.hint})" if error.hint else error.message

    @property
    def abilities(self) -> Abilities:
        return Abilities()

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        return Failed(kind=FailureKind.BAD_REQUEST, message=self._why)

    async def close(self) -> None:
        pass


def by_account(project: Project, name: str, settings: Agent) -> list[Agent]:
    """The agent's settings once for each of its accounts, in order."""
    if not settings.accounts:
        return [settings]
    return [_for_account(project, settings, each) for each in settings.accounts]


def _for_account(project: Project, settings: Agent, account: str) -> Agent:
    """A variable with the account's own key replaces every other source of the key."""
    variable = account_key_name(project, settings, account)
    if variable != settings.api_key_env:
        settings = replace(settings, api_key_file=None, api_key_command=())
    return replace(settings, account=account, api_key_env=variable)


def settings_of_account(project: Project, name: str, account: str | None) -> Agent:
    """The settings of an agent, for one of its accounts; None is the first.

    Raises AgentSetupError if there is no such agent or account.
    """
    settings = project.settings.agents[require_agent(project, name)]
    each = {by.account or name: by for by in by_account(project, name, settings)}
    if account is None:
        return next(iter(each.values()))
    if account not in each:
        raise AgentSetupError(
            f"agent {name!r} has no account {account!r}",
            f"its accounts: {', '.join(each)}; list them in agents.{name}.accounts",
            code="account_unknown",
        )
    return each[account]


def account_names(project: Project, name: str, settings: Agent) -> AccountNames:
    """What agents with the same limits have in common: the account, its key and its address."""
    account, key = settings.account or name, key_identity(settings)
    url = re.sub("//[^/@]*@", "//", settings.base_url or "")
    at = " ".join(filter(None, (key, f"at {url}" if url else "")))
    is_local = settings.driver in (Driver.SCRIPTED, Driver.COMMAND)
    place = str(project.folder) if is_local else ""
    shared = "|".join(part or "" for part in (account, key, url, place))
    return AccountNames(f"{account} ({at})" if at else account, shared)


def require_agent(project: Project, name: str) -> AgentName:
    """Raises AgentSetupError if no agent of that name is configured."""
    agents = project.settings.agents
    if name not in agents:
        raise AgentSetupError(
            f"there is no agent {name!r}", configured_names(project), code="agent_unknown"
        )
    return AgentName(name)


def configured_names(project: Project) -> str:
    """The names for a hint, and a note about settings that are not committed yet."""
    names = f"configured: {', '.join(project.settings.agents) or 'none'}"
    return "; ".join(filter(None, [names, project.loaded.ignored_note]))


def no_agent_hint(project: Project) -> str:
    """What to do if no agent is configured."""
    if project.loaded.ignored_note:
        return project.loaded.ignored_note
    if project.root is not None and not (project.root / FILE_NAME).exists():
        return "`allstop init` proposes those that are installed"
    return f"describe one under [agents.NAME] in {FILE_NAME}"


def settings_of(project: Project, name: AgentName) -> Agent:
    """The settings of a configured agent, or of a model named as DRIVER:MODEL.

    Raises AgentSetupError if it is neither.
    """
    driver, _, model = name.partition(":")
    if not model:
        return project.settings.agents[require_agent(project, name)]
    if driver not in CHAT_DRIVERS:
        kinds = ", ".join(sorted(each.value for each in CHAT_DRIVERS))
        raise AgentSetupError(
            f"{name!r}: {driver!r} is not a driver for models",
            f"drivers: {kinds}",
            code="model_driver_unknown",
        )
    address = ollama_address(project) if driver == Driver.OLLAMA else None
    return Agent(driver=Driver(driver), model=model, base_url=address)


def ollama_address(project: Project) -> str:
    """The address by OLLAMA_HOST, or the default one."""
    host = project.environment.variables.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return PROVIDERS[Driver.OLLAMA].base_url
    place = urlsplit(host if "://" in host else f"http://{host}")
    name = place.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else name  # noqa: S104 - it listens there
    return f"{place.scheme}://{name}:{place.port or 11434}/v1"


def task_agents(project: Project, name: str | None = None) -> tuple[AgentName, ...]:
    """The agents that work on tasks, in order of preference; or the named one.

    Raises AgentSetupError if there is none, or it can't edit files.
    """
    settings = project.settings
    names = roster(settings) if name is None else (require_agent(project, name),)
    if not names and settings.agents:
        raise AgentSetupError(
            f"no agent that can work is configured: {', '.join(settings.agents)} can only talk",
            "add one with the driver codex, claude-code, acp or command; rooms need none",
            code="no_task_agent",
        )
    if not names:
        raise AgentSetupError("no agent is configured", no_agent_hint(project), code="no_agent")
    for each in names:
        if settings.agents[each].driver in CHAT_DRIVERS:
            raise AgentSetupError(
                f"agent {each!r} can chat in rooms but can't edit files",
                "for tasks use an agent with the driver codex, claude-code, acp or command",
                code="agent_chat_only",
            )
    return tuple(AgentName(each) for each in names)


def require_usable(project: Project, names: Iterable[AgentName]) -> None:
    """Raises AgentSetupError if one of them can't be used."""
    for name in names:
        describe_launch(project, name, settings_of(project, name))


def _require_trusted_address(project: Project, name: str) -> None:
    """Raises AgentSetupError if the repository gives the agent an address that needs trust.

    Without it the agent would send its messages somewhere else than the repository says.
    """
    for each in project.loaded.untrusted:
        if each.key == f"agents.{name}.base_url":
            raise AgentSetupError(
                f"agent {name!r}: its base_url in {each.file} needs your trust",
                "run `allstop trust` to see and accept it, or set base_url in your own settings",
                code="agent_address_untrusted",
            )


def describe_launch(project: Project, name: str, settings: Agent) -> str:
    """The program, script or model that the agent starts, for people.

    Raises AgentSetupError if it is missing, or lacks something.
    """
    _require_trusted_address(project, name)
    settings = by_account(project, name, settings)[0]
    require_gateway(project, name, settings)
    match settings.driver:
        case Driver.SCRIPTED:
            script = settings.script or ""
            if not (project.settings_folder / script).is_file():
                raise AgentSetupError(
                    f"agent {name!r}: the script can't be read",
                    f"there is no file {script}",
                    code="script_unreadable",
                )
            return script
        case Driver.COMMAND:
            configuration(project, name, settings)
            return _command_line(project, name, settings)[0]
        case Driver.CODEX:
            return describe_codex(project, name, settings)
        case Driver.CLAUDE_CODE:
            return describe_claude(project, name, settings)
        case Driver.ACP:
            return describe_acp(project, name, settings)
        case Driver.OPENAI | Driver.ANTHROPIC | Driver.OLLAMA:
            key_for(project, name, settings)
            return describe_model(settings)


def make_agent(
    project: Project,
    launcher: Launcher,
    name: AgentName,
    settings: Agent | None = None,
    holds: Holds = NO_HOLDS,
    addresses: Mapping[LoginKind, LoginAddresses] = ADDRESSES,
) -> AgentPort:
    """With `settings`, those of one of its accounts; otherwise of the first.

    `holds`: those of that account, for calls that the gateway passes on.
    `addresses`: of the vendors, for an agent with a login.
    """
    settings = settings or by_account(project, name, settings_of(project, name))[0]
    _require_trusted_address(project, name)
    require_gateway(project, name, settings)
    if networks.of_agents(project.settings) and uses_gateway(project, name, settings):
        require_box(name, launcher.isolation)

    def make() -> AgentPort:
        made = _make_agent(project, launcher, name, settings)
        if not uses_gateway(project, name, settings):
            return with_allowed_hosts(project, launcher, name, settings, made)
        return through_gateway(project, name, settings, made, holds, addresses)

    if not has_own_source(settings):
        return make()
    key = key_for(project, name, settings)
    return KeyedAgent(partial(refresh_key, project, name, settings), make, key)


def _make_agent(
    project: Project, launcher: Launcher, name: AgentName, settings: Agent
) -> AgentPort:
    match settings.driver:
        case Driver.SCRIPTED:
            return _scripted(project, launcher, name, settings)
        case Driver.COMMAND:
            return _command(project, launcher, name, settings)
        case Driver.OPENAI | Driver.ANTHROPIC | Driver.OLLAMA:
            return make_model_agent(project, name, settings)
        case Driver.CODEX:
            return make_codex_agent(project, launcher, name, settings)
        case Driver.CLAUDE_CODE:
            return make_claude_agent(project, launcher, name, settings)
        case Driver.ACP:
            return make_acp_agent(project, launcher, name, settings)


def _scripted(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    from allstop.adapters.agents.script import read_script
    from allstop.adapters.agents.scripted import ScriptedAgent

    assert settings.script is not None, "the settings demand one"
    path = project.settings_folder / settings.script
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"agent {name!r}: the script can't be read: {error}"
        raise AgentSetupError(message, code="script_unreadable") from error
    return ScriptedAgent(
        read_script(text, settings.script),
        launcher=launcher,
        clock=project.clock,
        trusted=project.is_trusted,
    )


def _command(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    from allstop.adapters.agents.command import CommandAgent
    from allstop.adapters.agents.turn_socket import TurnSockets

    configured = configuration(project, name, settings)
    return CommandAgent(
        _command_line(project, name, settings),
        launcher=launcher,
        fallback_box=own_box(project, project.folder / "homes" / name),
        clock=project.clock,
        prompt=settings.prompt.value,
        env=configured.env,
        files=configured.files,
        limit_patterns=project.settings.retry.rate_limit_patterns,
        sockets=TurnSockets(project.folder / "desks"),
    )


def _command_line(project: Project, name: str, settings: Agent) -> tuple[str, ...]:
    """The program and its arguments; a relative path is left to the repository."""
    hint = "give it a command in allstop.toml"
    program, *arguments = command_line(project, name, settings, hint)
    found = program if "/" in program else find_program(project, name, program)
    return (found, *arguments)


def vendor_program(project: Project, name: str, settings: Agent) -> str:
    """The path of the program that logs in."""
    match settings.driver:
        case Driver.CODEX:
            return find_codex(project, name, settings)
        case Driver.ACP:
            return find_acp(project, name, settings)
        case _:
            return find_claude(project, name, settings)
