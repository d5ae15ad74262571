"""Talking with one Claude Code process: what it is told, what it says, what it asks."""

from __future__ import annotations

import itertools
from uuid import uuid4

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.claude_code import input_lines, items, turn_end
from allstop.adapters.agents.claude_code.approvals import (
    HOOKS,
    QUESTION,
    answer,
    asked,
    hook_answer,
    shown,
)
from allstop.adapters.agents.claude_code.launch import Leave
from allstop.adapters.agents.claude_code.messages import (
    BROKEN,
    Answer,
    ControlRequest,
    Session,
    UsageSoFar,
)
from allstop.adapters.agents.claude_code.tools import said_to
from allstop.adapters.agents.claude_code.turn_fold import (
    HOOK,
    MCP,
    Dropped,
    End,
    GivenUp,
    Happening,
    TakenUp,
    Telling,
    Unknown,
    Untold,
    When,
)
from allstop.adapters.agents.exception_groups import first_of
from allstop.adapters.agents.output_lines import GATHER_S, GATHERED_BYTES, Line, Lines
from allstop.adapters.agents.turn_tools import Desk
from allstop.core import asks
from allstop.core.mcp import ToolCall
from allstop.core.moves import Failed, Item, TurnDone
from allstop.ports import Child, Live, Stream, Watch
from allstop.programs import Tail

ANSWER_WITHIN_S = 10.0
INTERRUPT_WITHIN_S = 1.0
UNRULED = "it doesn't show its commands to the rules: they see only those that it asks for"
FREE = asks.Answer(leave=asks.Permission.ALLOW, by="its box")


