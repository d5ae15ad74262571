"""Runs every benchmark and prints one table of their figures at the end: `python bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from common import FIGURE

HEADER = ("figure", "goal", "measured", "ratio to the floor or peer")


def main() -> None:
    rows, failed = [HEADER], []
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        print(f"== {file.name}", flush=True)
        with subprocess.Popen(
            [sys.executable, file], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            assert process.stdout
            for line in process.stdout:
                if line.startswith(FIGURE):
                    rows.append(tuple(line.removeprefix(FIGURE).rstrip("\n").split("|")))
                else:
                    print(line, end="", flush=True)
        if process.returncode:
            failed.append(file.name)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
