"""Shows an alert on the desktop with `notify-send` or `osascript`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from allstop.addresses.background_call import run_in_thread
from allstop.views.alerts import Alert, Level

TIMEOUT_S = 5.0

PROGRAMS = ("notify-send", "osascript")

_KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "USER",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)

_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
"""The text is passed as arguments, so that it can't be run as script."""

_NO_MARKUP = str.maketrans({"<": "(", ">": ")", "&": "+"})
"""Some desktops interpret markup and others show it, so it is removed."""


def find_desktop(variables: Mapping[str, str]) -> Desktop | None:
    """Search only absolute folders of PATH: a relative one could be in the repository."""
    folders = [each for each in variables.get("PATH", "").split(":") if each.startswith("/")]
    for name in PROGRAMS:
        if found := shutil.which(name, path=":".join(folders)):
            return Desktop(found, variables)
    return None


class Desktop:
    name = "desktop"

    def __init__(self, program: str, variables: Mapping[str, str]) -> None:
        self._program = program
        self._environment = {name: variables[name] for name in _KEPT_VARIABLES if name in variables}

    async def tell(self, alert: Alert) -> str:
        return await run_in_thread(lambda: self._run(alert))

    def _run(self, alert: Alert) -> str:
        program = Path(self._program).name
        try:
            done = subprocess.run(
                [self._program, *_arguments(program, alert)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                cwd="/",
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{program} did not end within {TIMEOUT_S:g} s"
        except (OSError, ValueError) as error:
            return f"{program} can't be started ({type(error).__name__})"
        return "" if done.returncode == 0 else f"{program} ended with code {done.returncode}"


def _arguments(program: str, alert: Alert) -> list[str]:
    if program == "osascript":
        lines = [argument for line in _SCRIPT for argument in ("-e", line)]
        return [*lines, alert.title, alert.text]
    urgency = "low" if alert.level is Level.INFO else "normal"
    title, text = (part.translate(_NO_MARKUP) for part in (alert.title, alert.text))
    return ["--app-name=allstop", f"--urgency={urgency}", "--", title, text]
