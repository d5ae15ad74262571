"""The programs that a sandbox shows besides the agent's: those that the person would run."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from allstop.adapters.processes.sandbox.program_needs import (
    contains_home,
    find_program,
    is_always_visible,
)
from allstop.adapters.processes.tools.version_files import Asker
from allstop.adapters.processes.tools.version_managers import expand

COMMON = (
    "python", "python3", "pip", "pip3", "uv", "uvx", "pytest", "ruff", "mypy", "black", "tox",
    "nox", "poetry", "pdm", "hatch", "pipenv", "pre-commit", "node", "npm", "npx", "corepack",
    "pnpm", "yarn", "bun", "bunx", "deno", "tsc", "cargo", "rustc", "rustfmt", "rustdoc",
    "cargo-clippy", "cargo-fmt", "cargo-nextest", "go", "gofmt", "golangci-lint", "ruby", "bundle",
    "rake", "java", "javac", "mvn", "gradle", "php", "composer", "elixir", "mix", "dotnet", "swift",
    "zig", "make", "just", "task", "cmake", "ninja", "rg", "fd", "jq",
)  # fmt: skip
"""Agents run these without naming them in the settings."""

_UV_PYTHONS = "UV_PYTHON_INSTALL_DIR"
_HOMES = (
    ".local/bin", ".cargo/bin", ".volta/bin", "go/bin", ".bun/bin", ".deno/bin", ".pyenv/shims",
    ".asdf/shims", ".local/share/mise/shims", "bin",
)  # fmt: skip
_VERSIONS = (".nvm/versions/node/*/bin", "sdk/go*/bin", ".pyenv/versions/*/bin")
_USUAL = ("/usr/local/go/bin", "/home/linuxbrew/.linuxbrew/bin", "/opt/homebrew/bin", "/snap/bin")


class PersonTools(Struct, frozen=True, kw_only=True):
    path: tuple[str, ...] = ()  # the person's PATH, with real folders instead of shims
    programs: tuple[str, ...] = ()  # outside /usr, so a sandbox has to show them
    read: tuple[str, ...] = ()  # further folders that they need
    env: dict[str, str] = {}


def find_tools(asker: Asker, names: Iterable[str] = ()) -> PersonTools:
    """Find the common tools and those of these names, as the person's shell would."""
    path = expand(asker.variables.get("PATH", "").split(os.pathsep), asker)
    wanted = dict.fromkeys((*names, *COMMON))
    found = {name: find_program(name, path) for name in wanted if "/" not in name}
    programs = [each for some in found.values() for each in some if not is_always_visible(each)]
    pythons = _uv_pythons(asker) if found.get("uv") else None
    return PersonTools(
        path=path,
        programs=tuple(dict.fromkeys(programs)),
        read=() if pythons is None else (str(pythons),),
        env={} if pythons is None else {_UV_PYTHONS: str(pythons)},
    )


def _uv_pythons(asker: Asker) -> Path | None:
    """The folder of the Pythons that uv has installed: in the sandbox, uv has another home."""
    data = asker.root("XDG_DATA_HOME", ".local/share")
    folder = asker.root(_UV_PYTHONS, str(data / "uv/python")).resolve()
    is_shown = folder.is_dir() and not contains_home(folder, str(asker.home))
    return folder if is_shown else None


def installed_elsewhere(name: str, asker: Asker) -> str:
    """Where a program is installed that is not on the PATH; "" if it isn't found."""
    found = find_program(name, expand(tuple(_usual_folders(asker.home)), asker))
    return found[0] if found else ""


def _usual_folders(home: Path) -> Iterator[str]:
    yield from (str(home / name) for name in _HOMES)
    for pattern in _VERSIONS:
        yield from (str(each) for each in sorted(home.glob(pattern), reverse=True))
    yield from _USUAL
