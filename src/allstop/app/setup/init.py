"""Init: writes a first allstop.toml from the agents and checks that are found."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Set
from itertools import chain, count
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.adapters.git.repository.repository import checked_out_branch
from allstop.app.agents.model_access import BOXLESS, why_whole_network
from allstop.app.setup.edit_setting import Change, digest_of, write_setting
from allstop.core.errors import AllstopError
from allstop.settings.consistency import RESERVED_NAMES
from allstop.settings.detection.detect import Detected, ProposedAgent, detect
from allstop.settings.detection.template import render
from allstop.settings.loader import FILE_NAME
from allstop.settings.model import Agent, Driver
from allstop.settings.repository_trust.accepted import trust

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.key_path import Document

SCRIPTED = ProposedAgent(
    name="scripted",
    driver=Driver.SCRIPTED,
    reason="does what its script says, without a model or a key",
    script=".allstop/scripted.toml",
)

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")

_SCRIPT = """\
# What the scripted agent does, whatever its task is. A real agent would decide for itself.
[[turn]]
steps = [
    { say = "I am a script: no model, no key. I write one file, so that you see how work goes." },
    { sleep = 1.5 },
    { write = "hello-from-allstop.md", text = "# Hello\\n\\nA scripted agent wrote this.\\n" },
    { say = "It is written. Now the gate decides whether it is good." },
    { sleep = 1.0 },
    { use = { input = 1200, output = 80 } },
    { signal = "COMPLETE" },
]
"""


def detect_setup(project: Project) -> Detected:
    return detect(project.repository, project.environment)


def first_file(project: Project, detected: Detected) -> str:
    """The text of a first allstop.toml."""
    metered = {agent.name for agent in detected.agents if _can_reach_only_its_model(project, agent)}
    return render(detected, checked_out_branch(project.repository), metered)


def _can_reach_only_its_model(project: Project, agent: ProposedAgent) -> bool:
    settings = Agent(
        driver=agent.driver,
        command=agent.command,
        model=agent.model,
        api_key_env=agent.api_key_env or None,
        pass_env=agent.pass_env,
    )
    is_boxed = settings.driver not in BOXLESS
    return is_boxed and why_whole_network(project, agent.name, settings) is None


def write_settings(project: Project, first: str = "", *, own: str = "") -> Detected:
    """Write allstop.toml, and trust its sensitive settings.

    The default agent is `first`, or `own`: a detected agent, or the command line of any program.

    Raises AllstopError if the file exists already, or there is no such agent.
    """
    path = project.repository / FILE_NAME
    exists = AllstopError(
        f"{FILE_NAME} is there already",
        "edit it; `allstop config` shows the settings",
        code="settings_exist",
    )
    if os.path.lexists(path):
        raise exists
    detected = detect_setup(project)
    if own and own not in {SCRIPTED.name, *(agent.name for agent in detected.agents)}:
        detected, first = with_program(detected, own)
    detected = _with_first(detected, first or own)
    text = first_file(project, detected)
    if SCRIPTED in detected.agents:
        _write_script(project)
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise exists from None  # made by another process meanwhile
    with file:
        file.write(text)
    accept_file(project)
    return detected


def add_scripted(project: Project) -> None:
    """Add the scripted agent to an existing file, without trusting the file.

    Raises AllstopError if the file can't be edited.
    """
    agent = {"driver": SCRIPTED.driver.value, "script": SCRIPTED.script}
    key = f"agents.{SCRIPTED.name}"
    write_setting(project, Change(key=key, value=agent, digest=digest_of(project)))
    _write_script(project)
    project.forget_settings()


def accept_file(project: Project) -> None:
    """Trust the sensitive settings of the checkout's file, which this process has written."""
    project.forget_settings()
    accept(project, project.checkout.sensitive)


def accept(project: Project, *asked: Document) -> None:
    trust(project.environment.trust_file, project.settings_folder, *asked)
    project.forget_settings()


def _with_first(detected: Detected, first: str) -> Detected:
    known = (*detected.agents, SCRIPTED) if first == SCRIPTED.name else detected.agents
    if first and first not in {agent.name for agent in known if agent.can_edit}:
        hint = "name one that was found, or scripted"
        raise AllstopError(f"no agent {first!r} was found here", hint, code="agent_not_detected")
    return replace(detected, agents=tuple(sorted(known, key=lambda agent: agent.name != first)))


def with_program(detected: Detected, line: str) -> tuple[Detected, str]:
    """Add the person's own program as an agent; returns its name, too.

    Raises AllstopError if that is no command line.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        message = f"{line!r} is no command line: {error}"
        raise AllstopError(message, "quote it as in a shell", code="bad_command_line") from error
    if not words or not words[0]:
        hint = 'for example "my-agent --flag"'
        raise AllstopError("the command line names no program", hint, code="bad_command_line")
    taken = {agent.name for agent in detected.agents}
    name = _name_for(PurePath(words[0]).name, taken)
    agent = ProposedAgent(
        name=name, driver=Driver.COMMAND, reason="a program of yours", command=tuple(words)
    )
    return replace(detected, agents=(agent, *detected.agents)), name


def _name_for(program: str, taken: Set[str]) -> str:
    plain = _NOT_IN_NAMES.sub("-", program.rpartition(".")[0] or program).strip("-").lower()
    name = plain if plain and plain not in RESERVED_NAMES else "mine"
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    return next(each for each in names if each not in taken)


def _write_script(project: Project) -> None:
    project.make_folder()
    assert SCRIPTED.script is not None
    (project.repository / SCRIPTED.script).write_text(_SCRIPT, encoding="utf-8")
