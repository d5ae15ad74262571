"""Version managers: the folders of real programs behind their shims.

A shim works only where its whole manager is, which a sandbox doesn't show. The managers themselves
are not asked: they may run scripts that a repository's files name, or install a version.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from allstop.adapters.processes.tools.version_files import (
    Asker,
    installed,
    read_json,
    read_lines,
    read_text,
    read_toml,
    table,
)

_ENV_TOOLS = {"pyenv": "python", "rbenv": "ruby", "nodenv": "node", "goenv": "go"}
_MISE_FILES = (
    "mise.toml",
    ".mise.toml",
    "mise/config.toml",
    ".mise/config.toml",
    ".config/mise.toml",
)
_SAME_TOOL = {"nodejs": "node", "golang": "go"}
_PROGRAM_FOLDERS = ("bin", "go/bin", "packages/bin", ".npm/bin")
SYSTEM = "system"


def expand(path: Sequence[str], asker: Asker) -> tuple[str, ...]:
    """The folders of a PATH, with those of shims replaced by those of the versions in use.

    Relative folders and folders in the repository are left out: the repository controls them.
    """
    folders = (os.path.normpath(folder) for folder in path if folder.startswith("/"))
    kept = (folder for folder in folders if not _is_inside(folder, asker))
    return tuple(dict.fromkeys(chain.from_iterable(_behind(folder, asker) for folder in kept)))


def _is_inside(folder: str, asker: Asker) -> bool:
    return asker.folder is not None and Path(folder).resolve().is_relative_to(
        asker.folder.resolve()
    )


def _behind(folder: str, asker: Asker) -> Iterator[str]:
    here = Path(folder)
    manager = next((manager for fits, manager in _MANAGERS if fits(here)), None)
    if manager is None:
        yield folder
    else:
        yield from (str(each) for each in manager(here, asker) if each.is_dir())


def _is_env_shims(folder: Path) -> bool:
    return folder.name == "shims" and (folder.parent / "versions").is_dir()


def _env_folders(folder: Path, asker: Asker) -> Iterator[Path]:
    """For pyenv, and for rbenv, nodenv and goenv, which work the same way."""
    root = folder.parent
    name = root.name.lstrip(".") if root.name.lstrip(".") in _ENV_TOOLS else "pyenv"
    for version in _env_versions(root, name, asker):
        for found in installed(root / "versions", version.removeprefix(f"{_ENV_TOOLS[name]}-")):
            yield found / "bin"


def _env_versions(root: Path, name: str, asker: Asker) -> list[str]:
    if given := asker.variables.get(f"{name.upper()}_VERSION"):
        return given.split(":")
    local = (each / f".{_ENV_TOOLS[name]}-version" for each in asker.folders_up())
    for file in (*local, root / "version"):
        if words := list(chain.from_iterable(read_lines(file))):
            return words
    return [SYSTEM]


def _is_installs_shims(folder: Path) -> bool:
    return folder.name == "shims" and (folder.parent / "installs").is_dir()


def _installs_folders(folder: Path, asker: Asker) -> Iterator[Path]:
    """For asdf and mise: each tool is in `installs/TOOL/VERSION`."""
    is_mise = folder.parent.name == "mise"
    pinned = _pinned(asker, is_mise=is_mise)
    for tool in sorted((folder.parent / "installs").iterdir()):
        prefix = "MISE" if is_mise else "ASDF"
        variable = f"{prefix}_{tool.name.upper().replace('-', '_')}_VERSION"
        given = asker.variables.get(variable, "").split()
        for version in given or pinned.get(_SAME_TOOL.get(tool.name, tool.name), []):
            for found in installed(tool, version.replace("ref:", "ref-")):
                yield from (found / name for name in _PROGRAM_FOLDERS)
                yield from [found] if is_mise and not (found / "bin").is_dir() else []


def _pinned(asker: Asker, *, is_mise: bool) -> dict[str, list[str]]:
    """The versions by tool; the nearest file that names a tool counts."""
    pinned: dict[str, list[str]] = {}
    names = (*_MISE_FILES, ".tool-versions") if is_mise else (".tool-versions",)
    own = [asker.root("XDG_CONFIG_HOME", ".config") / "mise/config.toml"] if is_mise else []
    for file in (*asker.nearest(*names), *own):
        if file.suffix == ".toml":
            found = {
                tool: _toml_versions(value)
                for tool, value in table(read_toml(file), "tools").items()
            }
        else:
            found = {words[0]: words[1:] for words in read_lines(file)}
        for tool, versions in found.items():
            pinned.setdefault(_SAME_TOOL.get(tool, tool), versions)
    return pinned


def _toml_versions(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case {"version": str(version)}:
            return [version]
        case list():
            return list(chain.from_iterable(map(_toml_versions, value)))
        case _:
            return []


def _is_volta(folder: Path) -> bool:
    return folder.name == "bin" and (folder.parent / "tools/image").is_dir()


def _volta_folders(folder: Path, asker: Asker) -> Iterator[Path]:
    image = folder.parent / "tools/image"
    default = read_json(folder.parent / "tools/user/platform.json")
    node = table(default, "node")
    versions = {"node": node.get("runtime"), "npm": node.get("npm")}
    versions |= {tool: default.get(tool) for tool in ("yarn", "pnpm")}
    projects = (table(read_json(each / "package.json"), "volta") for each in asker.folders_up())
    versions |= next(filter(None, projects), {})
    for tool in ("npm", "pnpm", "yarn", "node"):
        for found in installed(image / tool, str(versions.get(tool) or "")):
            yield found / "bin"
    yield from sorted(image.glob("packages/*/bin"))
    yield from sorted(image.glob("packages/@*/*/bin"))


def _is_rustup(folder: Path) -> bool:
    return (folder / "rustup").is_file()


def _rustup_folders(folder: Path, asker: Asker) -> Iterator[Path]:
    """The toolchain, then the folder itself: programs of `cargo install` are there, too."""
    root = asker.root("RUSTUP_HOME", ".rustup")
    toolchain = asker.variables.get("RUSTUP_TOOLCHAIN") or _pinned_toolchain(asker, root)
    for found in installed(root / "toolchains", toolchain):
        yield found / "bin"
    yield folder


def _pinned_toolchain(asker: Asker, root: Path) -> str:
    settings = read_toml(root / "settings.toml")
    overrides = table(settings, "overrides")
    for folder in asker.folders_up():
        if str(folder) in overrides:
            return str(overrides[str(folder)])
        for file in (folder / "rust-toolchain", folder / "rust-toolchain.toml"):
            if name := table(read_toml(file), "toolchain").get("channel"):
                return str(name)
            if file.suffix == "" and len(words := read_text(file).split()) == 1:
                return words[0]
    return str(settings.get("default_toolchain", ""))


_MANAGERS: tuple[tuple[Callable[[Path], bool], Callable[[Path, Asker], Iterator[Path]]], ...] = (
    (_is_env_shims, _env_folders),
    (_is_installs_shims, _installs_folders),
    (_is_volta, _volta_folders),
    (_is_rustup, _rustup_folders),
)
