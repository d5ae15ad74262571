"""Runs one turn in an ACP agent's process."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from allstop.adapters.agents.acp import acp_session, form_questions, messages
from allstop.adapters.agents.acp.approvals import CANCELLED, read_ask, write_answer
from allstop.adapters.agents.acp.connection import UPDATE, Connection
from allstop.adapters.agents.acp.tools import is_turn_tool
from allstop.adapters.agents.acp.turn_fold import TurnFold
from allstop.adapters.agents.exception_groups import first_error
from allstop.adapters.agents.offered_tools import TurnTools
from allstop.adapters.agents.output_lines import OversizedLine
from allstop.adapters.agents.rpc_peer import Message, RequestId
from allstop.core import mcp
from allstop.core.asks import Answer, Permission, describe_ask
from allstop.core.moves import Item
from allstop.core.text import one_line
from allstop.ports import Live, Turn, Watch

PERMISSION = "session/request_permission"
FORM = "elicitation/create"
CANCEL_REQUEST = "$/cancel_request"
CANCEL_WITHIN_S = 1.0
QUIET_S = 0.4
"""A late history is complete when no message arrives for this long."""
DRAIN_WITHIN_S = 20.0
AGENT_DECIDES = "this agent decides itself what it asks about"
_ALLOWED = Answer(leave=Permission.ALLOW, by="allstop")
_HISTORY = frozenset({"user_message_chunk", "agent_message_chunk", "tool_call"})


class PendingAsk(NamedTuple):
    """A request of the agent that a person has to answer."""

    scope: anyio.CancelScope
    withdrawn: Mapping[str, object]  # the answer if the request is cancelled


class TurnProcess:
    """The conversation with one agent's process during one turn."""

    def __init__(
        self,
        connection: Connection,
        turn: Turn,
        watch: Watch,
        tools: TurnTools,
        servers: Sequence[mcp.Message] = (),
    ) -> None:
        """`servers`: MCP servers of `tools`, one for each try to open a session."""
        self.fold = TurnFold()
        self.denied = ""  # the last denied request
        self.thread = turn.thread or ""
        self._connection = connection
        self._turn = turn
        self._watch = watch
        self._tools = tools
        self._servers = servers
        self._is_running = False  # between the prompt and its answer; other updates are history
        self._had_history = False
        self._message_arrived = anyio.Event()
        self._asks: dict[RequestId, PendingAsk] = {}

    async def run(self, settings: acp_session.SessionSettings) -> messages.Ended:
        """Raises RequestFailedError, PeerGoneError or NoAnswerError if the turn didn't end."""
        try:
            return await self._run(settings)
        except anyio.get_cancelled_exc_class():
            await self._cancel()
            raise
        except ExceptionGroup as group:
            raise first_error(group) from group

    async def _run(self, settings: acp_session.SessionSettings) -> messages.Ended:
        async with anyio.create_task_group() as group:
            group.start_soon(self._connection.read_messages, partial(self._receive, group))
            ended = await self._converse(settings)
            group.cancel_scope.cancel()
        return ended

    async def finish(self) -> None:
        """Record the unfinished message and the diff."""
        for item in self.fold.end():
            await self._watch.saw(item)

    async def _converse(self, settings: acp_session.SessionSettings) -> messages.Ended:
        turn = self._turn
        open_ = await acp_session.open_session(
            self._connection,
            turn.thread,
            settings,
            fork=turn.fork,
            asks_first=turn.asks_first,
            servers=self._servers,
        )
        await self._report_session(open_)
        if open_.method is acp_session.OpenMethod.LOAD and not self._had_history:
            await self._drain()
        text = _not_a_command(turn.prompt.whole.encode(errors="replace").decode())
        self._is_running = True
        prompt = {"sessionId": self.thread, "prompt": [{"type": "text", "text": text}]}
        return await self._connection.request_untimed("session/prompt", messages.Ended, prompt)

    async def _report_session(self, open_: acp_session.OpenSession) -> None:
        self.thread = open_.thread
        if open_.notice:
            await self._watch.saw(Item(kind="notice", text=open_.notice))
        if open_.thread != self._turn.thread:
            await self._watch.opened(open_.thread)
            if open_.agent_decides:
                await self._watch.saw(Item(kind="notice", text=AGENT_DECIDES))

    async def _drain(self) -> None:
        """Skip the history that some agents send after the session is open."""
        with anyio.move_on_after(DRAIN_WITHIN_S):
            while not self._connection.gone:
                self._message_arrived = anyio.Event()
                with anyio.move_on_after(QUIET_S) as quiet:
                    await self._message_arrived.wait()
                if quiet.cancelled_caught:
                    return

    async def _receive(self, group: TaskGroup, message: Message | OversizedLine) -> None:
        self._message_arrived.set()
        if isinstance(message, OversizedLine):
            text = f"a line of {message.size:,} bytes was too long to read"
            await self._watch.saw(Item(kind="notice", text=text))
        elif message.method == UPDATE:
            await self._updated(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_ask(message)
        elif message.method and message.id is not None:
            self._requested(group, message, message.id)
        elif self._connection.peer.is_latest(message):
            self._is_running = False  # later updates don't belong to this turn

    async def _updated(self, message: Message) -> None:
        update = messages.read_update(message)
        if update is None:
            return
        if not self._is_running:
            self._had_history = self._had_history or update.session_update in _HISTORY
            return
        for each in self.fold.add(update, len(memoryview(message.params))):
            if isinstance(each, Live):
                self._watch.live(each)
            else:
                await self._watch.saw(each)

    def _requested(self, group: TaskGroup, message: Message, request: RequestId) -> None:
        wanted = messages.read_permission(message) if message.method == PERMISSION else None
        form = messages.read_form(message) if message.method == FORM else None
        if wanted is not None:
            group.start_soon(self._answer, request, CANCELLED, partial(self._permit, wanted))
        elif form is not None:
            fill_in = partial(self._fill_in, form)
            group.start_soon(self._answer, request, form_questions.WITHDRAWN, fill_in)
        else:
            group.start_soon(self._connection.peer.refuse, request, message.method)

    async def _answer(
        self,
        request: RequestId,
        withdrawn: Mapping[str, object],
        answer: Callable[[RequestId], Awaitable[Mapping[str, object]]],
    ) -> None:
        """Answer a request, unless the agent withdraws it."""
        with anyio.CancelScope() as scope:
            self._asks[request] = PendingAsk(scope, withdrawn)
            await self._connection.peer.answer(request, await answer(request))
        self._asks.pop(request, None)  # an agent may use one id for two requests
        if scope.cancelled_caught:
            await self._connection.peer.answer(request, withdrawn)

    async def _permit(
        self, wanted: messages.Permission, request: RequestId
    ) -> Mapping[str, object]:
        call = self.fold.known(wanted.tool_call)
        return write_answer(wanted, await self._ask_permission(call, request))

    async def _ask_permission(self, call: messages.ToolCall, request: RequestId) -> Answer:
        """Ask a person; a tool of this turn needs no permission if the agent uses its server."""
        if self._tools.agent_connected and is_turn_tool(call):
            return _ALLOWED
        ask = read_ask(request, call, self._connection.cwd)
        answer = await self._watch.ask(ask)
        if not answer.allows:
            self.denied = f"{one_line(describe_ask(ask))} {answer.message}".strip()
        return answer

    async def _fill_in(self, form: messages.Form, request: RequestId) -> Mapping[str, object]:
        """Ask a person to fill in a form; decline outside of a turn, and any URL."""
        if self._is_running and form_questions.is_permission(form):
            known = self.fold.known(messages.ToolCall(tool_call_id=form.tool_call_id))
            answer = await self._ask_permission(form_questions.requested_call(form, known), request)
            return form_questions.write_permission(form, answer)
        ask = form_questions.read_ask(request, form) if self._is_running else None
        if ask is None:
            return form_questions.DECLINED
        return form_questions.write_answer(form, await self._watch.ask(ask))

    def _cancel_ask(self, message: Message) -> None:
        if (pending := self._asks.get(messages.read_cancellation(message))) is not None:
            pending.scope.cancel()

    async def _cancel(self) -> None:
        """Let the agent stop its commands and save the conversation; the box ends the rest."""
        if not self._is_running or self._connection.gone:
            return
        with anyio.CancelScope(shield=True), anyio.move_on_after(CANCEL_WITHIN_S) as within:

            async def wait_for_end(message: Message | OversizedLine) -> None:
                if isinstance(message, Message) and self._connection.peer.is_latest(message):
                    within.cancel()

            await self._connection.peer.note("session/cancel", {"sessionId": self.thread})
            for request, pending in tuple(self._asks.items()):
                await self._connection.peer.answer(request, pending.withdrawn)
            await self._connection.read_messages(wait_for_end)


def _not_a_command(text: str) -> str:
    """Keep the agent from running a prompt that begins with "/" as one of its own commands."""
    return f"\n{text}" if text.lstrip().startswith("/") else text
