"""Doctor: checks that this machine, the repository and the agents are ready to work."""

from __future__ import annotations

import errno
import math
import os
import posixpath
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters import tracing
from allstop.adapters.checks import BoxedChecks
from allstop.adapters.git.repository.repository import Repository, file_modes
from allstop.adapters.git.workspace.workspaces import GitWorkspaces
from allstop.adapters.processes.memory.cgroups import own_cgroups
from allstop.adapters.processes.memory.memory_limits import POLL_EVERY_S
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox.launch_plan import refuse_unreadable
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.adapters.sockets import bound
from allstop.app import runtime
from allstop.app.agents import registry
from allstop.app.agents.box import own_box, programs_in_settings
from allstop.app.agents.gateway_agent import allowed_hosts
from allstop.app.agents.model_access import (
    BOXLESS,
    is_uncapped,
    uses_gateway,
    why_no_gateway,
    why_whole_network,
)
from allstop.app.agents.token_caps import describe_agent_budgets
from allstop.app.control_room import control_room
from allstop.app.gateway.hosts import hosts_opener
from allstop.app.runs.commands import is_stopped, refuse_if_stopped
from allstop.app.setup.tool_comparison import Tool, compare_tools
from allstop.app.setup.work_networks import describe, lock_files_of_target
from allstop.app.target_gate import TargetFile, check_variables, checks
from allstop.core.errors import AllstopError
from allstop.core.gate import Check
from allstop.core.ids import RunId
from allstop.core.moves import CheckResult, Failed, FailureKind, Item, TurnDone
from allstop.core.prompt import prompt
from allstop.core.text import last_chars
from allstop.engine.deadlines import DeadlineTimer
from allstop.engine.disk_watch import DiskWatch
from allstop.engine.tool_adviser import NullWatch
from allstop.gate.affected import CHANGED
from allstop.ports import Box, Isolation, LaunchError, Turn, Workspaces
from allstop.settings import networks
from allstop.settings.agent_order import roster
from allstop.settings.key_path import Document, value_at
from allstop.settings.model import CHAT_DRIVERS, Agent, Driver
from allstop.settings.model import Network as NetworkSetting
from allstop.settings.problems import SettingsError

if TYPE_CHECKING:
    from allstop.app.project import Project

T = TypeVar("T")

LOW_DISK_BYTES = 2 * 1024**3
TRY_S = 120.0
SUBMODULE = "160000"
_BOXED = (Driver.CODEX, Driver.CLAUDE_CODE, Driver.ACP)
RUNNABLE = ("100755", "120000")  # a link may lead to a program


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    name: str
    ok: bool
    found: str
    hint: str = ""
    needed: bool = True


class AgentFinding(Struct, frozen=True, kw_only=True):
    name: str
    driver: str
    ready: bool
    finding: str
    hint: str = ""
    first: bool = False
    token_budgets: str = ""
    can_edit: bool = True  # it can do tasks; others can only chat in rooms


class GatewayTrial(Struct, frozen=True, kw_only=True):
    """What a turn did in a box whose only way out is the gateway."""

    calls: int  # that went through the gateway and were answered
    tokens: int
    refused: tuple[str, ...]  # names and requests; nothing of them left the box
    unanswered: int = 0  # calls that failed at the provider, or didn't reach it


class AgentTrial(Struct, frozen=True, kw_only=True):
    result: TurnDone | Failed
    seconds: float
    gateway: GatewayTrial | None = None  # None: the agent doesn't use it

    @property
    def ok(self) -> bool:
        """Whether it answered, through the gateway if it has to."""
        return isinstance(self.result, TurnDone) and (
            self.gateway is None or self.gateway.calls > 0
        )


class _TrialWatch(NullWatch):
    def __init__(self) -> None:
        self.items: list[Item] = []

    async def saw(self, item: Item) -> None:
        self.items.append(item)


def look_at_agents(project: Project) -> list[AgentFinding]:
    first = roster(project.settings)[:1]
    return [
        _look_at_agent(project, name, agent, first=name in first)
        for name, agent in project.settings.agents.items()
    ]


def _look_at_agent(project: Project, name: str, agent: Agent, *, first: bool) -> AgentFinding:
    found, hint = _describe(project, name, agent)
    token_budgets = describe_agent_budgets(
        agent,
        by_gateway=uses_gateway(project, name, agent),
        is_uncapped=is_uncapped(project, name, agent),
    )
    return AgentFinding(
        name=name,
        driver=agent.driver.value,
        ready=not hint,
        finding=found,
        hint=hint,
        first=first,
        token_budgets=token_budgets,
        can_edit=agent.driver not in CHAT_DRIVERS,
    )


