"""An agent's conversation: its size, when it is compacted, and the summary that begins the next one.

An agent that can compact a conversation does so itself and continues it. Any other agent writes a
summary in a turn, and the next turn begins a new conversation with it.
"""

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.moves import UNFINISHED, Failed, FailureKind, TakeTurn, TurnDone
from allstop.core.prompt import prompt

SUMMARIZE = """\
This conversation ends here, and another one continues your work. Change no files and run no
commands now. Write the summary that the other conversation begins with: what was asked, what is
done, what is open, decisions and their reasons, files and commands that matter, what people said.
"""


class Conversation(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    tokens: int = 0  # after the last turn; 0: unknown
    first: int = 0  # after the first turn since it was compacted
    compacting: bool = False  # the open turn compacts it
    compacted: bool = False  # and no turn has followed since
    failed: bool = False  # compacting it failed, and no turn has followed since
    summary: str = ""  # of the conversation before; the next one begins with it


EMPTY = Conversation()


def compacted_first(
    talk: Conversation, turn: TakeTurn, limit: int | None, phase_limit: int | None = None
) -> TakeTurn:
    """The turn; or, if its conversation has so many tokens, the turn that compacts it first.

    `phase_limit` is for the first turn of a phase.
    """
    if turn.thread is None or talk.failed or talk.compacted:
        return turn
    if _is_over(talk.tokens, limit, talk.first) or _is_over(talk.tokens, phase_limit):
        return replace(turn, prompt=prompt(SUMMARIZE), compacts=talk.tokens)
    return turn


def _is_over(tokens: int, limit: int | None, first: int = 0) -> bool:
    """The agent's own instructions may exceed the limit: compacting at each turn doesn't help."""
    return limit is not None and tokens >= max(limit, first * 3 // 2)


def turn_started(talk: Conversation, turn: TakeTurn) -> Conversation:
    if turn.compacts:
        return replace(talk, compacting=True)
    if turn.thread is None:
        return Conversation(summary=talk.summary, compacted=talk.compacted)
    return talk


def turn_done(talk: Conversation, turn: TurnDone) -> Conversation:
    first = turn.context if talk.compacted else talk.first
    return Conversation(tokens=turn.context, first=first)


def compaction_ended(talk: Conversation, result: TurnDone | Failed) -> Conversation:
    if isinstance(result, Failed):
        return replace(talk, compacting=False, failed=result.kind not in UNFINISHED)
    done, text = result.compacted, result.text.strip()
    if done is None or (done.summary and not text):
        return replace(talk, compacting=False, failed=True)
    return Conversation(tokens=done.after, compacted=True, summary=text if done.summary else "")


def is_over(result: TurnDone | Failed) -> bool:
    """Whether the next turn begins a new conversation after this try to compact the old one."""
    if isinstance(result, Failed):
        return result.kind is FailureKind.CONTEXT
    return result.compacted is not None and result.compacted.summary and bool(result.text.strip())


def introduction(talk: Conversation) -> str:
    """The start of the next prompt."""
    if not talk.summary:
        return ""
    return f"You began this work in another conversation. Your summary of it:\n{talk.summary}"
