"""The command `allstop`."""

from __future__ import annotations

from allstop.cli import main

if __name__ == "__main__":
    main()
