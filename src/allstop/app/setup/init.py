"""Making a repository ready for the first time: allstop.toml from what is found here."""

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
from allstop.app.setup.edit_setting import Change, change, digest_of
from allstop.core.errors import AllstopError
from allstop.settings.consistency import RESERVED_NAMES
from allstop.settings.detection.detect import Detected, ProposedAgent, detect
from allstop.settings.detection.template import render
from allstop.settings.loader import FILE_NAME
from allstop.settings.model import Driver
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


def find(project: Project) -> Detected:
    return detect(project.repository, project.environment)


def first_file(project: Project, detected: Detected) -> str:
    """The text of a first allstop.toml."""
    return render(detected, checked_out_branch(project.repository))


def begin(project: Project, first: str = "", *, own: str = "") -> Detected:
    """Write allstop.toml, and accept what it asks for.

    `first` works on tasks that name nobody; or `own` does, which may also be the command line of a
    program that nobody has heard of.

    Raises:
        AllstopError: there is one already, or there is no such agent.
    """
    path = project.repository / FILE_NAME
    there = AllstopError(f"{FILE_NAME} is there already", "edit it, or look: allstop config")
    if os.path.lexists(path):
        raise there
    detected = find(project)
    if own and own not in {SCRIPTED.name, *(agent.name for agent in detected.agents)}:
        detected, first = with_program(detected, own)
    detected = _with_first(detected, first or own)
    text = first_file(project, detected)
    if SCRIPTED in detected.agents:
        _write_script(project)
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise there from None  # somebody was quicker
    with file:
        file.write(text)
    accept_file(project)
    return detected


def add_scripted(project: Project) -> None:
    """To a file that is there already. What it asks for is not accepted by that.

    Raises:
        AllstopError: the file can't be changed from here.
    """
    agent = {"driver": SCRIPTED.driver.value, "script": SCRIPTED.script}
    key = f"agents.{SCRIPTED.name}"
    change(project, Change(key=key, value=agent, digest=digest_of(project)))
    _write_script(project)
    project.forget_settings()


def accept_file(project: Project) -> None:
    """Whoever writes the file here accepts what it asks for."""
    project.forget_settings()
    accept(project, project.checkout.sensitive)


def accept(project: Project, *asked: Document) -> None:
    trust(project.environment.trust_file, project.repository, *asked)
    project.forget_settings()


def _with_first(detected: Detected, first: str) -> Detected:
    known = (*detected.agents, SCRIPTED) if first == SCRIPTED.name else detected.agents
    if first and first not in {agent.name for agent in known if agent.can_edit}:
        raise AllstopError(f"no agent {first!r} was found here", "look again, or take scripted")
    return replace(detected, agents=tuple(sorted(known, key=lambda agent: agent.name != first)))


def with_program(detected: Detected, line: str) -> tuple[Detected, str]:
    """The same with a program of the person's own, and its name.

    Raises:
        AllstopError: that is no command line.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        said = f"{line!r} is no command line: {error}"
        raise AllstopError(said, "quote it as a shell would") from error
    if not words or not words[0]:
        raise AllstopError("the command line names no program", 'such as "my-agent --flag"')
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
    assert SCRIPTED.script is not None, "it is what it does"
    (project.repository / SCRIPTED.script).write_text(_SCRIPT, encoding="utf-8")
