"""Which hook an event of a board triggers, and the variables the hook gets."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from allstop.core.brakes import Tally
from allstop.core.commands import Pause
from allstop.core.events import ChildClosed, Commanded, Event, MoveStarted, Opened
from allstop.core.helm import Hold, hold_after, is_paused_beneath
from allstop.core.ids import RunId, child_of
from allstop.core.moves import Outcome, Spawn
from allstop.core.tasks import Task, branch_of
from allstop.core.text import plain
from allstop.merges.queue import batch_members, has_failed_together

MAX_FACT_CHARS = 4000
"""Per variable; the kernel limits the size of a program's environment."""


class Hook(StrEnum):
    PRE_START = "pre_start"
    POST_COMPLETE = "post_complete"
    PRE_MERGE = "pre_merge"
    POST_MERGE = "post_merge"
    ON_CONFLICT = "on_conflict"
    ON_PAUSE = "on_pause"
    ON_ERROR = "on_error"


class Facts(Struct, frozen=True, kw_only=True):
    """The variables of a hook: ALLSTOP_TASK, ALLSTOP_TITLE, …"""

    hook: Hook
    task: str = ""
    title: str = ""
    status: str = ""
    target: str = ""
    branch: str = ""
    run: str = ""
    attempt: int = 0
    outcome: str = ""
    note: str = ""
    commit: str = ""  # the last one of its work, or its merge commit
    workspace: str = ""
    cost_usd: float = 0.0  # this and the next two: of the run that ended
    tokens: int = 0
    iterations: int = 0


def variable_names() -> tuple[str, ...]:
    return tuple(f"ALLSTOP_{name.upper()}" for name in Facts.__struct_fields__)


def variables(facts: Facts) -> dict[str, str]:
    """The environment variables; control characters in agents' text are replaced."""
    return dict(zip(variable_names(), map(_value, asdict(facts).values()), strict=True))


def _value(fact: object) -> str:
    if isinstance(fact, float):
        return f"{fact:.6f}"
    return plain(str(fact)[:MAX_FACT_CHARS]).encode(errors="replace").decode()


class Child(Struct, frozen=True, gc=False):
    """An open child run of the board."""

    task: str
    branch: str
    merges: bool = False
    reverts: bool = False
    others: tuple[str, ...] = ()  # the rest of the batch that it merges
    landed: bool = False  # by an earlier batch; it is only recorded


class HookState(Struct, frozen=True, gc=False):
    """The state of a board's or the helm's journal, needed to interpret its next event."""

    children: dict[str, Child] = {}
    hold: Hold = Hold.NONE
    pauses: bool = False  # a pause lies beneath a freeze


class HookContext(NamedTuple):
    """The board's data after the event."""

    board: RunId
    target: str
    task: Callable[[str], Task | None]
    workspace: Callable[[str], str] = lambda task: ""


def evolve(state: HookState, event: Event) -> HookState:
    match event:
        case MoveStarted(move=Spawn() as spawn):
            return replace(state, children={**state.children, spawn.ref: child(spawn)})
        case ChildClosed(ref=ref):
            left = {name: each for name, each in state.children.items() if name != ref}
            return replace(state, children=left)
        case Commanded(command=command):
            hold = hold_after(state.hold, command, pauses=state.pauses)
            pauses = is_paused_beneath(state.hold, command, pauses=state.pauses)
            return replace(state, hold=hold, pauses=pauses)
        case _:
            return state


def hook_facts(state: HookState, event: Event, context: HookContext) -> tuple[Facts, ...]:
    """The facts for the hooks that an event triggers; `state` is from before the event."""
    match event:
        case MoveStarted(move=Spawn() as spawn):
            begun = child(spawn)
            run = child_of(context.board, spawn.ref)
            others = [Child(task, branch_of(task), merges=True) for task in begun.others]
            hook = _start_hook(begun)
            found = [_facts(hook, each, run, context) for each in (begun, *others)]
        case _:
            found = [_end_facts(state, event, context)]
    return tuple(facts for facts in found if facts is not None)


def _end_facts(state: HookState, event: Event, context: HookContext) -> Facts | None:
    match event:
        case ChildClosed(ref=ref, run=run, outcome=outcome) if ref in state.children:
            ended = state.children[ref]
            if has_failed_together(event.facts):
                return None  # its changes are merged in smaller batches
            hook = _merge_end_hook(ended, outcome) if ended.merges else _end_hook(outcome)
            return _facts(hook, ended, run, context, event)
        case Commanded(command=Pause(), by=by) if evolve(state, event) != state:
            return pause_facts(context, f"by {by}")
        case _:
            return None


def pause_facts(context: HookContext, note: str) -> Facts:
    """Also for a board that pauses by itself, for which no event is written."""
    return Facts(hook=Hook.ON_PAUSE, run=context.board, target=context.target, note=note)


def child(begun: Spawn | Opened) -> Child:
    """A child run, from the board's move or from the child's own journal."""
    task = str(begun.spec.get("task", begun.ref))
    return Child(
        task,
        str(begun.spec.get("branch") or branch_of(task)),
        merges=begun.kind == "merge",
        reverts=bool(begun.spec.get("revert")),
        others=tuple(other.task for other in batch_members(begun.spec)),
        landed=bool(begun.spec.get("landed")),
    )


def _start_hook(child: Child) -> Hook | None:
    if child.reverts or child.landed:
        return None
    return Hook.PRE_MERGE if child.merges else Hook.PRE_START


def _end_hook(outcome: Outcome) -> Hook | None:
    match outcome:
        case Outcome.DONE:
            return Hook.POST_COMPLETE
        case Outcome.FAILED | Outcome.TIMED_OUT | Outcome.BRAKED | Outcome.CRASHED:
            return Hook.ON_ERROR
        case Outcome.BLOCKED | Outcome.ABORTED | Outcome.CONFLICT:
            return None


def _merge_end_hook(child: Child, outcome: Outcome) -> Hook | None:
    match outcome:
        case Outcome.DONE:
            return None if child.reverts else Hook.POST_MERGE
        case Outcome.CONFLICT:
            return Hook.ON_CONFLICT
        case _:
            return _end_hook(outcome)


def _facts(
    hook: Hook | None,
    child: Child,
    run: RunId,
    context: HookContext,
    closed: ChildClosed | None = None,
) -> Facts | None:
    if hook is None:
        return None
    task = context.task(child.task)
    tally = closed.tally if closed else Tally()
    return Facts(
        hook=hook,
        task=child.task,
        title=task.title if task else "",
        status=task.status.value if task else "",
        target=(task.target if task else "") or context.target,
        branch=child.branch,
        run=run,
        attempt=_attempt(task, run, child),
        outcome=closed.outcome.value if closed else "",
        note=closed.note if closed else "",
        commit=_commit(task, closed),
        workspace=context.workspace(child.task),
        cost_usd=tally.cost_microusd / 1_000_000,
        tokens=tally.tokens,
        iterations=tally.turns,
    )


def _attempt(task: Task | None, run: RunId, child: Child) -> int:
    """The number of the attempt; a merge belongs to the last one."""
    runs = [attempt.run for attempt in task.attempts] if task else []
    if run in runs:
        return runs.index(run) + 1
    return len(runs) if child.merges else len(runs) + 1


def _commit(task: Task | None, closed: ChildClosed | None) -> str:
    commit = closed.facts.get("commit", "") if closed else ""
    return commit or (task.merged if task else "")
