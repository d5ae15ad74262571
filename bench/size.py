"""Q12: the installed size without extras.

Installs the locked packages into a temporary folder and adds up their files. Prints figures; asserts nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from common import TINY, figure

ROOT = Path(__file__).parents[1]
BUILD_ONLY = ("hatchling", "packaging", "pathspec", "pluggy", "trove_classifiers", "editables")


def size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def install(folder: str) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"),
            *("--no-deps", "--target", folder, "-r", str(ROOT / "requirements" / "run.txt")),
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not TINY:
            install(name)
        parts = {
            path.name: size(path)
            for path in folder.iterdir()
            if path.is_dir() and not path.name.startswith(BUILD_ONLY) and path.name != "bin"
        }
        own = size(ROOT / "src" / "allstop")
        total = sum(parts.values()) + own
        print(f"Q12 installed without extras: {total / 1e6:.0f} MB (goal 120)")
        figure("Q12 installed without extras", f"{total / 1e6:.0f} MB", goal="120 MB")
        largest = sorted(parts.items(), key=lambda part: -part[1])[:8]
        print("    " + ", ".join(f"{part} {bytes_ / 1e6:.1f}" for part, bytes_ in largest))


if __name__ == "__main__":
    main()
