"""A turn of Full Auto: what is known of it while it goes on, and what is left of it at its end."""

from __future__ import annotations

from msgspec.structs import replace

from allstop.auto.state import AutoState, Doing, TurnSummary
from allstop.core.asks import Ask, describe_ask
from allstop.core.commands import Permit
from allstop.core.events import Asked, Event, Noted, Reached, ThreadOpened
from allstop.core.moves import Failed, FailureKind, Item, TurnDone
from allstop.core.text import last_chars, last_line, one_line

MOST_DENIED = 100
"""Of one turn, that are remembered."""

ASK_CHARS = 300

DEEDS = frozenset({"command", "file", "tool", "search", "did", "question", "notice"})
MOST_DEEDS = 10
DEED_CHARS = 160


def told(state: AutoState, doing: Doing, event: Event) -> AutoState:
    """What comes while the turn is under way."""
    match event:
        case Noted(items=items):
            return replace(state, doing=_noted(doing, items))
        case Asked(ask=ask):
            open_ = (*(each for each in doing.asks if each.id != ask.id), ask)
            return replace(state, doing=replace(doing, asks=open_))
        case Reached():
            return replace(state, doing=replace(doing, hears=doing.hears + 1))
        case ThreadOpened(thread=thread) if not doing.is_aside:
            return replace(state, thread=thread)
        case _:
            return state


def _noted(doing: Doing, items: tuple[Item, ...]) -> Doing:
    for item in items:
        match item.kind:
            case "plan":
                doing = replace(doing, plan=item.text)
            case "compaction":
                doing = replace(doing, compactions=doing.compactions + 1)
            case "unanswered":
                doing = replace(doing, unanswered=(*doing.unanswered, item.text))
            case "denied":
                denied = (*doing.denied[1 - MOST_DENIED :], one_line(item.text, ASK_CHARS))
                doing = replace(doing, denied=denied)
            case kind if kind in DEEDS:
                did = (*doing.did[1 - MOST_DEEDS :], _in_a_line(item))
                doing = replace(doing, did=did)
            case _:
                pass
    return doing


def _in_a_line(item: Item) -> str:
    """What was done, and how it ended."""
    first, _, rest = item.text.strip().partition("\n")
    end = last_line(rest)
    return f"{item.kind}: {one_line(first, DEED_CHARS)}" + (f" … {end}" if end else "")


def answered(state: AutoState, doing: Doing, answer: Permit) -> AutoState:
    """Whoever allows a file to be changed knows of it."""
    asked = tuple(ask for ask in doing.asks if ask.id == answer.ask)
    files = tuple(path for ask in asked if answer.allow for path in ask.paths)
    history = replace(state.history, vouched=(*state.history.vouched, *files))
    left = tuple(ask for ask in doing.asks if ask.id != answer.ask)
    return replace(state, history=history, doing=replace(doing, asks=left))


def completed(state: AutoState, doing: Doing, turn: TurnDone) -> TurnSummary:
    return replace(
        _summary(state, doing, turn),
        said=turn.claim,
        text=last_chars(turn.text, 8000),
        was_review=doing.is_review,
    )


def failed(state: AutoState, doing: Doing, failure: Failed) -> TurnSummary:
    summary = _summary(state, doing, failure)
    if failure.kind is FailureKind.CAPPED:  # a turn that came to its cap is a turn
        return replace(summary, status="interrupted")
    error = failure.message or failure.kind.value
    return replace(summary, status="failed", error=error, kind=failure.kind)


def _summary(state: AutoState, doing: Doing, result: TurnDone | Failed) -> TurnSummary:
    return TurnSummary(
        turn=state.turns + 1,
        status="completed",
        plan=doing.plan,
        change=result.change or state.change,
        usage=result.usage,
        compactions=doing.compactions,
        unanswered=doing.unanswered,
        pending=_pending(doing),
        denied=doing.denied,
        thread=(result.thread if isinstance(result, TurnDone) else None) or state.thread or "",
        move=doing.move,
        did=doing.did,
    )


def _pending(doing: Doing) -> tuple[str, ...]:
    """What was neither answered nor waited for in vain."""
    waited = {one_line(each, ASK_CHARS) for each in doing.unanswered}
    return tuple(each for each in map(_asked, doing.asks) if each not in waited)


def _asked(ask: Ask) -> str:
    return one_line(describe_ask(ask), ASK_CHARS)
