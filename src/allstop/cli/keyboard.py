"""The keyboard of a terminal: keys pressed while a live screen is drawn, and single keys."""

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

LOCAL_MODES, CHARACTERS = 3, 6  # their index in the attributes of termios


@contextmanager
def hide_typing() -> Iterator[None]:
    """Turn echo off, as typed text would break the drawing, and discard the text at the end.

    The shell would run it otherwise. Keys can be read without waiting for Enter. Ctrl-C still
    works.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = termios.tcgetattr(terminal)
    silent[LOCAL_MODES] &= ~(termios.ECHO | termios.ICANON)
    silent[CHARACTERS][termios.VMIN], silent[CHARACTERS][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def discard_typing() -> None:
    """Forget what was typed so far: it was not meant for what is shown now."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def read_key() -> str:
    """Wait for a key; "" at the end of input. Ctrl-C interrupts as usual."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        return os.read(terminal, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
