"""The record of a Full Auto turn: folds its events and builds its summary."""

from msgspec.structs import replace

from allstop.auto.state import AutoState, OpenTurn, TurnSummary
from allstop.core.asks import describe_ask
from allstop.core.commands import Permit
from allstop.core.events import Asked, Event, Noted, Reached, ThreadOpened
from allstop.core.moves import Failed, FailureKind, Item, TurnDone
from allstop.core.text import last_chars, last_line, one_line

MAX_DENIED = 100
"""Maximum remembered denials per turn."""

ASK_CHARS = 300

ACTION_KINDS = frozenset({"command", "file", "tool", "search", "did", "question", "notice"})
MAX_ACTIONS = 10
ACTION_CHARS = 160


def observe(state: AutoState, doing: OpenTurn, event: Event) -> AutoState:
    """Fold an event of the current turn."""
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


def _noted(doing: OpenTurn, items: tuple[Item, ...]) -> OpenTurn:
    for item in items:
        match item.kind:
            case "plan":
                doing = replace(doing, plan=item.text)
            case "compaction":
                doing = replace(doing, compactions=doing.compactions + 1)
            case "unanswered":
                doing = replace(doing, unanswered=(*doing.unanswered, item.text))
            case "denied":
                denied = (*doing.denied[1 - MAX_DENIED :], one_line(item.text, ASK_CHARS))
                doing = replace(doing, denied=denied)
            case kind if kind in ACTION_KINDS:
                did = (*doing.did[1 - MAX_ACTIONS :], _in_a_line(item))
                doing = replace(doing, did=did)
            case _:
                pass
    return doing


def _in_a_line(item: Item) -> str:
    """First and last line of an action."""
    first, _, rest = item.text.strip().partition("\n")
    end = last_line(rest)
    return f"{item.kind}: {one_line(first, ACTION_CHARS)}" + (f" … {end}" if end else "")


def permit_answered(state: AutoState, doing: OpenTurn, answer: Permit) -> AutoState:
    """Fold a person's answer; allowed files count as approved."""
    asked = tuple(ask for ask in doing.asks if ask.id == answer.ask)
    files = tuple(path for ask in asked if answer.allow for path in ask.paths)
    history = replace(state.history, vouched=(*state.history.vouched, *files))
    left = tuple(ask for ask in doing.asks if ask.id != answer.ask)
    return replace(state, history=history, doing=replace(doing, asks=left))


def completed(state: AutoState, doing: OpenTurn, turn: TurnDone) -> TurnSummary:
    return replace(
        _summary(state, doing, turn),
        said=turn.claim,
        text=last_chars(turn.text, 8000),
        was_review=doing.is_review,
    )


def failed(state: AutoState, doing: OpenTurn, failure: Failed) -> TurnSummary:
    summary = _summary(state, doing, failure)
    if failure.kind is FailureKind.CAPPED:  # a turn that reached its token cap isn't a failure
        return replace(summary, status="interrupted")
    error = failure.message or failure.kind.value
    return replace(summary, status="failed", error=error, kind=failure.kind)


def _summary(state: AutoState, doing: OpenTurn, result: TurnDone | Failed) -> TurnSummary:
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


def _pending(doing: OpenTurn) -> tuple[str, ...]:
    """Requests that are open and didn't time out."""
    waited = {one_line(each, ASK_CHARS) for each in doing.unanswered}
    asked = (one_line(describe_ask(ask), ASK_CHARS) for ask in doing.asks)
    return tuple(each for each in asked if each not in waited)
