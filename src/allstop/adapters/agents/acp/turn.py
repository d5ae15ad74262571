"""One turn with one agent's process, from its start to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from allstop.adapters.agents.acp import form_questions, messages
from allstop.adapters.agents.acp.acp_session import Open, Way, Wishes, opened
from allstop.adapters.agents.acp.approvals import CANCELLED, answer_to, ask_of
from allstop.adapters.agents.acp.connection import UPDATE, Connection
from allstop.adapters.agents.acp.tools import is_ours
from allstop.adapters.agents.acp.turn_fold import Fold
from allstop.adapters.agents.exception_groups import first_of
from allstop.adapters.agents.output_lines import TooLong
from allstop.adapters.agents.rpc_messages import Message, RequestId
from allstop.adapters.agents.turn_tools import Desk
from allstop.core import mcp
from allstop.core.asks import Answer, Ask, Permission, describe_ask
from allstop.core.moves import Item
from allstop.core.text import one_line
from allstop.ports import Live, Turn, Watch

PERMISSION = "session/request_permission"
FORM = "elicitation/create"
TAKEN_BACK = "$/cancel_request"
CANCEL_WITHIN_S = 1.0
QUIET_S = 0.4
"""A history that was not told in time is over when nothing came for so long."""
DRAIN_WITHIN_S = 20.0
DECIDES = "this agent decides by itself what it asks for"
_OWN = Answer(leave=Permission.ALLOW, by="allstop")
_HISTORY = frozenset({"user_message_chunk", "agent_message_chunk", "tool_call"})


class Asking(NamedTuple):
    """Somebody is being asked."""

    scope: anyio.CancelScope
    given_up: Mapping[str, object]  # what the agent is answered when it is not to be


class Exchange:
    def __init__(
        self,
        connection: Connection,
        turn: Turn,
        watch: Watch,
        desk: Desk,
        servers: Sequence[mcp.Message] = (),
    ) -> None:
        """`servers`: of tools, which the agent starts, one for each time that it opens a session; they
        lead to the desk.
        """
        self.fold = Fold()
        self.denied = ""  # what was, last
        self.thread = turn.thread or ""
        self._connection = connection
        self._turn = turn
        self._watch = watch
        self._desk = desk
        self._servers = servers
        self._is_on = False  # between the prompt and its end; all else is history
        self._had_history = False
        self._stirred = anyio.Event()
        self._asks: dict[RequestId, Asking] = {}

    async def take(self, wishes: Wishes) -> messages.Ended:
        """
        Raises:
            RefusedError, GoneError, SilentError: it never came to its end.
        """
        try:
            return await self._take(wishes)
        except anyio.get_cancelled_exc_class():
            await self._cancel()
            raise
        except ExceptionGroup as group:
            raise first_of(group) from group

    async def _take(self, wishes: Wishes) -> messages.Ended:
        async with anyio.create_task_group() as group:
            group.start_soon(self._connection.pump, partial(self._hear, group))
            ended = await self._talk(wishes)
            group.cancel_scope.cancel()
        return ended

    async def finish(self) -> None:
        """What it was in the middle of saying, and what it has changed."""
        for item in self.fold.end():
            await self._watch.saw(item)

    async def _talk(self, wishes: Wishes) -> messages.Ended:
        turn = self._turn
        open_ = await opened(
            self._connection,
            turn.thread,
            wishes,
            fork=turn.fork,
            asks_first=turn.asks_first,
            servers=self._servers,
        )
        await self._tell(open_)
        if open_.way is Way.LOAD and not self._had_history:
            await self._drain()
        text = _as_words(turn.prompt.whole.encode(errors="replace").decode())
        self._is_on = True
        prompt = {"sessionId": self.thread, "prompt": [{"type": "text", "text": text}]}
        return await self._connection.asked("session/prompt", messages.Ended, prompt)

    async def _tell(self, open_: Open) -> None:
        self.thread = open_.thread
        if open_.missed:
            await self._watch.saw(Item(kind="notice", text=open_.missed))
        if open_.thread != self._turn.thread:
            await self._watch.opened(open_.thread)
            if open_.decides:
                await self._watch.saw(Item(kind="notice", text=DECIDES))

    async def _drain(self) -> None:
        """Its history should have come before; some tell it only now, and it is no reply."""
        with anyio.move_on_after(DRAIN_WITHIN_S):
            while not self._connection.gone:
                self._stirred = anyio.Event()
                with anyio.move_on_after(QUIET_S) as quiet:
                    await self._stirred.wait()
                if quiet.cancelled_caught:
                    return

    async def _hear(self, group: TaskGroup, message: Message | TooLong) -> None:
        self._stirred.set()
        if isinstance(message, TooLong):
            text = f"a line of {message.size:,} bytes was thrown away"
            await self._watch.saw(Item(kind="notice", text=text))
        elif message.method == UPDATE:
            await self._updated(message)
        elif message.method == TAKEN_BACK:
            self._let_go(message)
        elif message.method and message.id is not None:
            self._requested(group, message, message.id)
        elif self._connection.peer.is_latest(message):
            self._is_on = False  # the prompt is answered: what comes now is not of this turn

    async def _updated(self, message: Message) -> None:
        update = messages.update_in(message)
        if update is None:
            return
        if not self._is_on:
            self._had_history = self._had_history or update.session_update in _HISTORY
            return
        for each in self.fold.take(update, len(memoryview(message.params))):
            if isinstance(each, Live):
                self._watch.live(each)
            else:
                await self._watch.saw(each)

    def _requested(self, group: TaskGroup, message: Message, request: RequestId) -> None:
        wanted = messages.permission_in(message) if message.method == PERMISSION else None
        form = messages.form_in(message) if message.method == FORM else None
        if wanted is not None:
            group.start_soon(self._asked, request, CANCELLED, partial(self._permit, wanted))
        elif form is not None:
            fill_in = partial(self._fill_in, form)
            group.start_soon(self._asked, request, form_questions.GIVEN_UP, fill_in)
        else:
            group.start_soon(self._connection.peer.refuse, request, message.method)

    async def _asked(
        self,
        request: RequestId,
        given_up: Mapping[str, object],
        answer: Callable[[RequestId], Awaitable[Mapping[str, object]]],
    ) -> None:
        """Whoever is asked is let go when the answer is no longer wanted."""
        with anyio.CancelScope() as scope:
            self._asks[request] = Asking(scope, given_up)
            await self._connection.peer.answer(request, await answer(request))
        self._asks.pop(request, None)  # an agent may give two questions one name
        if scope.cancelled_caught:
            await self._connection.peer.answer(request, given_up)

    async def _permit(
        self, wanted: messages.Permission, request: RequestId
    ) -> Mapping[str, object]:
        return answer_to(wanted, await self._leave(self.fold.known(wanted.tool_call), request))

    async def _leave(self, call: messages.ToolCall, request: RequestId) -> Answer:
        """A tool of ours needs none, where it is our server that the agent has under this name."""
        if self._desk.met and is_ours(call):
            return _OWN
        ask = ask_of(request, call, self._connection.cwd)
        answer = await self._watch.ask(ask)
        self.denied = self.denied if answer.allows else _denial(ask, answer)
        return answer

    async def _fill_in(self, form: messages.Form, request: RequestId) -> Mapping[str, object]:
        """Outside of a turn nobody is asked, nor to follow an address."""
        if self._is_on and form_questions.is_leave(form):
            known = self.fold.known(messages.ToolCall(tool_call_id=form.tool_call_id))
            leave = await self._leave(form_questions.call_in(form, known), request)
            return form_questions.leave_to(form, leave)
        ask = form_questions.ask_of(request, form) if self._is_on else None
        if ask is None:
            return form_questions.DECLINED
        return form_questions.answer_to(form, await self._watch.ask(ask))

    def _let_go(self, message: Message) -> None:
        if (asking := self._asks.get(messages.taken_back_in(message))) is not None:
            asking.scope.cancel()

    async def _cancel(self) -> None:
        """It stops its commands and writes down how far it has come. The box ends the rest."""
        if not self._is_on or self._connection.gone:
            return
        with anyio.CancelScope(shield=True), anyio.move_on_after(CANCEL_WITHIN_S) as within:

            async def hear(message: Message | TooLong) -> None:
                if isinstance(message, Message) and self._connection.peer.is_latest(message):
                    within.cancel()

            await self._connection.peer.note("session/cancel", {"sessionId": self.thread})
            for request, asking in tuple(self._asks.items()):
                await self._connection.peer.answer(request, asking.given_up)
            await self._connection.pump(hear)


def _as_words(text: str) -> str:
    """Agents carry out a prompt that begins as a command does, and their model never sees it."""
    return f"\n{text}" if text.lstrip().startswith("/") else text


def _denial(ask: Ask, answer: Answer) -> str:
    return f"{one_line(describe_ask(ask))} {answer.message}".strip()
