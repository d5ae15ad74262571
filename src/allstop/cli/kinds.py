"""The table of the kinds of runs in the terminal; a kind without an entry gets the defaults."""

from collections.abc import Callable, Mapping

from allstop.cli.terminal_kind import TerminalKind


def _room() -> TerminalKind:
    from allstop.cli.rooms.kind import RoomTerminal

    return RoomTerminal()


def _board() -> TerminalKind:
    from allstop.cli.board.kind import BoardTerminal

    return BoardTerminal()


ENTRIES: Mapping[str, Callable[[], TerminalKind]] = {"board": _board, "room": _room}


def terminal_kind(name: str) -> TerminalKind:
    return ENTRIES.get(name, TerminalKind)()
