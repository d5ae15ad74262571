"""One turn in one conversation with an app-server, from its start to its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from allstop.adapters.agents.codex import messages
from allstop.adapters.agents.codex.app_server import AppServer
from allstop.adapters.agents.codex.approvals import answer_to, ask_of
from allstop.adapters.agents.codex.review_usage import Guess
from allstop.adapters.agents.codex.steer import Steering
from allstop.adapters.agents.codex.tools import CALL, answer_of, dynamic_tools, tool_of
from allstop.adapters.agents.codex.turn_fold import BEGIN, Asked, Capped, Ended, Fold, Saw
from allstop.adapters.agents.rpc_messages import Message, RequestId, decoded
from allstop.adapters.agents.rpc_peer import GoneError, RefusedError, SilentError
from allstop.adapters.agents.turn_tools import Desk, is_open
from allstop.core.moves import Item
from allstop.core.prompt import Prompt
from allstop.ports import Live, Turn, Watch

STOP_WITHIN_S = 1.0
CLEAN_WITHIN_S = 5.0
LOST = "no rollout found"
BEGINS_AGAIN = "its conversation was not there: it begins again"

Params = dict[str, object]
Slow: TypeAlias = Saw | Asked | Capped | Ended
T = TypeVar("T")


class Conversation:
    """What is noted is taken in at once; only what takes time to tell waits its turn."""

    def __init__(
        self, server: AppServer, turn: Turn, watch: Watch, *, is_free: bool = False
    ) -> None:
        """`is_free`: it asks only so that the rules see what it does."""
        self._review = turn.prompt.review if turn.place is not None else ""
        self.fold = Fold(Guess(self._review) if self._review else None)
        self.desk = Desk(watch)
        self.thread = turn.thread or ""
        self.opened = messages.Opened()
        self.max_tokens = turn.max_tokens or 0
        self.is_capped = False
        self._server = server
        self._turn = turn
        self._watch = watch
        self._steps: deque[Slow] = deque()
        self._stirred = anyio.Event()
        self._asking: tuple[RequestId, anyio.CancelScope] | None = None
        self._has_begun = False
        self._is_free = is_free

    async def open(self, policy: Params) -> None:
        """Begin it, go on with it, or with a copy of it.

        Raises:
            RefusedError, GoneError, SilentError: there is none.
        """
        thread = self._turn.thread
        try:
            self.opened = await self._opened(policy)
        except RefusedError as error:
            if thread is None or LOST not in error.message:
                raise
            # it died before anything was said in it, or somebody has removed it
            await self._watch.saw(Item(kind="notice", text=BEGINS_AGAIN))
            self.opened = await self._new(policy)
        self.thread = self.opened.thread.id
        if not self.thread:
            raise RefusedError("codex did not say how it calls the conversation")
        self._server.threads[self.thread] = self.opened
        if self.thread != thread:
            await self._watch.opened(self.thread)

    async def _opened(self, policy: Params) -> messages.Opened:
        thread = self._turn.thread
        if thread is None:
            return await self._new(policy)
        params = {"threadId": thread, "excludeTurns": True, **policy}
        if self._turn.fork:
            return await self._request("thread/fork", params, messages.Opened)
        if thread in self._server.threads:
            return self._server.threads[thread]
        return await self._request("thread/resume", params, messages.Opened)

    async def _new(self, policy: Params) -> messages.Opened:
        tools = {"dynamicTools": dynamic_tools()} if is_open(self._turn) else {}
        return await self._request("thread/start", {**policy, **tools}, messages.Opened)

    async def take(self, group: TaskGroup) -> Ended:
        """What people say meanwhile is told in the group.

        Raises:
            RefusedError, GoneError, SilentError: it never came to its end.
        """
        with self._server.heard_by(self.thread, self._hear):
            try:
                await self._begin()
                steering = Steering(self._watch, self._steer)
                group.start_soon(steering.go_on)
                try:
                    ended = await self._follow()
                finally:
                    steering.end()
                await steering.settle()
                return ended
            except (RefusedError, GoneError, SilentError):
                raise
            except BaseException:  # cancelled, or nobody can be told any more
                await self._stop()
                raise

    async def clean(self, within_s: float = CLEAN_WITHIN_S) -> None:
        """End the commands it left running: they outlive a turn, and an interrupt too.

        Raises:
            RefusedError, GoneError, SilentError: nobody knows whether they have ended.
        """
        params: Params = {"threadId": self.thread}
        await self._server.request("thread/backgroundTerminals/clean", params, within_s)

    async def _begin(self) -> None:
        method, params = _review(self._review) if self._review else _turn(self._turn.prompt)
        self._has_begun = True
        self.fold.total = self._server.totals.get(self.thread, self.fold.total)
        started = await self._request(method, {"threadId": self.thread, **params}, messages.Started)
        self.fold.turn = self.fold.turn or started.turn.id

    async def _steer(self, words: str) -> None:
        """
        Raises:
            RefusedError, GoneError, SilentError: nobody knows that it has heard it.
        """
        params: Params = {
            "threadId": self.thread,
            "expectedTurnId": self.fold.active or self.fold.turn,
            "input": _text(words),
        }
        # it may be frozen before it answers; the end of the turn does not wait for long
        await self._server.peer.request("turn/steer", params)

    async def _follow(self) -> Ended:
        while True:
            match await self._next():
                case Saw(item):
                    await self._watch.saw(item)
                case Asked() as asked:
                    await self._ask(asked)
                case Capped():
                    return await self._cap()
                case Ended() as ended:
                    return ended

    async def _cap(self) -> Ended:
        """End it here; what it had still to tell is told."""
        await self._stop()
        for step in self._steps:
            if isinstance(step, Saw):
                await self._watch.saw(step.item)
        return self.fold.ended or Ended("interrupted", None)

    async def _next(self) -> Slow:
        while not self._steps:
            if self._server.gone:
                raise GoneError(self._server.gone)
            await self._stirred.wait()
        return self._steps.popleft()

    async def _ask(self, asked: Asked) -> None:
        """Whoever is asked is let go when the answer is no longer wanted."""
        if asked.method == CALL:
            await self._use(asked)
            return
        where = decoded(asked.params, messages.Where) or messages.Where()
        ask = ask_of(asked, self.fold.begun(where.item_id), self.opened.cwd)
        if ask is None:
            await self._server.peer.refuse(asked.id, asked.method)
            return
        if self._is_free and ask.kind != "question":
            ask = replace(ask, within=True)
        with self._wanted(asked.id) as scope:
            answer = await self._watch.ask(ask)
        if not scope.cancelled_caught:
            await self._server.peer.answer(asked.id, answer_to(asked, answer))

    async def _use(self, asked: Asked) -> None:
        """A tool of ours."""
        call = decoded(asked.params, messages.ToolCall) or messages.ToolCall()
        name = tool_of(call)
        if name is None:
            await self._server.peer.refuse(asked.id, asked.method)
            return
        with self._wanted(asked.id) as scope:
            done = await self.desk.call(name, call.arguments)
        if not scope.cancelled_caught:
            await self._server.peer.answer(asked.id, answer_of(done))

    @contextmanager
    def _wanted(self, request: RequestId) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self._asking = (request, scope)
            self._let_go()
            yield scope
        self._asking = None

    def _hear(self, message: Message | None, where: messages.Where) -> bool:
        steps = self.fold.take(message, where) if message else ()
        for step in steps:
            if isinstance(step, Live):
                self._watch.live(step)
            else:
                self._steps.append(step)
        if not self.is_capped and 0 < self.max_tokens <= self.fold.used:
            self.is_capped = True
            self._steps.append(Capped())
        self._let_go()
        if self._steps or message is None or message.method == BEGIN:
            self._stirred.set()
            self._stirred = anyio.Event()
        return bool(steps)

    def _let_go(self) -> None:
        if self._asking is not None:
            request, scope = self._asking
            if self.fold.ended or self._server.gone or request in self.fold.resolved:
                scope.cancel()

    async def _stop(self) -> None:
        """End the turn and its commands; whoever can't is ended together with its server."""
        stopped = False
        if self._has_begun and not self._server.gone:
            with anyio.move_on_after(STOP_WITHIN_S, shield=True):
                async with self._server.pumped():
                    stopped = await self._interrupted()
        if not stopped and self._has_begun:
            self._server.give_up("codex did not stop when it was told to")

    async def _interrupted(self) -> bool:
        try:
            while not (self.fold.turn or self._server.gone):
                await self._stirred.wait()
            turn = self.fold.active or self.fold.turn
            params: Params = {"threadId": self.thread, "turnId": turn}
            if not self.fold.ended:
                await self._server.request("turn/interrupt", params, STOP_WITHIN_S)
            await self.clean(STOP_WITHIN_S)
            while not (self.fold.ended or self._server.gone):
                await self._stirred.wait()
        except (RefusedError, GoneError, SilentError):
            return False
        return True

    async def _request(self, method: str, params: Params, kind: type[T]) -> T:
        result = await self._server.request(method, params)
        try:
            return msgspec.json.decode(result, type=kind)
        except msgspec.DecodeError as error:
            raise RefusedError(f"{method}: an answer that can't be read: {error}") from error


def _turn(prompt: Prompt) -> tuple[str, Params]:
    params: Params = {"input": _text(prompt.whole)}
    if prompt.talk is not None and prompt.talk.reply_schema is not None:
        params["outputSchema"] = prompt.talk.reply_schema
    return "turn/start", params


def _review(instructions: str) -> tuple[str, Params]:
    """By codex's own means: with fresh eyes, and what it finds is said in the conversation."""
    target = {"type": "custom", "instructions": _spoken(instructions)}
    return "review/start", {"target": target, "delivery": "inline"}


def _text(words: str) -> list[Params]:
    return [{"type": "text", "text": _spoken(words)}]


def _spoken(text: str) -> str:
    """Without what no line of JSON could carry."""
    return text.encode(errors="replace").decode()
