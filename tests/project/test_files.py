"""Rules for the files of the project: what may be in them, and how they are built."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from project import project_files
from support.cases import for_each

SHARED_PLACES = {
    "/",
    "/app",
    "/build",
    "/home",
    "/opt",
    "/root",
    "/src",
    "/srv",
    "/tmp",
    "/usr/src",
}


def source_files() -> list[Path]:
    return [file for file in project_files.below("src", "bench", "tools") if is_python(file)]


def is_python(file: Path) -> bool:
    return file.suffix == ".py" or project_files.text(file).startswith("#!/usr/bin/env python3")


def settings_of_package_tools() -> str:
    """What pip, uv and npm are told on this machine."""
    told = [value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "npm_"))]
    commands = [[sys.executable, "-m", "pip", "config", "list"]]
    if npm := shutil.which("npm"):
        commands.append([npm, "config", "get", "registry"])
    for command in commands:
        told.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return "\n".join(told)


def hosts_in(told: str) -> set[str]:
    """Host names; a local one with its port, because `localhost` alone says nothing."""
    places = re.findall(r"https?://(?:[^/@\s']*@)?([^/\s'\",]+)", told)
    return {
        place if re.match(r"localhost|127\.|\[", place) else place.partition(":")[0]
        for place in places
    }


def paths_of_this_machine() -> set[str]:
    """Where the project lies here, unless that is a place every machine has."""
    places = {
        str(project_files.ROOT),
        str(project_files.ROOT.parent),
        str(Path.home()),
    } - SHARED_PLACES
    return {f"{place}/" for place in places}


PUBLIC_REGISTRIES = project_files.ROOT / "src/allstop/settings/detection/registries.py"
"""Names the public registries, because checks may reach them; no other file names any."""


def lines_with(words: set[str], *, without: Path | None = None) -> list[str]:
    """Where one of these stands by itself, not as the end of a longer path or name."""
    if not words:
        return []
    found = re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, sorted(words))) + ")")
    return [
        f"{project_files.name(file)}:{number}"
        for file in project_files.files()
        if file != without
        for number, line in enumerate(project_files.text(file).splitlines(), start=1)
        if found.search(line)
    ]


def test_no_file_names_a_package_registry():
    hosts = hosts_in(settings_of_package_tools())

    assert lines_with(hosts, without=PUBLIC_REGISTRIES) == []


@pytest.mark.parametrize(
    ("told", "hosts"),
    [
        ("global.index-url='https://me:secret@pypi.example.com/simple'", {"pypi.example.com"}),
        ("http://mirror.example.com:8080/a https://npm.example.com/", {"mirror.example.com", "npm.example.com"}),
        ("http://localhost:4873/", {"localhost:4873"}),
        ("file:///srv/wheels", set()),
    ],
)  # fmt: skip
def test_hosts_are_found_in_settings(told, hosts):
    assert hosts_in(told) == hosts


def test_no_file_names_a_path_of_this_machine():
    assert lines_with(paths_of_this_machine()) == []


def test_the_lock_files_hold_hashes_and_no_address():
    for file in project_files.below("requirements"):
        if file.suffix == ".txt":
            versions = re.findall(r"^\S+==", project_files.text(file), re.MULTILINE)

            assert "://" not in project_files.text(file)
            assert project_files.text(file).count("--hash=sha256:") >= len(versions) > 0


def test_the_lock_files_agree_with_each_other():
    def versions(name: str) -> dict[str, str]:
        lock = project_files.text(project_files.ROOT / "requirements" / name)
        return dict(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))

    run, dev = versions("run.txt"), versions("dev.txt")

    assert run.items() <= dev.items()


@for_each("file", source_files, ids=project_files.name)
def test_a_source_file_says_first_what_it_is_for(file):
    source = project_files.text(file)
    lines = source.splitlines()

    if source.strip():
        assert (ast.get_docstring(ast.parse(source)) or "").strip(), "no docstring at the top"
        first = 1 if lines[0].startswith("#!") else 0
        assert lines[first].removeprefix("r").startswith('"""'), "the docstring comes first"


def test_scripts_can_be_run():
    scripts = [
        file
        for file in project_files.below("tools", ".ci")
        if project_files.text(file).startswith("#!")
    ]

    assert scripts
    assert [project_files.name(file) for file in scripts if not os.access(file, os.X_OK)] == []


@for_each(
    "file",
    [f for f in project_files.below("tools", ".ci") if "sh\n" in project_files.text(f)[:40]],
    ids=project_files.name,
)
def test_a_shell_script_can_be_read(file):
    shell = (
        project_files.text(file).splitlines()[0].split()[-1].removeprefix("#!").rpartition("/")[2]
    )

    checked = subprocess.run([shell, "-n", file], capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")
