"""Tool adviser: a model answers questions of an agent's tools if it is confident enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from allstop.auto.tool_advice import Advice, question_talk, read_advice
from allstop.core.asks import NOBODY, Answer, Ask, Permission, describe_ask
from allstop.core.ids import RunId
from allstop.core.moves import Failed, Item, TakeTurn, TurnDone, Usage, checked_usage
from allstop.core.prompt import prompt_from
from allstop.core.text import one_line
from allstop.ports import Agent, Live, Turn


class NullWatch:
    def live(self, live: Live) -> None:
        pass

    async def opened(self, thread: str) -> None:
        pass

    async def saw(self, item: Item) -> None:
        pass

    async def words(self) -> str:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async def reached(self) -> None:
        pass

    async def ask(self, ask: Ask) -> Answer:
        return NOBODY


if TYPE_CHECKING:
    from allstop.engine.deadlines import ActivityWatch

ADVICE_S = 120.0
MOST = 20
"""Maximum questions per turn that the model answers."""


class ToolAdviser:
    """A watch that passes questions to a model first, but never approval requests."""

    def __init__(self, watch: ActivityWatch, adviser: Agent, run: RunId, move: TakeTurn) -> None:
        self._watch = watch
        self._adviser = adviser
        self._run = run
        self._move = move
        self._asked = 0
        self.used = Usage()

    def live(self, live: Live) -> None:
        self._watch.live(live)

    async def opened(self, thread: str) -> None:
        await self._watch.opened(thread)

    async def saw(self, item: Item) -> None:
        await self._watch.saw(item)

    async def words(self) -> str:
        return await self._watch.words()

    async def reached(self) -> None:
        await self._watch.reached()

    async def ask(self, ask: Ask) -> Answer:
        if not ask.questions or self._asked >= MOST or self._left == 0:
            return await self._watch.ask(ask)
        self._asked += 1
        advice = await self._advice(ask)
        assert self._move.adviser is not None, "the move names the adviser"
        by, at_least = self._move.adviser.agent, self._move.adviser.min_confidence
        if isinstance(advice, str):
            await self._watch.saw(
                Item(kind="unadvised", text=f"{describe_ask(ask)} ({by}: {advice})")
            )
            return await self._watch.ask(ask)
        is_sure = advice.confidence >= at_least
        await self._watch.saw(_noted(ask, advice, by, kind="answered" if is_sure else "unsure"))
        if not is_sure:
            return await self._watch.ask(ask)
        return Answer(leave=Permission.ALLOW, answers=advice.answers, by=by)

    def charged(self, result: TurnDone | Failed) -> TurnDone | Failed:
        """The turn's result with the usage of the advice added."""
        return replace(result, usage=result.usage.plus(self.used))

    @property
    def _left(self) -> int | None:
        """Tokens left for advice, which may use as many as the turn itself."""
        most = self._move.max_tokens
        return None if most is None else max(0, most - self.used.tokens)

    async def _advice(self, ask: Ask) -> Advice | str:
        talk = question_talk(ask, self._move.prompt.whole)
        turn = Turn(run=self._run, prompt=prompt_from(talk), max_tokens=self._left)
        result: TurnDone | Failed | None = None
        self._watch.deadlines.hold()  # the agent isn't idle while the model answers
        try:
            with anyio.move_on_after(ADVICE_S):
                result = await self._adviser.take_turn(turn, NullWatch())
        finally:
            self._watch.deadlines.release()
        if result is None:
            self.used = self.used.plus(Usage(input=self._left or 0))  # unknown: the maximum
            return f"no answer within {ADVICE_S:g} s"
        self.used = checked_usage(result.usage).plus(self.used)
        if isinstance(result, Failed):
            return one_line(result.message or result.kind.value, 200)
        return read_advice(result.text, ask)


def _noted(ask: Ask, advice: Advice, by: str, *, kind: str) -> Item:
    answers = "; ".join(advice.answers)
    why = f"{by}, confidence {advice.confidence:g}: {advice.reason}"
    return Item(kind=kind, text=f"{describe_ask(ask)} → {answers} ({why})")
