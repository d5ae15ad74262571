"""The command `allstop`."""

from __future__ import annotations

import sys

from allstop import __version__


def main() -> None:
    if sys.argv[1:] == ["--version"]:  # to load what reads other words takes four times as long
        print(f"allstop, version {__version__}")  # noqa: T201
        return
    from allstop.cli import main as run

    run()


if __name__ == "__main__":
    main()
