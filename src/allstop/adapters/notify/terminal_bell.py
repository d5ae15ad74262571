"""Rings the terminal's bell."""

from typing import TextIO

from allstop.views.alerts import Alert, Level

BELL = "\a"


class Bell:
    name = "bell"

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    async def tell(self, alert: Alert) -> str:
        if alert.level is Level.INFO:
            return ""
        try:
            self._terminal.write(BELL)
            self._terminal.flush()
        except (OSError, ValueError):
            return "the terminal is closed"
        return ""
