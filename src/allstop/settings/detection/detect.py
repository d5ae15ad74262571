"""Detects checks, agents and workspace folders for `allstop init`, without running anything."""

import shutil
from collections.abc import Iterator, Mapping
from os import pathsep
from pathlib import Path

from msgspec import Struct

from allstop.settings.detection.ecosystems import ProposedCheck, propose_checks
from allstop.settings.detection.presets import PRESETS, Preset
from allstop.settings.detection.registries import is_lock_file, registries_in
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
    api_key_env: str = ""
    pass_env: tuple[str, ...] = ()
    prompt: PromptBy = PromptBy.STDIN
    done: DoneBy = DoneBy.SIGNAL
    can_edit: bool = True
    """Whether it can edit files; other agents only chat."""


class Detected(Struct, frozen=True, kw_only=True):
    checks: tuple[ProposedCheck, ...] = ()
    agents: tuple[ProposedAgent, ...] = ()
    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    registries: tuple[str, ...] = ()  # that the lock files beside allstop.toml name


def detect(root: Path, environment: Environment) -> Detected:
    files = RepositoryFiles(root)
    return Detected(
        checks=propose_checks(files),
        agents=tuple(_agents(root, environment)),
        link=files.folders(".venv", "venv", "node_modules"),
        copy=(".env*",) if files.has_any(".env*") else (),
        registries=tuple(dict.fromkeys(_registries(files))),
    )


def _registries(files: RepositoryFiles) -> Iterator[str]:
    for name in files.names(is_lock_file):
        yield from registries_in(name, files.text(name))


def _proposed(preset: Preset, variables: Mapping[str, str]) -> ProposedAgent:
    """Its key and its address are passed on if they are set: it wouldn't start without them."""
    key = preset.key_env if variables.get(preset.key_env) else ""
    knows = not preset.command  # its driver passes the key and `base_url`
    has_key_setting = preset.driver is Driver.ACP
    others = (preset.base_url_env, *preset.more_env)
    passed = others if has_key_setting else (key, *others)
    return ProposedAgent(
        name=preset.name,
        driver=preset.driver,
        reason=f"{preset.program} is installed" + (f", {key} is set" if key else ""),
        command=preset.command,
        api_key_env=key if has_key_setting else "",
        pass_env=() if knows else tuple(filter(variables.get, passed)),
        prompt=preset.prompt,
        done=preset.done,
    )


OLLAMA = ProposedAgent(
    name="ollama",
    driver=Driver.OLLAMA,
    reason="ollama is installed",
    model="llama3.2",
    can_edit=False,
)

_KEYS = (
    ("ANTHROPIC_API_KEY", "claude", Driver.ANTHROPIC),
    ("OPENAI_API_KEY", "gpt", Driver.OPENAI),
)


def _agents(root: Path, environment: Environment) -> Iterator[ProposedAgent]:
    path = _search_path(root, environment)
    installed = [
        _proposed(preset, environment.variables) for preset in found_presets(root, environment)
    ]
    if shutil.which("ollama", path=path):
        installed.append(OLLAMA)
    yield from installed
    taken = {agent.name for agent in installed}
    for variable, name, driver in _KEYS:
        if environment.variables.get(variable):
            free = f"{name}-api" if name in taken else name
            reason = f"{variable} is set"
            yield ProposedAgent(name=free, driver=driver, reason=reason, can_edit=False)


def found_presets(root: Path, environment: Environment) -> list[Preset]:
    """The presets whose program is on PATH."""
    path = _search_path(root, environment)
    return [preset for preset in PRESETS if shutil.which(preset.program, path=path)]


def _search_path(root: Path, environment: Environment) -> str:
    """PATH without relative folders and folders inside the repository, which it could control."""
    folders = environment.variables.get("PATH", "").split(pathsep)
    return pathsep.join(
        folder
        for folder in folders
        if Path(folder).is_absolute() and not Path(folder).resolve().is_relative_to(root.resolve())
    )
