"""The project's own files, as the tests of its rules see them."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@cache
def files() -> tuple[Path, ...]:
    """Everything git tracks or would take in."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = sorted({name for name in listed.stdout.decode().split("\0") if name})
    return tuple(path for name in names if (path := ROOT / name).is_file())


def below(*folders: str) -> list[Path]:
    return [file for file in files() if file.relative_to(ROOT).parts[0] in folders]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def pages() -> list[Path]:
    """What people read: the pages at the root and those of docs/."""
    return [
        file
        for file in files()
        if file.suffix == ".md" and (file.parent == ROOT or name(file).startswith("docs/"))
    ]


def blocks(page: str, *languages: str) -> list[str]:
    """The code blocks of a page in one of these languages."""
    return [block for language, block in _BLOCK.findall(page) if language in languages]


def inline(page: str) -> list[str]:
    """What a page sets in code within a sentence."""
    return _INLINE.findall(_BLOCK.sub("", page))
