"""A room on an interactive terminal: streamed replies above a line for typing."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
import termios
import tty
import unicodedata
from collections.abc import AsyncIterator
from datetime import datetime
from types import TracebackType
from typing import Any

from allstop.cli.rooms.screen import PlainRoomScreen, event_lines, status_line
from allstop.core.json_stream import MessageExtractor
from allstop.core.room_specs import NoticeKind
from allstop.core.text import one_line, plain
from allstop.ports import Live
from allstop.rooms.session import RoomState
from allstop.views.rooms import EventType, RoomEvent

INDENT = " " * 10
COLOURS = (36, 35, 32, 33, 34)
DIM, BOLD, RED = 2, 1, 31
_KEYS = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|O.|.)?")


class TerminalRoomScreen(PlainRoomScreen):
    is_interactive = True

    def __init__(self) -> None:
        self._is_coloured = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._before: Any = None  # the attributes of the terminal
        self._drawn = 0  # lines at the bottom that are redrawn
        self._status_line = ""
        self._input = ""
        self._colours: dict[str, int] = {}
        self._speaker = ""
        self._call = ""  # the id of the call whose text is shown
        self._early_text: dict[str, str] = {}  # text of other calls, which may be shown later
        self._extractor = MessageExtractor()
        self._line = ""  # the incomplete last line of the reply
        self._shown_text = ""  # the whole reply so far
        self._speaker_shown = False  # the name stands on the first line

    def __enter__(self) -> TerminalRoomScreen:
        fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(fd)
        tty.setcbreak(fd)
        self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._erase()
        sys.stdout.flush()
        if self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    # --- events and streamed text ---

    def event(self, event: RoomEvent) -> None:
        match event.type:
            case EventType.AGENT_CALL:
                self._reset_reply()
                self._speaker, self._call = event.target, event.call_id
                self._stream_text(self._early_text.pop(event.call_id, ""))
            case EventType.AGENT_RESPONSE if self._shown_text.strip() == plain(event.text).strip():
                self._end_line()
                used = _used(event)
                self._print(*([self._dim(f"{INDENT}{used}")] if used else []))
                self._reset_reply()
            case EventType.AGENT_RESPONSE:
                self._discard_reply("")
                self._print(*self._coloured(event))
            case EventType.SYSTEM if event.kind is NoticeKind.CUT:
                pass  # the text is on the screen
            case EventType.SYSTEM if event.kind in (NoticeKind.ENDED, NoticeKind.WARNING):
                self._discard_reply("discarded")
                self._print(*self._coloured(event))
            case _:
                self._print(*self._coloured(event))

    def live(self, live: Live, call_id: str) -> None:
        if live.kind != "text":
            super().live(live, call_id)
        elif call_id == self._call:
            self._stream_text(live.text)
        else:
            self._early_text[call_id] = self._early_text.get(call_id, "") + live.text

    def _stream_text(self, text: str) -> None:
        words = plain(self._extractor.feed(text))
        self._shown_text += words
        *whole, self._line = (self._line + words.replace("\t", "    ")).split("\n")
        room = max(20, shutil.get_terminal_size().columns - len(INDENT) - len(self._speaker) - 4)
        while (fits := _fitting(self._line, room)) < len(self._line):
            at = self._line.rfind(" ", 0, fits)
            at = at if at > 0 else fits
            whole.append(self._line[:at])
            self._line = self._line[at:].lstrip(" ")
        self._print(*(self._reply_line(line) for line in whole))

    def show_status(self, room: RoomState) -> None:
        self._status_line = one_line(status_line(room), 1000)
        self._erase()
        self._draw()

    def note(self, text: str) -> None:
        self._print(self._dim(f"{INDENT}{plain(text)}"))

    # --- the reply, line by line ---

    def _reset_reply(self) -> None:
        self._extractor, self._line, self._shown_text = MessageExtractor(), "", ""
        self._call = ""
        self._speaker_shown = False

    def _reply_line(self, line: str) -> str:
        if self._speaker_shown:
            return f"{INDENT}{line}"
        self._speaker_shown = True
        at = f"{datetime.now().astimezone():%H:%M:%S}"  # noqa: TID251 - only shown
        return f"{self._dim(at)}  {self._name(self._speaker)}: {line}"

    def _end_line(self) -> None:
        line, self._line = self._line, ""
        if line:
            self._print(self._reply_line(line))

    def _discard_reply(self, why: str) -> None:
        """End a reply that was shown in part and doesn't count."""
        if self._shown_text:
            self._end_line()
            if why:
                self._print(self._dim(f"{INDENT}({why})"))
        self._reset_reply()

    # --- the terminal ---

    def _coloured(self, event: RoomEvent) -> list[str]:
        lines = event_lines(event)
        if event.type is EventType.SYSTEM:
            code = RED if event.kind is NoticeKind.ENDED else DIM
            return [self._paint(line, code) for line in lines]
        who = event.sender
        return [line.replace(f"  {who}:", f"  {self._name(who)}:", 1) for line in lines]

    def _name(self, who: str) -> str:
        code = self._colours.setdefault(who, COLOURS[len(self._colours) % len(COLOURS)])
        return self._paint(who, code, BOLD)

    def _dim(self, text: str) -> str:
        return self._paint(text, DIM)

    def _paint(self, text: str, *codes: int) -> str:
        if not self._is_coloured or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"

    def _print(self, *lines: str) -> None:
        self._erase()
        for line in lines:
            _write(f"{line}\n")
        self._draw()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        lines = []
        if self._line:
            head = INDENT if self._speaker_shown else f"{INDENT}{self._speaker}: "
            lines.append(_cut(head + self._line, width - 1))
        if self._status_line:
            lines.append(self._dim(_cut(self._status_line, width - 1)))
        typed = _cut(self._input[::-1], width - 4)[::-1]  # the end, where the cursor is
        lines.append(f"> {typed}")
        _write("\n".join(lines))
        sys.stdout.flush()
        self._drawn = len(lines)

    def _erase(self) -> None:
        if self._drawn:
            up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
            _write(f"\r{up}\x1b[J")
            self._drawn = 0

    # --- typing ---

    async def typed(self) -> AsyncIterator[str]:
        import anyio

        fd = sys.stdin.fileno()
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while True:
            await anyio.wait_readable(fd)
            data = _read(fd)
            if not data:
                return
            keys = decoder.decode(data)
            for key in _KEYS.sub("", keys):
                if key in "\r\n":
                    line, self._input = self._input, ""
                    if line.strip():
                        yield line
                elif key == "\x04" and not self._input:
                    return
                else:
                    self._input = _edited(self._input, key)
            self._erase()
            self._draw()


