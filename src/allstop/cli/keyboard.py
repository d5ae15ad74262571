"""Keys that are pressed while a screen is being drawn."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

LOCAL_MODES = 3  # where termios keeps them


@contextmanager
def unseen() -> Iterator[None]:
    """What is typed is not shown, since it would tear up what is drawn, and is gone afterwards,
    since the shell would take it for a command. Ctrl-C works as ever.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = termios.tcgetattr(terminal)
    silent[LOCAL_MODES] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
