"""Compares the programs that checks and the setup command name, inside and outside the sandbox."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, json
from msgspec.structs import replace

from allstop.adapters.checks import FoundProgram, find_programs
from allstop.adapters.processes.sandbox.mounts import Link, is_within
from allstop.adapters.processes.sandbox.program_needs import find_program, needs_of
from allstop.adapters.processes.tools.person_tools import installed_elsewhere
from allstop.app.agents.box import asker, person_tools, programs_in_settings
from allstop.app.setup.edit_setting import Change, digest_of, write_setting
from allstop.app.setup.init import accept_file
from allstop.ports import Box, Launcher
from allstop.settings.loader import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allstop.app.project import Project

READ = "sandbox.read"


class Tool(Struct, frozen=True, kw_only=True):
    """A program by its name, outside and inside the sandbox; "" where there is none."""

    name: str
    ok: bool
    found: str
    hint: str = ""
    outside: str = ""
    inside: str = ""
    version: str = ""  # inside
    outside_version: str = ""
    read: str = ""  # the path that [sandbox] read lacks


async def compare_tools(project: Project, launcher: Launcher, box: Box) -> list[Tool]:
    """Look for each program outside, and run it with --version in the sandbox only.

    Outside, nothing is run: the repository chooses the names.
    """
    names = programs_in_settings(project)
    path = person_tools(project).path
    outside = {name: (*find_program(name, path), "")[0] for name in names}
    seen = await find_programs(launcher, box, names, "doctor")
    others = [
        each
        for name, each in outside.items()
        if each and name in seen and not _is_same(each, seen[name])
    ]
    versions = await find_programs(launcher, box, others, "doctor", others)
    return [
        _compare(project, name, outside[name], seen.get(name), versions.get(outside[name]))
        for name in names
    ]


def _is_same(program: str, seen: FoundProgram) -> bool:
    return os.path.realpath(program) == seen.real


def _compare(
    project: Project,
    name: str,
    outside: str,
    inside: FoundProgram | None,
    other: FoundProgram | None,
) -> Tool:
    tool = Tool(name=name, ok=True, found="", outside=outside)
    if inside is None:
        return _missing(project, tool)
    tool = replace(
        tool,
        found=_join(inside.version, inside.path),
        inside=inside.path,
        version=inside.version,
        outside_version=other.version if other else inside.version if outside else "",
    )
    is_own = project.root is not None and is_within(inside.path, str(project.root))
    if other is None or is_own or other.version == inside.version:
        return tool
    found = f"{_join(inside.version, inside.path)}; outside: {_join(other.version, outside)}"
    return _with_fix(project, tool, found, outside)


def _missing(project: Project, tool: Tool) -> Tool:
    if tool.outside:
        found = f"installed at {tool.outside}, but the sandbox doesn't show it"
        return _with_fix(project, tool, found, tool.outside)
    elsewhere = installed_elsewhere(tool.name, asker(project))
    shim = shutil.which(tool.name, path=project.environment.variables.get("PATH", ""))
    if shim:
        found = f"{shim} leads to no version that is in use"
        hint = "choose a version that is installed and has it"
    elif elsewhere:
        found, hint = f"installed at {elsewhere}, which is not on your PATH", ""
    else:
        found, hint = "not installed", "install it"
    if not elsewhere:
        return replace(tool, ok=False, found=found, hint=hint)
    fixed = _with_fix(project, tool, found, elsewhere)
    return replace(fixed, hint=f"{hint}, or {fixed.hint}" if hint else fixed.hint)


def _with_fix(project: Project, tool: Tool, found: str, program: str) -> Tool:
    home = project.environment.home
    read = _in_home(_folder_of(program, home, person_tools(project).path), home)
    hint = f"add to {FILE_NAME}: {_line(project, [read])} (`allstop doctor --fix` adds it)"
    return replace(tool, ok=False, found=found, hint=hint, read=read)


def _folder_of(program: str, home: Path, path: Sequence[str]) -> str:
    """The narrowest path that shows a program and its parts."""
    real = os.path.realpath(program)
    mounts = needs_of(program, home=str(home), path=path).mounts
    shown = [
        each.dest for each in mounts if not isinstance(each, Link) and is_within(real, each.dest)
    ]
    return shown[0] if shown and shown[0] != real else program


def _in_home(path: str, home: Path) -> str:
    return f"~/{Path(path).relative_to(home)}" if Path(path).is_relative_to(home) else path


def _line(project: Project, reads: Iterable[str]) -> str:
    listed = json.encode(_with_reads(project, reads)).decode().replace('","', '", "')
    return f"[sandbox] read = {listed}"


def _with_reads(project: Project, reads: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*project.checkout.settings.sandbox.read, *reads)))


def _join(version: str, path: str) -> str:
    return f"{version} at {path}" if version else path


def add_reads(project: Project, tools: Iterable[Tool]) -> str:
    """Write the missing paths into allstop.toml; returns what was done, "" if nothing was missing.

    The settings stay trusted if they were: the person asked for this change.

    Raises AllstopError if the file can't be edited.
    """
    reads = [tool.read for tool in tools if tool.read]
    if not reads:
        return ""
    was_trusted = not project.checkout.untrusted
    value = _with_reads(project, reads)
    write_setting(project, Change(key=READ, value=value, digest=digest_of(project)))
    project.forget_settings()
    if was_trusted:
        accept_file(project)
    then = "" if was_trusted else "accept it with `allstop trust`, and "
    return f"Wrote {_line(project, ())} to {FILE_NAME}: {then}commit the file."
