"""Runs one turn in a Claude Code process: sends messages, reads events, answers requests."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.claude_code import input_lines, items, turn_end, turn_fold
from allstop.adapters.agents.claude_code.approvals import (
    HOOKS,
    QUESTION,
    read_ask,
    read_hook,
    write_answer,
    write_hook_answer,
)
from allstop.adapters.agents.claude_code.launch import PermissionMode
from allstop.adapters.agents.claude_code.messages import (
    DECODE_ERRORS,
    Answer,
    ControlRequest,
    Session,
    UsageSoFar,
)
from allstop.adapters.agents.claude_code.tools import read_request
from allstop.adapters.agents.exception_groups import first_error
from allstop.adapters.agents.offered_tools import TurnTools
from allstop.adapters.agents.output_lines import BATCH_BYTES, BATCH_S, Line, LineSplitter
from allstop.core import asks
from allstop.core.mcp import ToolCall
from allstop.core.moves import Failed, Item, TurnDone
from allstop.ports import Child, Live, Stream, Watch
from allstop.programs import Tail

ANSWER_WITHIN_S = 10.0
INTERRUPT_WITHIN_S = 1.0
UNRULED = "Claude Code can't show every command to the rules: they see only those it asks about"
ALLOWED_BY_BOX = asks.Answer(leave=asks.Permission.ALLOW, by="its box")


class TurnProcess:
    def __init__(
        self,
        child: Child,
        fold: turn_fold.TurnFold,
        watch: Watch,
        local_time: turn_fold.ClockReader,
        permissions: PermissionMode,
        *,
        is_ruled: bool = False,
    ) -> None:
        self._child = child
        self._fold = fold
        self._watch = watch
        self._local_time = local_time
        self._permissions = permissions
        self._is_ruled = is_ruled
        self.tools = TurnTools(watch)
        self._lines = LineSplitter()
        self._errors = Tail(16 * 1024)
        self._sending = anyio.Lock(fast_acquire=True)
        self._numbers = itertools.count(1)
        self._waiting: dict[str, anyio.Event] = {}
        self._answers: dict[str, Answer] = {}
        self._asks: dict[str, anyio.CancelScope] = {}
        self._prompt_id = str(uuid4())
        self._prompt_accepted = anyio.Event()
        self._message_id = ""  # of the last message sent during the turn
        self._message_accepted = anyio.Event()
        self._unawaited: set[bool] = set()  # for each event of the last data: nothing waits for it

    async def run(self, prompt: str | None, *, is_resumed: bool) -> turn_fold.End:
        """Run the turn to its end; if cancelled, interrupt the process first.

        Without a prompt, Claude Code compacts the conversation.
        """
        try:
            return await self._run(prompt, is_resumed=is_resumed)
        except anyio.get_cancelled_exc_class():
            await self._interrupt()
            raise
        except ExceptionGroup as group:
            raise first_error(group) from group

    async def _run(self, prompt: str | None, *, is_resumed: bool) -> turn_fold.End:
        async with anyio.create_task_group() as group:
            group.start_soon(self._send_all, prompt, is_resumed)
            end = await self._read(group)
            group.cancel_scope.cancel()
        return end

    async def _send_all(self, prompt: str | None, is_resumed: bool) -> None:  # noqa: FBT001 - start_soon
        if self._is_ruled:
            answer = await self._control("initialize", hooks=HOOKS)
            if answer is not None and answer.subtype == "error":
                await self._watch.saw(items.notice(UNRULED))
        if is_resumed and (answer := await self._control("get_usage")) is not None:
            self._fold.before = _usage_so_far(answer)
        if prompt is None:
            await self._send(input_lines.compact_command(self._prompt_id))
        else:
            await self._send(input_lines.user_message(prompt, self._prompt_id))
        await self._steer()

    async def _steer(self) -> None:
        """Send people's messages in order, until Claude Code doesn't accept one.

        A version that doesn't report the prompt as accepted would not report messages either.
        """
        await self._prompt_accepted.wait()
        while True:
            text = await self._watch.words()
            self._message_id, self._message_accepted = str(uuid4()), anyio.Event()
            self._fold.unconfirmed.add(self._message_id)
            await self._send(input_lines.user_message(text, self._message_id))
            await self._message_accepted.wait()

    async def _read(self, group: TaskGroup) -> turn_fold.End:
        while (chunk := await self._child.receive()) is not None:
            if chunk.stream is Stream.ERR:
                self._errors.add(chunk.data)
                continue
            self._unawaited = set()
            for line in self._lines.feed(chunk.data):
                if (end := await self._line(line, group)) is not None:
                    return end
            if self._unawaited == {True} and len(chunk.data) < BATCH_BYTES:
                await anyio.sleep(BATCH_S)
        for line in self._lines.end():
            if (end := await self._line(line, group)) is not None:
                return end
        exit_ = await self._child.wait()
        failed = turn_end.crash(exit_.code, self._errors.text().strip())
        return replace(failed, usage=self._fold.used)

    async def _line(self, line: Line, group: TaskGroup) -> turn_fold.End | None:
        for event in self._fold.feed(line, self._local_time):
            self._unawaited.add(isinstance(event, Live | Item))
            if (end := await self._handle(event, group)) is not None:
                return end
        return None

    async def _handle(  # noqa: C901 - one case for each kind
        self, event: turn_fold.TurnEvent, group: TaskGroup
    ) -> turn_fold.End | None:
        match event:
            case Live():
                self._watch.live(event)
            case Item():
                await self._watch.saw(event)
            case ControlRequest(request_id=id_, request=request) if (
                request.subtype == turn_fold.MCP
            ):
                call = read_request(request)
                if isinstance(call, ToolCall):
                    group.start_soon(self._call_tool, id_, call)
                else:
                    await self._reply(input_lines.success(id_, {"mcp_response": call}), group)
            case ControlRequest(request_id=id_, request=request) if (
                request.subtype == turn_fold.HOOK
            ):
                if self._is_ruled:
                    group.start_soon(self._answer_hook, event)
                else:
                    await self._reply(
                        input_lines.error(id_, f"{turn_fold.HOOK} is not known here"), group
                    )
            case ControlRequest():
                group.start_soon(self._ask, event)
            case turn_fold.Withdrawn(id_):
                if scope := self._asks.get(id_):
                    scope.cancel()
            case turn_fold.UnknownRequest(id_, what):
                await self._reply(input_lines.error(id_, f"{what} is not known here"), group)
            case Answer(request_id=id_):
                self._answered(id_, event)
            case turn_fold.Accepted(name) if name == self._prompt_id:
                self._prompt_accepted.set()
            case turn_fold.Accepted(name) if name == self._message_id:
                await self._watch.reached()  # before later events, such as the end
                self._message_accepted.set()
            case turn_fold.Accepted() | turn_fold.Rejected():
                pass  # send no further message, to keep them in order
            case turn_fold.Aborted(failed):
                await self._interrupt()
                return replace(failed, usage=self._fold.used)
            case TurnDone() | Failed():
                return event
        return None

    async def _ask(self, request: ControlRequest) -> None:
        is_question = request.request.tool_name == QUESTION
        is_allowed = self._permissions is PermissionMode.ALL and not is_question
        with self._withdrawable(request.request_id):
            answer = ALLOWED_BY_BOX if is_allowed else await self._watch.ask(read_ask(request))
            await self._send(input_lines.success(request.request_id, write_answer(request, answer)))

    async def _answer_hook(self, request: ControlRequest) -> None:
        """Let the rules decide about a command before Claude Code runs it or asks."""
        with self._withdrawable(request.request_id):
            answer = await self._watch.ask(read_hook(request))
            await self._send(input_lines.success(request.request_id, write_hook_answer(answer)))

    async def _call_tool(self, id_: str, call: ToolCall) -> None:
        with self._withdrawable(id_):
            answer = await self.tools.answer(call)
            await self._send(input_lines.success(id_, {"mcp_response": answer}))

    @contextmanager
    def _withdrawable(self, id_: str) -> Iterator[None]:
        """Answer in the block, until Claude Code withdraws the request."""
        with anyio.CancelScope() as self._asks[id_]:
            yield
        self._asks.pop(id_, None)

    async def _reply(self, line: bytes, group: TaskGroup) -> None:
        """Don't wait for another send: Claude Code may block until its output is read."""
        if self._sending.locked():
            group.start_soon(self._send, line)
        else:
            await self._send(line)

    async def _send(self, line: bytes) -> None:
        """Send one line at a time: Claude Code may ask while a long prompt is being sent."""
        async with self._sending:
            await self._child.send(line)

    async def _control(self, subtype: str, **more: object) -> Answer | None:
        """The answer to a control request, or None if there is none in time."""
        id_ = f"allstop-{next(self._numbers)}"
        self._waiting[id_] = anyio.Event()
        with anyio.move_on_after(ANSWER_WITHIN_S):
            await self._send(input_lines.control_request(id_, subtype, more))
            await self._waiting[id_].wait()
        self._waiting.pop(id_)
        return self._answers.pop(id_, None)

    def _answered(self, id_: str, answer: Answer) -> None:
        if waiting := self._waiting.get(id_):
            self._answers[id_] = answer
            waiting.set()

    async def _interrupt(self) -> None:
        """Let Claude Code stop its commands, save the conversation and report its usage."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(INTERRUPT_WITHIN_S):
            await self._send(input_lines.interrupt())
            while (chunk := await self._child.receive()) is not None:
                lines = self._lines.feed(chunk.data) if chunk.stream is Stream.OUT else ()
                for line in lines:
                    for event in self._fold.feed(line, self._local_time):
                        if isinstance(event, TurnDone | Failed):
                            return


def _usage_so_far(answer: Answer) -> Session:
    try:
        return msgspec.json.decode(answer.response, type=UsageSoFar).session
    except DECODE_ERRORS:
        return Session()