def _write(text: str) -> None:
    """Write to the terminal. The caller has passed all text of others through `plain`."""
    sys.stdout.write(text)  # with colours and cursor moves of this screen


def _read(fd: int) -> bytes:
    """The typed bytes; none if the terminal was closed."""
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""


def _edited(text: str, key: str) -> str:
    match key:
        case "\x7f" | "\b":
            return text[:-1]
        case "\x15":  # Ctrl-U
            return ""
        case "\x17":  # Ctrl-W
            return text.rstrip().rpartition(" ")[0] + " " if " " in text.rstrip() else ""
        case _:
            return text + key if key.isprintable() else text


def _cut(text: str, columns: int) -> str:
    return text[: _fitting(text, columns)]


def _fitting(text: str, columns: int) -> int:
    """How many characters fit: a redrawn line must not wrap."""
    if len(text) <= columns and text.isascii():
        return len(text)
    for count, char in enumerate(text):
        columns -= 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if columns < 0:
            return count
    return len(text)


def _used(event: RoomEvent) -> str:
    usage = event.usage
    if usage is None or not usage.tokens:
        return ""
    cost = f" · ${usage.cost_microusd / 1e6:.4f}" if usage.cost_microusd else ""
    cached = f" ({usage.cached:,} from the cache)" if usage.cached else ""
    return f"{usage.tokens:,} tokens{cached}{cost}"
