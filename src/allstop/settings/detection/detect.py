"""Detects checks, agents and workspace folders for `allstop init`, without running anything."""

import shutil
from collections.abc import Iterator
from os import pathsep
from pathlib import Path
from typing import Any

from msgspec import Struct

from allstop.settings.detection.ecosystems import ProposedCheck, propose_checks
from allstop.settings.detection.repository_files import RepositoryFiles
from allstop.settings.model import DoneBy, Driver, PromptBy
from allstop.settings.sources.environment import Environment


class ProposedAgent(Struct, frozen=True, kw_only=True):
    name: str
    driver: Driver
    reason: str
    command: tuple[str, ...] = ()
    model: str | None = None
    script: str | None = None
    prompt: PromptBy = PromptBy.STDIN
    done: DoneBy = DoneBy.SIGNAL
    can_edit: bool = True
    """Whether it can edit files; other agents only chat."""


class Detected(Struct, frozen=True, kw_only=True):
    checks: tuple[ProposedCheck, ...] = ()
    agents: tuple[ProposedAgent, ...] = ()
    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()


def detect(root: Path, environment: Environment) -> Detected:
    files = RepositoryFiles(root)
    return Detected(
        checks=propose_checks(files),
        agents=tuple(_agents(root, environment)),
        link=files.folders(".venv", "venv", "node_modules"),
        copy=(".env*",) if files.has_any(".env*") else (),
    )


def _installed(name: str, driver: Driver, **more: Any) -> ProposedAgent:
    return ProposedAgent(name=name, driver=driver, reason=f"{name} is installed", **more)


_PROGRAMS = (
    _installed("codex", Driver.CODEX),
    _installed("claude", Driver.CLAUDE_CODE),
    _installed("gemini", Driver.ACP, command=("gemini", "--acp")),
    _installed("opencode", Driver.ACP, command=("opencode", "acp")),
    _installed(
        "aider",
        Driver.COMMAND,
        command=("aider", "--yes-always", "--no-pretty", "--no-check-update", "--message"),
        prompt=PromptBy.ARG,
        done=DoneBy.EXIT,
    ),
    _installed("ollama", Driver.OLLAMA, model="llama3.2", can_edit=False),
)

_KEYS = (
    ("ANTHROPIC_API_KEY", "claude", Driver.ANTHROPIC),
    ("OPENAI_API_KEY", "gpt", Driver.OPENAI),
)


def _agents(root: Path, environment: Environment) -> Iterator[ProposedAgent]:
    path = _search_path(root, environment)
    installed = [agent for agent in _PROGRAMS if shutil.which(agent.name, path=path)]
    yield from installed
    taken = {agent.name for agent in installed}
    for variable, name, driver in _KEYS:
        if environment.variables.get(variable):
            free = f"{name}-api" if name in taken else name
            reason = f"{variable} is set"
            yield ProposedAgent(name=free, driver=driver, reason=reason, can_edit=False)


def _search_path(root: Path, environment: Environment) -> str:
    """PATH without relative folders and folders inside the repository, which it could control."""
    folders = environment.variables.get("PATH", "").split(pathsep)
    return pathsep.join(
        folder
        for folder in folders
        if Path(folder).is_absolute() and not Path(folder).resolve().is_relative_to(root.resolve())
    )
