"""Q30: try whether a reader can guess from its path what a module holds.

Print random module paths. Write down a guess for each, then run the command again with
`--answers` and the same seed, which prints the first line of each module beside its path.
"""

from __future__ import annotations

import argparse
import ast
import random
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def modules() -> list[Path]:
    """List the modules of the program, without the generated and the empty ones."""
    found = sorted((ROOT / "src" / "allstop").rglob("*.py"))
    return [path for path in found if path.name != "__init__.py"]


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def main() -> None:
    """Print the sample, with the answers if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many paths to print")
    parser.add_argument("--seed", type=int, default=1, help="which sample to print")
    parser.add_argument("--answers", action="store_true", help="print what each module holds")
    arguments = parser.parse_args()
    paths = modules()
    count = min(arguments.count, len(paths))
    for path in sorted(random.Random(arguments.seed).sample(paths, count)):
        name = path.relative_to(ROOT / "src" / "allstop").as_posix()
        print(f"{name}: {first_line(path)}" if arguments.answers else name)
    if not arguments.answers:
        print("figure skipped: a reader has to guess; --answers prints what the modules hold")


if __name__ == "__main__":
    main()
