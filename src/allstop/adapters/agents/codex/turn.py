"""Runs one turn of a conversation in codex's app-server."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.codex import messages, turn_fold
from allstop.adapters.agents.codex.app_server import AppServer
from allstop.adapters.agents.codex.approvals import read_ask, write_answer
from allstop.adapters.agents.codex.review_usage import ReviewUsage
from allstop.adapters.agents.codex.steer import Steering
from allstop.adapters.agents.codex.tools import CALL, dynamic_tools, tool_name, write_result
from allstop.adapters.agents.offered_tools import TurnTools, has_turn_tools
from allstop.adapters.agents.rpc_peer import (
    Message,
    NoAnswerError,
    PeerGoneError,
    RequestFailedError,
    RequestId,
    decoded,
)
from allstop.core.moves import Item
from allstop.core.prompt import Prompt
from allstop.ports import Live, Turn, Watch

STOP_WITHIN_S = 1.0
END_COMMANDS_WITHIN_S = 5.0
THREAD_NOT_FOUND = "no rollout found"
STARTED_OVER = "codex did not find the conversation and started a new one"

Params = dict[str, object]
QueuedStep: TypeAlias = (
    turn_fold.NewItem
    | turn_fold.ServerRequest
    | turn_fold.CapReached
    | turn_fold.AccountLimited
    | turn_fold.Ended
)
T = TypeVar("T")


class Conversation:
    """Folds messages as they arrive, and queues the steps that have to wait for the watch."""

    def __init__(
        self, server: AppServer, turn: Turn, watch: Watch, *, is_unrestricted: bool = False
    ) -> None:
        """`is_unrestricted`: codex asks only so that the rules see its commands."""
        is_review = turn.place is not None and not turn.compacts
        self._review = turn.prompt.review if is_review else ""
        self.fold = turn_fold.TurnFold(ReviewUsage(self._review) if self._review else None)
        self.tools = TurnTools(watch)
        self.thread = turn.thread or ""
        self.opened = messages.OpenThread()
        self.max_tokens = turn.max_tokens or 0
        self.is_capped = False
        self._server = server
        self._turn = turn
        self._watch = watch
        self._steps: deque[QueuedStep] = deque()
        self._changed = anyio.Event()
        self._asking: tuple[RequestId, anyio.CancelScope] | None = None
        self._is_started = False
        self._is_unrestricted = is_unrestricted

    async def open(self, policy: Params) -> None:
        """Start, resume or fork the conversation.

        Raises RequestFailedError, PeerGoneError or NoAnswerError if codex opened none.
        """
        thread = self._turn.thread
        try:
            self.opened = await self._open_thread(policy)
        except RequestFailedError as error:
            if thread is None or THREAD_NOT_FOUND not in error.message:
                raise
            # codex died before the first message, or the conversation was removed
            await self._watch.saw(Item(kind="notice", text=STARTED_OVER))
            self.opened = await self._new(policy)
        self.thread = self.opened.thread.id
        if not self.thread:
            raise RequestFailedError("codex did not name the conversation")
        self._server.threads[self.thread] = self.opened
        if self.thread != thread:
            await self._watch.opened(self.thread)

    async def _open_thread(self, policy: Params) -> messages.OpenThread:
        thread = self._turn.thread
        if thread is None:
            return await self._new(policy)
        params = {"threadId": thread, "excludeTurns": True, **policy}
        if self._turn.fork:
            return await self._request("thread/fork", params, messages.OpenThread)
        if thread in self._server.threads:
            return self._server.threads[thread]
        return await self._request("thread/resume", params, messages.OpenThread)

    async def _new(self, policy: Params) -> messages.OpenThread:
        tools = {"dynamicTools": dynamic_tools()} if has_turn_tools(self._turn) else {}
        return await self._request("thread/start", {**policy, **tools}, messages.OpenThread)

    async def run(self, group: TaskGroup) -> turn_fold.Ended:
        """Run the turn to its end; people's messages are sent from the group.

        Raises RequestFailedError, PeerGoneError or NoAnswerError if the turn didn't end.
        """
        with self._server.listening(self.thread, self._receive):
            try:
                await self._begin()
                steering = Steering(self._watch, self._steer)
                group.start_soon(steering.run)
                try:
                    ended = await self._follow()
                finally:
                    steering.end()
                await steering.settle()
                return ended
            except (RequestFailedError, PeerGoneError, NoAnswerError):
                raise
            except BaseException:  # cancelled, or the watch failed
                await self._stop()
                raise

    async def end_commands(self, within_s: float = END_COMMANDS_WITHIN_S) -> None:
        """End the commands that codex left running: they outlive a turn and an interrupt.

        Raises RequestFailedError, PeerGoneError or NoAnswerError if the commands may still run.
        """
        params: Params = {"threadId": self.thread}
        await self._server.request("thread/backgroundTerminals/clean", params, within_s)

    async def _begin(self) -> None:
        method, params = self._first_request()
        self._is_started = True
        self.fold.total = self._server.totals.get(self.thread, self.fold.total)
        started = await self._request(
            method, {"threadId": self.thread, **params}, messages.StartedTurn
        )
        self.fold.turn = self.fold.turn or started.turn.id

    def _first_request(self) -> tuple[str, Params]:
        if self._turn.compacts:
            return "thread/compact/start", {}
        return _review(self._review) if self._review else _turn(self._turn.prompt)

    async def _steer(self, words: str) -> None:
        """Raises RequestFailedError, PeerGoneError or NoAnswerError if codex may not have got it."""
        params: Params = {
            "threadId": self.thread,
            "expectedTurnId": self.fold.active or self.fold.turn,
            "input": _text(words),
        }
        # without a timeout: the end of the turn limits the wait
        await self._server.peer.request("turn/steer", params)

    async def _follow(self) -> turn_fold.Ended:
        while True:
            match await self._next():
                case turn_fold.NewItem(item):
                    await self._watch.saw(item)
                case turn_fold.ServerRequest() as request:
                    await self._ask(request)
                case turn_fold.CapReached():
                    return await self._cap()
                case turn_fold.AccountLimited(error):
                    await self._cap()
                    return turn_fold.Ended("failed", error)
                case turn_fold.Ended() as ended:
                    return ended

    async def _cap(self) -> turn_fold.Ended:
        """Stop the turn early, and record the items that are still queued."""
        await self._stop()
        for step in self._steps:
            if isinstance(step, turn_fold.NewItem):
                await self._watch.saw(step.item)
        return self.fold.ended or turn_fold.Ended("interrupted", None)

    async def _next(self) -> QueuedStep:
        while not self._steps:
            if self._server.gone:
                raise PeerGoneError(self._server.gone)
            await self._changed.wait()
        return self._steps.popleft()

    async def _ask(self, request: turn_fold.ServerRequest) -> None:
        """Ask a person, until codex withdraws the request."""
        if request.method == CALL:
            await self._call_tool(request)
            return
        where = decoded(request.params, messages.Location) or messages.Location()
        ask = read_ask(request, self.fold.started_item(where.item_id), self.opened.cwd)
        if ask is None:
            await self._server.peer.refuse(request.id, request.method)
            return
        if self._is_unrestricted and ask.kind != "question":
            ask = replace(ask, within=True)
        with self._pending(request.id) as scope:
            answer = await self._watch.ask(ask)
        if not scope.cancelled_caught:
            await self._server.peer.answer(request.id, write_answer(request, answer))

    async def _call_tool(self, request: turn_fold.ServerRequest) -> None:
        call = decoded(request.params, messages.ToolCall) or messages.ToolCall()
        name = tool_name(call)
        if name is None:
            await self._server.peer.refuse(request.id, request.method)
            return
        with self._pending(request.id) as scope:
            done = await self.tools.call(name, call.arguments)
        if not scope.cancelled_caught:
            await self._server.peer.answer(request.id, write_result(done))

    @contextmanager
    def _pending(self, request: RequestId) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self._asking = (request, scope)
            self._withdraw()
            yield scope
        self._asking = None

    def _receive(self, message: Message | None, where: messages.Location) -> bool:
        steps = self.fold.add(message, where) if message else ()
        for step in steps:
            if isinstance(step, Live):
                self._watch.live(step)
            else:
                self._steps.append(step)
        if not self.is_capped and 0 < self.max_tokens <= self.fold.tokens:
            self.is_capped = True
            self._steps.append(turn_fold.CapReached())
        self._withdraw()
        if self._steps or message is None or message.method == turn_fold.BEGIN:
            self._changed.set()
            self._changed = anyio.Event()
        return bool(steps)

    def _withdraw(self) -> None:
        if self._asking is not None:
            request, scope = self._asking
            if self.fold.ended or self._server.gone or request in self.fold.resolved:
                scope.cancel()

    async def _stop(self) -> None:
        """End the turn and its commands; if codex can't, give up the server."""
        stopped = False
        if self._is_started and not self._server.gone:
            with anyio.move_on_after(STOP_WITHIN_S, shield=True):
                async with self._server.reading():
                    stopped = await self._interrupted()
        if not stopped and self._is_started:
            self._server.give_up("codex did not stop the turn in time")

    async def _interrupted(self) -> bool:
        try:
            while not (self.fold.turn or self._server.gone):
                await self._changed.wait()
            turn = self.fold.active or self.fold.turn
            params: Params = {"threadId": self.thread, "turnId": turn}
            if not self.fold.ended:
                await self._server.request("turn/interrupt", params, STOP_WITHIN_S)
            await self.end_commands(STOP_WITHIN_S)
            while not (self.fold.ended or self._server.gone):
                await self._changed.wait()
        except (RequestFailedError, PeerGoneError, NoAnswerError):
            return False
        return True

    async def _request(self, method: str, params: Params, kind: type[T]) -> T:
        result = await self._server.request(method, params)
        try:
            return msgspec.json.decode(result, type=kind)
        except msgspec.DecodeError as error:
            raise RequestFailedError(f"{method}: unreadable answer: {error}") from error


def _turn(prompt: Prompt) -> tuple[str, Params]:
    params: Params = {"input": _text(prompt.whole)}
    if prompt.talk is not None and prompt.talk.reply_schema is not None:
        params["outputSchema"] = prompt.talk.reply_schema
    return "turn/start", params


def _review(instructions: str) -> tuple[str, Params]:
    """Codex's own review, whose findings become part of the conversation."""
    target = {"type": "custom", "instructions": _encodable(instructions)}
    return "review/start", {"target": target, "delivery": "inline"}


def _text(words: str) -> list[Params]:
    return [{"type": "text", "text": _encodable(words)}]


def _encodable(text: str) -> str:
    """The text without lone surrogates, which JSON can't carry."""
    return text.encode(errors="replace").decode()
