"""Answers that a person types below the live table of the board that runs in their terminal."""

from __future__ import annotations

import codecs
import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from allstop.app.runs.commands import parse_reply
from allstop.board.attempt import TaskState
from allstop.core.asks import describe_with_options
from allstop.core.commands import Answer
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, child_of
from allstop.core.signals import Signal
from allstop.core.tasks import Status
from allstop.core.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allstop.app.board.driver import BoardSession
    from allstop.core.asks import Ask
    from allstop.core.ids import RunId
    from allstop.core.run import RunState

MAX_CHARS = 2000
MAX_SHOWN = 200
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?")
"""What keys such as the arrows send."""


class Question(NamedTuple):
    run: RunId
    task: str
    text: str
    ask: Ask | None = None  # a request in the middle of a turn; None: the agent waits for an answer

    @property
    def how(self) -> str:
        if self.ask is not None and not self.ask.questions:
            return "y or n, then Enter:"
        return (
            "answer, then Enter:" if self.ask else "answer, then Enter (Enter alone ends the run):"
        )


class AnswerLine:
    """The line that is typed, for the question that the person sees."""

    def __init__(self) -> None:
        self._question: Question | None = None
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def show(self, question: Question | None) -> str:
        """The prompt with what is typed; "" without a question. Another question empties it."""
        if question != self._question:
            self._question, self._text = question, ""
        if question is None:
            return ""
        return f"{question.task} {question.text}  {question.how} {self._text}▏"

    def take(self, data: bytes) -> tuple[Question, str] | None:
        """Add keys; returns a whole line with its question. Keys without a question are dropped.

        What follows the end of a line in the same piece is dropped, too: it may be pasted text.
        """
        text = _SEQUENCE.sub("", self._decoder.decode(data))
        if self._question is None:
            return None
        for key in text:
            if key in "\r\n":
                line, self._text = self._text.strip(), ""
                return self._question, line
            if key in "\x08\x7f":
                self._text = self._text[:-1]
            elif key == "\x15":
                self._text = ""
            elif key.isprintable() and len(self._text) < MAX_CHARS:
                self._text += key
        return None


class TypedAnswers:
    """Reads the terminal while the board runs, and sends what is typed as answers."""

    def __init__(self, session: BoardSession, *, is_on: bool) -> None:
        self._session = session
        self._is_on = is_on
        self._line = AnswerLine()
        self._has_left = False
        self._changed = anyio.Event()

    def prompt(self) -> str:
        return self._line.show(next(self._questions(), None))

    def wake(self) -> None:
        """Something was recorded: perhaps others have answered."""
        self._changed.set()
        self._changed = anyio.Event()

    async def read(self) -> None:
        if not self._is_on:
            return
        keys = sys.stdin.fileno()
        while True:
            await anyio.wait_readable(keys)
            data = os.read(keys, 4096)
            if not data:
                return
            if typed := self._line.take(data):
                await self._send(*typed)

    async def wait_until_given(self) -> None:
        """Wait while a person may answer a question for which the board rests."""
        engine = self._session.runtime.engine
        while self._is_on and not (self._has_left or self._is_held()):
            if next(self._questions(), None) is None:
                return
            await self._changed.wait()
            await engine.idle()

    async def _send(self, question: Question, line: str) -> None:
        engine = self._session.runtime.engine
        if question.ask is not None:
            if reply := parse_reply(question.ask, line):
                await engine.command(question.run, reply)
        elif line:
            await engine.command(question.run, Answer(text=line))
        else:
            self._has_left = True
        self.wake()

    def _is_held(self) -> bool:
        engine = self._session.runtime.engine
        is_board_held = self._session.run().hold is not Hold.NONE
        return engine.was_stopped or is_board_held or engine.helm.hold is not Hold.NONE

    def _questions(self) -> Iterator[Question]:
        """Requests of agents at work first: their turns wait."""
        board, waiting = self._session.run().pilot, []
        for ref, task in board.refs.items():
            run = child_of(BOARD, ref)
            child = self._session.child(run)
            if child is None:
                continue
            for ask in child.asks.values():
                text = one_line(f"asks: {describe_with_options(ask)}", MAX_SHOWN)
                yield Question(run, task, text, ask)
            if _has_asked(child) and board.board[task].status is Status.WAITING:
                waiting.append(Question(run, task, one_line(child.waits, MAX_SHOWN)))
        yield from waiting


def _has_asked(child: RunState[Any]) -> bool:
    pilot = child.pilot
    return isinstance(pilot, TaskState) and pilot.claim.signal is Signal.PENDING