def _describe(project: Project, name: str, agent: Agent) -> tuple[str, str]:
    try:
        found = registry.describe_launch(project, name, agent)
        is_ours = agent.driver is Driver.COMMAND and "/" in found and not found.startswith("/")
        return found, _why_missing(project, found) if is_ours else ""
    except AllstopError as error:
        return error.message, error.hint or "see the docs"


def _why_missing(project: Project, path: str) -> str:
    """Why a clone would lack a program of the repository; "" if it has it, or it is unknown."""
    name, workspace = posixpath.normpath(path), project.settings.workspace
    folders = [str(each) for each in PurePosixPath(name).parents][:-1]
    if workspace.setup or name.startswith("..") or {name, *folders} & set(workspace.link):
        return ""
    if any(PurePosixPath(name).match(pattern) for pattern in workspace.copy):
        return ""
    branch = runtime.target(project)
    modes = file_modes(project.repository, branch, [name, *folders])
    if SUBMODULE in modes.values() or modes.get(name) in RUNNABLE:
        return ""
    if name in modes:
        return f"it is not executable on {branch}: chmod +x it, and commit that"
    return f"it is not on {branch}, where work starts: commit it"


async def try_agent(project: Project, name: str, text: str) -> AgentTrial:
    """Let an agent take one turn in an empty box.

    Raises AllstopError if the agent can't be used, needs the repository, or an Allstop is in force.
    """
    chosen = registry.require_agent(project, name)
    _refuse_if_of_repository(name, registry.settings_of(project, chosen))
    await refuse_if_stopped(project)
    project.make_folder()
    launcher = await make_launcher(project.settings.sandbox.mode.value, project.live)
    agent = registry.make_agent(project, launcher, chosen)
    began, watch = anyio.current_time(), _TrialWatch()
    result: TurnDone | Failed = Failed(
        kind=FailureKind.TIMED_OUT, message=f"no answer for {TRY_S:g} s"
    )
    with tempfile.TemporaryDirectory(prefix="allstop-try-") as folder:
        with anyio.move_on_after(TRY_S):
            place = _empty_box(project, Path(folder))
            turn = Turn(run=RunId(f"try-{chosen}"), prompt=prompt(text), place=place)
            result = await agent.take_turn(turn, watch)
        await agent.close()
    is_metered = uses_gateway(project, name, registry.settings_of(project, chosen))
    trial = AgentTrial(
        result=result,
        seconds=round(anyio.current_time() - began, 2),
        gateway=_gateway_trial(watch.items) if is_metered else None,
    )
    return project.secrets.redact_all_in(trial)


def _gateway_trial(items: list[Item]) -> GatewayTrial:
    from allstop.app.gateway.agent import REFUSED_ITEM

    made = [item.call for item in items if item.call is not None]
    calls = [call for call in made if 0 < call.status < 400]
    return GatewayTrial(
        calls=len(calls),
        tokens=sum(call.input + call.output for call in calls),
        refused=tuple(item.text for item in items if item.kind == REFUSED_ITEM),
        unanswered=len(made) - len(calls),
    )


def _refuse_if_of_repository(name: str, agent: Agent) -> None:
    program = agent.command[0] if agent.driver is Driver.COMMAND and agent.command else ""
    if "/" in program and not Path(program).is_absolute():
        raise AllstopError(
            f"{program} is a file of the repository, and a trial has an empty box",
            f'try it with a task: allstop run "Reply with the one word: ready" --agent {name}',
            code="program_in_repository",
        )


def _empty_box(project: Project, folder: Path) -> Box:
    (folder / "work").mkdir(mode=0o700)
    return replace(own_box(project, folder / "home"), workspace=str(folder / "work"))