class Exchange:
    def __init__(
        self,
        child: Child,
        telling: Telling,
        watch: Watch,
        moment: When,
        leave: Leave,
        *,
        is_ruled: bool = False,
    ) -> None:
        self._child = child
        self._telling = telling
        self._watch = watch
        self._moment = moment
        self._leave = leave
        self._is_ruled = is_ruled
        self.desk = Desk(watch)
        self._lines = Lines()
        self._errors = Tail(16 * 1024)
        self._sending = anyio.Lock(fast_acquire=True)
        self._numbers = itertools.count(1)
        self._waiting: dict[str, anyio.Event] = {}
        self._answers: dict[str, Answer] = {}
        self._asks: dict[str, anyio.CancelScope] = {}
        self._prompt = str(uuid4())  # its name
        self._begun = anyio.Event()  # the prompt was taken up
        self._told = ""  # the name of what it was told last
        self._taken_up = anyio.Event()  # … and that was
        self._was_idle_talk: set[bool] = set()  # of each thing that was read last

    async def take(self, prompt: str, *, is_going_on: bool) -> End:
        """The turn, to its end. Cancelled, it has the process stop its commands first."""
        try:
            return await self._take(prompt, is_going_on=is_going_on)
        except anyio.get_cancelled_exc_class():
            await self._interrupt()
            raise
        except ExceptionGroup as group:
            raise first_of(group) from group

    async def _take(self, prompt: str, *, is_going_on: bool) -> End:
        async with anyio.create_task_group() as group:
            group.start_soon(self._say_all, prompt, is_going_on)
            end = await self._read(group)
            group.cancel_scope.cancel()
        return end

    async def _say_all(self, prompt: str, is_going_on: bool) -> None:  # noqa: FBT001 - start_soon
        if self._is_ruled:
            told = await self._order("initialize", hooks=HOOKS)
            if told is not None and told.subtype == "error":
                await self._watch.saw(items.notice(UNRULED))
        if is_going_on and (told := await self._order("get_usage")) is not None:
            self._telling.before = _so_far(told)
        await self._send(input_lines.say(prompt, self._prompt))
        await self._tell()

    async def _tell(self) -> None:
        """What people say meanwhile, one after the other; until it will not hear one of them.

        One that does not say that it takes up its prompt would not say so of this either.
        """
        await self._begun.wait()
        while True:
            words = await self._watch.words()
            self._told, self._taken_up = str(uuid4()), anyio.Event()
            self._telling.told.add(self._told)
            await self._send(input_lines.say(words, self._told))
            await self._taken_up.wait()

    async def _read(self, group: TaskGroup) -> End:
        while (chunk := await self._child.receive()) is not None:
            if chunk.stream is Stream.ERR:
                self._errors.add(chunk.data)
                continue
            self._was_idle_talk = set()
            for line in self._lines.feed(chunk.data):
                if (end := await self._line(line, group)) is not None:
                    return end
            if self._was_idle_talk == {True} and len(chunk.data) < GATHERED_BYTES:
                await anyio.sleep(GATHER_S)
        for line in self._lines.end():
            if (end := await self._line(line, group)) is not None:
                return end
        exit_ = await self._child.wait()
        failed = turn_end.crashed(exit_.code, self._errors.text().strip())
        return replace(failed, usage=self._telling.used)

    async def _line(self, line: Line, group: TaskGroup) -> End | None:
        for happening in self._telling.feed(line, self._moment):
            self._was_idle_talk.add(isinstance(happening, Live | Item))
            if (end := await self._happening(happening, group)) is not None:
                return end
        return None

    async def _happening(  # noqa: C901 - one case for each kind
        self, happening: Happening, group: TaskGroup
    ) -> End | None:
        match happening:
            case Live():
                self._watch.live(happening)
            case Item():
                await self._watch.saw(happening)
            case ControlRequest(request_id=id_, request=request) if request.subtype == MCP:
                said = said_to(request)
                if isinstance(said, ToolCall):
                    group.start_soon(self._use, id_, said)
                else:
                    await self._reply(input_lines.permit(id_, {"mcp_response": said}), group)
            case ControlRequest(request_id=id_, request=request) if request.subtype == HOOK:
                if self._is_ruled:
                    group.start_soon(self._show, happening)
                else:
                    await self._reply(input_lines.refuse(id_, f"{HOOK} is not known here"), group)
            case ControlRequest():
                group.start_soon(self._ask, happening)
            case Dropped(id_):
                if scope := self._asks.get(id_):
                    scope.cancel()
            case Unknown(id_, what):
                await self._reply(input_lines.refuse(id_, f"{what} is not known here"), group)
            case Answer(request_id=id_):
                self._heard(id_, happening)
            case TakenUp(name) if name == self._prompt:
                self._begun.set()
            case TakenUp(name) if name == self._told:
                await self._watch.reached()  # before whatever follows from it, its end included
                self._taken_up.set()
            case TakenUp() | Untold():
                pass  # nothing more is told: what was said first is to be heard first
            case GivenUp(failed):
                await self._interrupt()
                return replace(failed, usage=self._telling.used)
            case TurnDone() | Failed():
                return happening
        return None

    async def _ask(self, wanted: ControlRequest) -> None:
        with anyio.CancelScope() as scope:
            self._asks[wanted.request_id] = scope
            is_question = wanted.request.tool_name == QUESTION
            is_free = self._leave is Leave.ALL and not is_question
            told = FREE if is_free else await self._watch.ask(asked(wanted))
            await self._send(input_lines.permit(wanted.request_id, answer(wanted, told)))
        self._asks.pop(wanted.request_id, None)

    async def _show(self, wanted: ControlRequest) -> None:
        """A command, before it thinks of asking: the rules see each."""
        with anyio.CancelScope() as scope:
            self._asks[wanted.request_id] = scope
            told = await self._watch.ask(shown(wanted))
            await self._send(input_lines.permit(wanted.request_id, hook_answer(told)))
        self._asks.pop(wanted.request_id, None)

    async def _use(self, id_: str, call: ToolCall) -> None:
        """One of our tools; as with an ask, it may no longer want to know."""
        with anyio.CancelScope() as scope:
            self._asks[id_] = scope
            said = await self.desk.used(call)
            await self._send(input_lines.permit(id_, {"mcp_response": said}))
        self._asks.pop(id_, None)

    async def _reply(self, line: bytes, group: TaskGroup) -> None:
        """While something else is being sent, it must be read on: it may wait for just that."""
        if self._sending.locked():
            group.start_soon(self._send, line)
        else:
            await self._send(line)

    async def _send(self, line: bytes) -> None:
        """One at a time: while a long prompt is still being read, it may ask already."""
        async with self._sending:
            await self._child.send(line)

    async def _order(self, subtype: str, **more: object) -> Answer | None:
        """What it answers, if it does within a time."""
        id_ = f"allstop-{next(self._numbers)}"
        self._waiting[id_] = anyio.Event()
        with anyio.move_on_after(ANSWER_WITHIN_S):
            await self._send(input_lines.order(id_, subtype, more))
            await self._waiting[id_].wait()
        self._waiting.pop(id_)
        return self._answers.pop(id_, None)

    def _heard(self, id_: str, told: Answer) -> None:
        if waiting := self._waiting.get(id_):
            self._answers[id_] = told
            waiting.set()

    async def _interrupt(self) -> None:
        """It stops its commands, writes down how far it has come, and tells what it used."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(INTERRUPT_WITHIN_S):
            await self._send(input_lines.interrupt())
            while (chunk := await self._child.receive()) is not None:
                lines = self._lines.feed(chunk.data) if chunk.stream is Stream.OUT else ()
                for line in lines:
                    for happening in self._telling.feed(line, self._moment):
                        if isinstance(happening, TurnDone | Failed):
                            return


def _so_far(told: Answer) -> Session:
    try:
        return msgspec.json.decode(told.response, type=UsageSoFar).session
    except BROKEN:
        return Session()
