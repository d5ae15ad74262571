"""The most that can be said of anything: in settings, at the terminal, over HTTP, in a record."""

from __future__ import annotations

COUNT = 10**12
MINUTES = 525_600  # of a year
DOLLARS = 1_000_000_000
SLOTS = 256
PRIORITY = 1_000_000_000