async def examine(project: Project, isolation: Isolation | None = None) -> list[Finding]:
    """All findings except the verification commands. `isolation` saves probing the sandbox."""
    git = await anyio.to_thread.run_sync(_git)
    if not git.ok:  # the other checks need git
        return [_python(), git]
    disk = _disk(project)
    if disk.needed and not disk.ok:
        return [_python(), git, disk]
    project.make_folder()
    isolation = isolation or (await make_launcher("auto", project.live)).isolation
    return [
        _python(),
        git,
        _repository(project),
        *_uncommitted(project),
        *await _store(project),
        _sandbox(project, isolation),
        *_reads(project),
        *_network(project),
        *_gateway(project, isolation),
        *await _work_network(project),
        _memory(project),
        disk,
        _port(project),
        *_traces(project),
        *_agents(project),
        *_verification(project),
        *_uv(project),
        *(
            Finding(name="trust", ok=False, found=str(each), hint=each.hint, needed=False)
            for each in project.loaded.untrusted
        ),
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(name="python", ok=True, found=version)


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding(name="git", ok=False, found="not found", hint="install git")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return Finding(name="git", ok=True, found=done.stdout.strip().removeprefix("git version "))


def _repository(project: Project) -> Finding:
    if project.root is None:
        return Finding(
            name="repository", ok=False, found="none here", hint="git init", needed=False
        )
    if not (project.root / "allstop.toml").exists():
        return Finding(
            name="settings", ok=False, found="no allstop.toml", hint="allstop init", needed=False
        )
    try:
        branch = runtime.target(project)
    except AllstopError as error:
        return Finding(name="repository", ok=False, found=error.message, hint=error.hint)
    return Finding(name="repository", ok=True, found=f"work starts from {branch}")


def _uncommitted(project: Project) -> list[Finding]:
    """A finding if the checkout's allstop.toml has settings that are not in force."""
    if not (found := project.loaded.ignored_note):
        return []
    try:
        project.checkout  # noqa: B018 - reads the file
    except SettingsError:
        hint = "fix it, then commit it"
    else:
        hint = "commit them"
    return [Finding(name="changes", ok=False, found=found, hint=hint, needed=False)]


async def _store(project: Project) -> list[Finding]:
    """A finding if the journal can't be used, or an Allstop is in force."""
    try:
        stopped = await is_stopped(project)
    except AllstopError as error:
        return [Finding(name="store", ok=False, found=error.message, hint=error.hint)]
    if not stopped:
        return []
    found, hint = "in force: no run and no check starts", "`allstop resume` lifts it"
    return [Finding(name="allstop", ok=False, found=found, hint=hint, needed=False)]


def _sandbox(project: Project, isolation: Isolation) -> Finding:
    if isolation.boxed:
        return Finding(name="sandbox", ok=True, found=f"tried: {isolation.how}")
    off = project.settings.sandbox.mode.value == "off"
    return Finding(
        name="sandbox", ok=False, found=isolation.how, hint=isolation.hint, needed=not off
    )


def _reads(project: Project) -> list[Finding]:
    """A finding for each path of [sandbox] read that no box can show: nothing would start."""
    if project.settings.sandbox.mode.value == "off":
        return []
    return [
        Finding(name="sandbox read", ok=False, found=error.message, hint=error.hint)
        for error in refused_reads(project, project.settings.sandbox.read)
    ]


def _network(project: Project) -> list[Finding]:
    """A finding if agents in the sandbox can't reach their models."""
    settings = project.settings
    if (
        networks.of_agents(settings) is not NetworkSetting.NONE
        or settings.sandbox.mode.value == "off"
    ):
        return []
    boxed = [name for name, agent in settings.agents.items() if agent.driver in _BOXED]
    if not boxed:
        return []
    found = f'[sandbox] network is "none": {", ".join(boxed)} can\'t reach a model'
    hint = 'network = "full" opens it for agents and checks'
    return [Finding(name="network", ok=False, found=found, hint=hint, needed=False)]


def _gateway(project: Project, isolation: Isolation) -> Iterator[Finding]:
    """Which agents reach only their model, which could, and why others have the whole network."""
    settings = project.settings
    boxed = {name: each for name, each in settings.agents.items() if each.driver not in BOXLESS}
    metered = [name for name, each in boxed.items() if uses_gateway(project, name, each)]
    if metered and not isolation.boxed:
        found = f"not used for {', '.join(metered)}: only a sandbox can close the network"
        yield Finding(name="gateway", ok=False, found=found, hint=isolation.hint, needed=False)
    elif metered:
        hosts = ", ".join(allowed_hosts(project))
        reach = f"reach only their model and {hosts}" if hosts else "reach only their model"
        found = f"{', '.join(metered)}: {reach}, no key in the box"
        yield Finding(
            name="gateway", ok=True, found=f"{found}; `allstop agents test NAME` proves it"
        )
    if networks.of_agents(settings) is NetworkSetting.FULL:
        able = [name for name, each in boxed.items() if why_no_gateway(project, name, each) is None]
        if able:
            found = f"not used: {', '.join(able)} can send anything anywhere, the key included"
            hint = '[sandbox] network = "model-only" lets them reach only their model'
            yield Finding(name="gateway", ok=False, found=found, hint=hint, needed=False)
    elif networks.of_agents(settings) is None:
        for name, each in boxed.items():
            if (why := why_whole_network(project, name, each)) is not None:
                found = f"{name} has the whole network: {why.why}"
                yield Finding(name="gateway", ok=False, found=found, hint=why.hint, needed=False)


async def _work_network(project: Project) -> list[Finding]:
    """What checks can reach, if a sandbox keeps them from the rest."""
    if project.settings.sandbox.mode.value == "off" or project.root is None:
        return []
    found = describe(project, await lock_files_of_target(project))
    return [Finding(name="checks reach", ok=True, found=found)]


def refused_reads(project: Project, paths: Iterable[str]) -> Iterator[LaunchError]:
    """Why a box can't show these paths, for each that it can't."""
    host = replace(this_host(), home=str(project.environment.home))
    for path in paths:
        try:
            refuse_unreadable(os.path.expanduser(path), host)  # noqa: PTH111
        except LaunchError as error:
            hint = error.hint or f"correct {path} in [sandbox] read, or remove it"
            yield LaunchError(error.message, hint, code=error.code)


def reads_in(document: Document) -> list[str]:
    """The paths of [sandbox] read in a settings file."""
    found = value_at(document, ("sandbox", "read"))
    return list(map(str, found)) if isinstance(found, list | tuple) else []


def _memory(project: Project) -> Finding:
    most_mb = project.settings.limits.memory_mb
    if most_mb is None:
        return Finding(name="memory", ok=True, found="no limit: [limits] memory_mb sets one")
    how = "enforced by the kernel" if own_cgroups() else f"checked every {POLL_EVERY_S:g} s"
    found = f"{most_mb:,} MB for a task's programs together, {how}"
    is_linux = sys.platform == "linux"
    hint = "" if is_linux else "this system can only limit each program by itself"
    return Finding(name="memory", ok=is_linux, found=found, hint=hint, needed=False)


def _disk(project: Project) -> Finding:
    folder = project.folder if project.folder.exists() else (project.root or Path.cwd())
    free = shutil.disk_usage(folder).free
    found = f"{free / 1024**3:.1f} GiB free"
    writable = os.access(folder, os.W_OK)
    hint = "" if free >= LOW_DISK_BYTES else "workspaces may need more"
    hint = hint if writable else "it must be writable and on a writable disk"
    return Finding(
        name="disk",
        ok=writable and not hint,
        found=found if writable else f"{folder} can't be written",
        hint=hint,
        needed=not writable,
    )


def _port(project: Project) -> Finding:
    """Whether the control room's port is free."""
    room, server = control_room(project.folder), project.settings.server
    if room is not None:
        found = f"the control room of this repository is open at {room.url}"
        return Finding(name="port", ok=True, found=found, needed=False)
    where = f"{server.host} port {server.port}"
    try:
        bound(server.host, server.port).close()
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        found = f"another program listens on {where}" if taken else f"{where}: {error.strerror}"
        hint = "the control room needs another: set [server] port, or `allstop up --port 0`"
        return Finding(name="port", ok=False, found=found, hint=hint, needed=False)
    found = f"{where} is free" if server.port else "any free port"
    return Finding(name="port", ok=True, found=f"{found} for the control room", needed=False)


def _traces(project: Project) -> list[Finding]:
    """A finding if traces are on."""
    traces = project.settings.traces
    if not traces.on:
        return []
    if not tracing.is_installed():
        hint = tracing.MISSING.partition(": ")[2]
        return [Finding(name="traces", ok=False, found="no OpenTelemetry", hint=hint, needed=False)]
    found = "sent as OTEL_… says" if traces.endpoint is None else "sent to [traces] endpoint"
    return [Finding(name="traces", ok=True, found=found, needed=False)]


def _verification(project: Project) -> list[Finding]:
    if project.root is None or project.settings.verification.commands:
        return []
    found = "no checks are configured: work is accepted unverified"
    hint = "add commands to [verification] in allstop.toml"
    return [Finding(name="checks", ok=False, found=found, hint=hint, needed=False)]


def _uv(project: Project) -> list[Finding]:
    """A finding if the checks run uv, and there is no .venv that the sandbox could use."""
    root = project.root
    is_run = root is not None and "uv" in programs_in_settings(project)
    if root is None or not is_run or ".venv" not in project.settings.workspace.link:
        return []
    if (root / ".venv").is_dir() or not (root / "uv.lock").exists():
        return []
    found = "there is no .venv: each check makes its own, and may have to download packages"
    hint = "`uv sync` makes one; the sandbox then uses it, read-only and without downloads"
    return [Finding(name="uv", ok=False, found=found, hint=hint, needed=False)]


def _agents(project: Project) -> list[Finding]:
    found = look_at_agents(project)
    if not found:
        hint = registry.no_agent_hint(project)
        return [Finding(name="agents", ok=False, found="none", hint=hint, needed=False)]
    return [
        Finding(
            name=f"agent {agent.name}",
            ok=agent.ready,
            found=agent.finding,
            hint=agent.hint,
            needed=agent.first,
        )
        for agent in found
    ]


class Trial(Struct, frozen=True, kw_only=True):
    """The results of the verification commands in a box, and the programs that they name."""

    checks: tuple[CheckResult, ...] = ()
    tools: tuple[Tool, ...] = ()
    notes: tuple[str, ...] = ()  # about the workspace


async def try_checks(project: Project) -> Trial:
    """Run each verification command on the target branch, in a box.

    Raises AllstopError if the workspace can't be made, or an Allstop is in force.
    """
    await refuse_if_stopped(project)
    project.make_folder()
    launcher = await make_launcher(project.settings.sandbox.mode.value, project.live)
    repository = Repository(project.repository)
    file = TargetFile(project, repository, lambda note: None)
    workspaces = await runtime.open_workspaces(project, launcher, repository, file)
    name = f"~doctor{os.getpid()}"  # never a task's id, and unique to this process
    target = runtime.target(project)
    try:
        opening = workspaces.open(name, target, "doctor")
        opened = await _within_disk_limit(workspaces, name, opening)
        if isinstance(opened, str | Failed):
            message = opened if isinstance(opened, str) else opened.message
            raise AllstopError(message, code="workspace_not_opened")
        env = check_variables(project)
        boxed = BoxedChecks(
            launcher,
            trusted=project.is_trusted,
            open_hosts=hosts_opener(launcher, "verification"),
            env=lambda: env,
        )
        tools = await compare_tools(project, launcher, workspaces.box_of(name))
        results = [
            await _try_check(boxed, check, workspaces, name) for check in checks(project.settings)
        ]
        return Trial(
            checks=tuple(project.secrets.redact_all_in(result) for result in results),
            tools=tuple(tools),
            notes=opened.notes,
        )
    finally:
        with anyio.CancelScope(shield=True):
            await workspaces.discard(name)


async def _try_check(
    boxed: BoxedChecks, check: Check, workspaces: GitWorkspaces, name: str
) -> CheckResult:
    check = replace(check, run=check.run.replace(CHANGED, ""))  # nothing has changed yet
    running = boxed.run(check, workspaces.check_box_of(name), "doctor", lambda live: None)
    not_done = CheckResult(name=check.name, run=check.run, required=check.required, passed=False)
    with anyio.move_on_after(check.timeout_s):
        result = await _within_disk_limit(workspaces, name, running)
        return replace(not_done, output=result) if isinstance(result, str) else result
    why = f"it did not end within {check.timeout_s:g} s"
    return replace(not_done, timed_out=True, output=why)


async def _within_disk_limit(workspaces: Workspaces, name: str, doing: Awaitable[T]) -> T | str:
    """The result, or why it was ended: it used more disk space than allowed."""
    done: list[T] = []
    space = DiskWatch(workspaces)
    async with anyio.create_task_group() as group:
        group.start_soon(space.keep)
        with (
            DeadlineTimer().deadlines(math.inf) as deadlines,
            deadlines.scope,
            space.watched(name, deadlines, workspaces.over_limit),
        ):
            done.append(await doing)
        group.cancel_scope.cancel()
    return done[0] if done else deadlines.why


def missing_line(result: CheckResult) -> str:
    """Why the check failed; of its output, the line that most likely names what the box lacks."""
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    if result.code is None:  # it did not run to its end, and this is the reason
        return last_chars(": ".join(lines) or "it could not be run", 400)
    marks = ("not found", "No such file", "No module named", "cannot find", "Permission denied")
    marked = [line for line in lines if any(mark in line for mark in marks)]
    without = f"it ended with exit code {result.code} and printed nothing"
    return last_chars((marked or lines or [without])[-1], 200)
