"""Hides keys that are pressed while a live screen is drawn."""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

LOCAL_MODES = 3  # their index in the attributes of termios


@contextmanager
def hide_typing() -> Iterator[None]:
    """Turn echo off, as typed text would break the drawing, and discard the text at the end.

    The shell would run it otherwise. Ctrl-C still works.
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
