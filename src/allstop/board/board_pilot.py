"""The pilot of a board: starts the best ready tasks in its slots, and merges one at a time."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from allstop.board import attempt as attempts
from allstop.board import forecast_record, graph, scheduling, sprint_events, task_commands
from allstop.board.attempt import NO_PROGRESS_WAIT
from allstop.board.attempt_limits import limits_of_attempt
from allstop.board.criteria import criteria_in
from allstop.board.ended_merges import merge_closed, target_of
from allstop.board.sprint_states import Trigger
from allstop.board.state import FAILURES, BoardState
from allstop.core import board_specs
from allstop.core.commands import (
    AddTasks,
    Approve,
    Assign,
    Equip,
    Give,
    RecordForecast,
    Redo,
    Resume,
    Retry,
    RollBack,
    SetMode,
    SprintCommand,
    TaskCommand,
)
from allstop.core.events import (
    ChildClosed,
    ChildRested,
    ChildWaited,
    ChildWentOn,
    Commanded,
    Event,
    MoveEnded,
    MoveStarted,
)
from allstop.core.ids import BOARD, AgentName, child_of
from allstop.core.moves import (
    CheckpointMade,
    EndSprint,
    Failed,
    Move,
    Outcome,
    Spawn,
    Wait,
)
from allstop.core.run import PilotContext
from allstop.core.tasks import Attempt, Status, Task, branch_of
from allstop.core.text import one_line
from allstop.merges import queue as merge_queue

NAMING = (Approve, Assign, Give, Redo, Retry, RollBack)
"""Commands that name a task and let the board act on it."""

_STATUS = {
    Outcome.BLOCKED: Status.BLOCKED,
    Outcome.FAILED: Status.FAILED,
    Outcome.TIMED_OUT: Status.TIMEOUT,
    Outcome.BRAKED: Status.TIMEOUT,
    Outcome.CRASHED: Status.PENDING,
    Outcome.ABORTED: Status.PENDING,
    Outcome.CONFLICT: Status.WAITING,
}


class BoardPilot:
    kind = "board"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> BoardState:
        return BoardState(spec=msgspec.convert(spec, board_specs.BoardSpec))

    def evolve(self, state: BoardState, event: Event) -> BoardState:
        return sprint_events.reached(self._evolve(state, event), event.at)

    def _evolve(self, state: BoardState, event: Event) -> BoardState:
        match event:
            case Commanded():
                return _commanded(state, event)
            case MoveStarted(move=EndSprint(reason=reason), at=at):
                return sprint_events.over(state, Trigger.TASKS_FINISHED, at, reason)
            case MoveEnded(result=CheckpointMade() | Failed() as result, at=at):
                return sprint_events.checkpoint_ended(state, result, at)
            case MoveStarted(move=Spawn(spec={"task": str(task)}) as spawn, at=at) if (
                task in state.board.nodes
            ):
                return _spawned(state, spawn, at)
            case ChildWaited(ref=ref, reason=reason, at=at) if ref in state.refs:
                return _waited(state, ref, reason, at)
            case ChildRested(ref=ref, until=until, reason=reason) if ref in state.refs:
                return _rested(state, ref, until, reason)
            case ChildWentOn(ref=ref, at=at) if ref in state.refs:
                return _went_on(state, ref, at)
            case ChildClosed(ref=ref) if ref in state.refs:
                task = state.refs[ref]
                return _with_forecasts(_closed(state, event), task, event.at)
            case _:
                return state

    def undelivered(self, state: BoardState) -> tuple[str, ...]:
        return ()  # it takes no turns

    def evolve_all(self, state: BoardState, events: Sequence[Event]) -> BoardState:
        adding: task_commands.Adding | None = None
        for event in events:
            if isinstance(event, Commanded) and isinstance(event.command, AddTasks):
                adding = adding or task_commands.Adding(state.board)
                adding.take(event.command, event.at)
                continue
            if adding is not None:
                state, adding = replace(state, board=adding.board()), None
            state = self.evolve(state, event)
        return state if adding is None else replace(state, board=adding.board())

    def next_move(self, state: BoardState, context: PilotContext) -> Move:
        spec = state.spec
        if (move := sprint_events.next_move(state, context)) is not None:
            return move
        if state.is_braked:
            return Wait(reason=state.brake_reason, for_person=True)
        if (merge := _merge_move(state)) is not None:
            return merge
        has_room = state.at_work(context.now) < spec.slots
        if has_room and (task := _best(state, context.now)) is not None:
            return _start(state, task)
        until = _free_again_at(state, context.now)
        is_at_rest = len(state.refs) == len(state.others())
        return Wait(reason=_reason(state, context.now), until=until, for_person=is_at_rest)

    def completion(self, state: BoardState, context: PilotContext) -> Move | None:
        """The next merge, or the end of the sprint that the board's budget was given for."""
        return sprint_events.end_at_limit(state, context) or _merge_move(state)


def _merge_move(state: BoardState) -> Move | None:
    queued = None if state.is_braked or state.merging else _next_merge(state)
    return None if queued is None else _merge(state, *queued)


def _free_again_at(state: BoardState, now: datetime) -> datetime | None:
    """The earliest end of a limit if a task is ready, or else the end of a sprint."""
    later = [at for at in state.resting.values() if at is not None and now < at]
    if graph.best(state.board) is None:
        later = []
    return min([*later, *sprint_events.ends_at(state)], default=None)


def _best(state: BoardState, now: datetime) -> Task | None:
    spec, board = state.spec, state.board
    limited = limited_agents(state, now)

    def is_free(task: Task) -> bool:
        return not limited.issuperset(spec.agents_for(task.agent))

    asked = is_free if limited else None
    if (named := state.named) is not None:
        return scheduling.best_chosen(
            board, state.retried & named, lambda task: task.id in named and is_free(task)
        )
    if spec.mode is board_specs.Mode.SEMI or _starts_no_more(state, now):
        return scheduling.best_chosen(board, state.retried, asked)
    best = scheduling.best(board, asked)
    if state.sprint is None or best is None or best.assigned or state.sprint.takes(best):
        return best
    return scheduling.best_chosen(board, state.retried, asked)


def limited_agents(state: BoardState, now: datetime) -> set[AgentName]:
    """The agents whose limits some task waits for, with those on the same accounts."""
    timed = [ref for ref, until in state.resting.items() if until is not None and now < until]
    tasks = [state.board[state.refs[ref]] for ref in timed]
    limited = {agent for task in tasks for agent in state.spec.agents_for(task.agent)}
    terms = state.spec.terms
    accounts = {terms[agent].account for agent in limited if agent in terms} - {""}
    return limited | {agent for agent, their in terms.items() if their.account in accounts}


def _starts_no_more(state: BoardState, now: datetime) -> bool:
    """Whether only conflicts and tasks that a person chose are still started."""
    spec = state.spec
    if state.rests or (state.sprint is not None and not state.sprint.may_start(now)):
        return True
    return (spec.count is not None and state.started >= spec.count) or (
        spec.until is not None and now >= spec.until
    )


def _reason(state: BoardState, now: datetime) -> str:
    board = state.board
    at_work = state.at_work(now)
    named = {
        "at work": at_work,
        "held": board.count(Status.ACTIVE) - at_work,
        "merging": board.count(Status.MERGING),
        "waiting for you": board.count(Status.WAITING, Status.REVIEW),
    }
    counts = ", ".join(f"{count} {what}" for what, count in named.items() if count)
    return "; ".join(filter(None, [counts, state.sprint_pause])) or "nothing to do"


# --- starting ---------------------------------------------------------------------------------


def _start(state: BoardState, task: Task) -> Move:
    spec, current = state.spec, state.sprint
    agents = spec.agents_for(task.agent)
    if not agents:
        return Wait(reason="no agent is configured", for_person=True)
    minutes = task.minutes
    reviewers = spec.reviewers()
    own = {name: terms for name, terms in spec.terms.items() if name in {*agents, *reviewers}}
    if minutes is not None:  # the task's own time limit overrides the agents'
        own = {name: replace(terms, attempt_s=None) for name, terms in own.items()}
    terms = replace(own.get(agents[0], board_specs.AgentTerms()), account="", attempt_s=None)
    made = board_specs.TaskSpec(
        task=task.id,
        goal="\n\n".join(filter(None, [task.title, task.body, _allowed(task)])).strip(),
        agents=agents,
        target=target_of(spec, task),
        branch="" if spec.merge else branch_of(task.id),
        checks=spec.gate.checks,
        keep_going=spec.gate.keep_going,
        protected=spec.gate.protected,
        protection=spec.gate.protection,
        integrity=spec.gate.integrity,
        unreviewed=_is_unreviewed(state, task),
        may_change=task.may_change,
        labels=task.labels,
        done=terms.done,
        iterations=task.iterations or spec.iterations,
        attempt_s=spec.attempt_s if minutes is None else 60 * minutes,
        stuck_after=task.stuck_after or spec.stuck_after,
        no_progress=spec.no_progress,
        stuck_waits=current is not None and current.spec.pause_on_stuck and current.takes(task),
        turn_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        terms={
            name: own[name]
            for name in dict.fromkeys([*agents, *reviewers])
            if own.get(name, terms) != terms
        },
        compact_at=spec.compact_at,
        backoff=spec.backoff,
        limit_retries=spec.limit_retries,
        limit_s=spec.limit_s,
        recover_primary=spec.recover_primary,
        onto=task.onto,
        news=task.news,
        given=task.given,
        stash=bool(task.attempts) and task.attempts[-1].outcome is Outcome.ABORTED,
        stop_stashes=False,
        crash_ends=True,
        before=attempts.earlier_attempts(task),
        ask_s=spec.ask_s,
        criteria=bool(criteria_in(task.body)),
        second=reviewers,
        second_rounds=spec.second_rounds,
        edition=board_specs.EDITION,
    )
    ref = f"{task.id}.{len(task.attempts) + 1}"
    limits = limits_of_attempt(spec, task, len(task.attempts))
    return Spawn(kind="task", ref=ref, spec=_plain(made, task.title), limits=limits)


def _allowed(task: Task) -> str:
    """The agent is told what a person has allowed it to change."""
    named = "".join(f"\n- {one_line(each)}" for each in task.may_change)
    return f"You may change these tests and what they expect:{named}" if named else ""


def _plain(made: board_specs.TaskSpec | board_specs.MergeSpec, title: str) -> dict[str, object]:
    """The spec as it will be read from the journal."""
    plain = msgspec.json.decode(msgspec.json.encode(made), type=dict[str, object])
    return {**plain, "title": title}


def _next_merge(state: BoardState) -> tuple[int, str] | None:
    """The first merge in the queue that the board may begin."""
    return next((queued for queued in state.board.merges if state.acts_on(queued[1])), None)


def _merge(state: BoardState, number: int, task_id: str) -> Move:
    task, queue = state.board[task_id], state.queue
    others = _batch(state, task)[1:]
    made = board_specs.MergeSpec(
        task=task_id,
        target=target_of(state.spec, task),
        message=_merge_message(task),
        gate=state.spec.gate,
        verified=task.verified,
        verified_by=task.verified_by,
        revert=task.merged,
        unreviewed=_merges_unreviewed(state, task),
        may_change=task.may_change,
        labels=tuple(dict.fromkeys([*task.labels, *_labels_of(state, others)])),
        others=tuple(
            board_specs.BatchMember(task=name, message=_merge_message(state.board[name]))
            for name in others
        ),
        red=queue.red,
        landed=queue.landed.get(task_id, ""),
        edition=board_specs.MERGE_EDITION,
    )
    tried = f"-{queue.limits[task_id]}" if task_id in queue.limits else ""  # the same, but fewer
    ref = f"{task_id}.merge{number}{tried}"
    return Spawn(kind="merge", ref=ref, spec=_plain(made, made.message))


def _merge_message(task: Task) -> str:
    verb = "Roll back" if task.merged else "Merge"
    return f"{verb} {task.id}: {one_line(task.title, 200)}"


def _labels_of(state: BoardState, tasks: Sequence[str]) -> Iterator[str]:
    return (label for name in tasks for label in state.board[name].labels)


def _batch(state: BoardState, first: Task) -> tuple[str, ...]:
    """The tasks that are merged together: the first of the queue, and others for its target."""
    if first.merged:
        return (first.id,)

    def judged_as(task: Task) -> tuple[object, ...]:
        """The gate judges a batch as a whole, so its changes may not differ in this."""
        target = target_of(state.spec, task)
        return target, bool(task.merged), _merges_unreviewed(state, task), task.may_change

    waiting = (state.board[name] for _, name in state.board.merges if state.acts_on(name))
    same = (task.id for task in waiting if judged_as(task) == judged_as(first))
    target = target_of(state.spec, first)
    return merge_queue.batch(state.queue, same, target, state.spec.batch)


def _merges_unreviewed(state: BoardState, task: Task) -> bool:
    return _is_unreviewed(state, task) and task.review_decision is None


def _spawned(state: BoardState, spawn: Spawn, at: datetime) -> BoardState:
    task = state.board[str(spawn.spec["task"])]
    refs = {**state.refs, spawn.ref: task.id}
    if spawn.kind == "merge":
        queued = next(queued for queued in state.board.merges if queued[1] == task.id)
        board = graph.update(state.board, task, open=spawn.ref, note="")
        board = replace(board, merges=board.merges.minus(queued))
        others = [other.task for other in merge_queue.batch_members(spawn.spec)]
        queue = merge_queue.began(state.queue, [task.id, *others])
        return replace(state, board=board, refs=refs, merging=spawn.ref, queue=queue)
    attempt = Attempt(run=child_of(BOARD, spawn.ref), began_at=at, agent=_first_agent(spawn))
    board = graph.update(
        state.board,
        task,
        status=Status.ACTIVE,
        open=spawn.ref,
        attempts=(*task.attempts, attempt),
        target=str(spawn.spec.get("target") or ""),
        assigned=False,
        pin=0,
        note="",
        changed_at=at,
    )
    is_new = not task.onto  # not back after a conflict
    started, retried = state.started + is_new, state.retried - {task.id}
    state = replace(state, board=board, refs=refs, started=started, retried=retried)
    return sprint_events.task_started(state, task)


def _first_agent(spawn: Spawn) -> AgentName:
    match spawn.spec.get("agents"):
        case [str(name), *_]:
            return AgentName(name)
        case _:
            return AgentName("")


# --- events of child runs ---------------------------------------------------------------------


def _waited(state: BoardState, ref: str, reason: str, at: datetime) -> BoardState:
    task = state.board[state.refs[ref]]
    status = task.status if ref == state.merging else Status.WAITING
    board = graph.update(state.board, task, status=status, note=reason, changed_at=at)
    resting = _without(state.resting, ref)
    return sprint_events.task_waited(replace(state, board=board, resting=resting), task, reason)


def _rested(state: BoardState, ref: str, until: datetime | None, reason: str) -> BoardState:
    """A task that waits for a person has left its slot already, and a merge takes none.

    A task without progress keeps its slot while it waits for its next turn.
    """
    if state.board[state.refs[ref]].status is not Status.ACTIVE or reason == NO_PROGRESS_WAIT:
        return state
    return replace(state, resting={**state.resting, ref: until})


def _without(resting: dict[str, datetime | None], ref: str) -> dict[str, datetime | None]:
    return {other: until for other, until in resting.items() if other != ref}


def _went_on(state: BoardState, ref: str, at: datetime) -> BoardState:
    task = state.board[state.refs[ref]]
    status = task.status if ref == state.merging else Status.ACTIVE
    board = graph.update(state.board, task, status=status, note="", changed_at=at)
    return replace(state, board=board, resting=_without(state.resting, ref))


def _closed(state: BoardState, closed: ChildClosed) -> BoardState:
    task = state.board[state.refs[closed.ref]]
    refs = {ref: task_id for ref, task_id in state.refs.items() if ref != closed.ref}
    state = replace(state, refs=refs, resting=_without(state.resting, closed.ref))
    if closed.ref == state.merging:
        return merge_closed(replace(state, merging=""), replace(task, open=""), closed)
    task = attempts.end_attempt(task, closed)
    return sprint_events.task_closed(_task_closed(state, task, closed), task, closed)


def _with_forecasts(state: BoardState, closed: str, at: datetime) -> BoardState:
    known = state.forecasts
    if known and known[-1].made.sprint not in ("", state.sprint.id if state.sprint else ""):
        return state  # a person cancelled the sprint
    after = forecast_record.compared(known, state.board, state.refs.values(), closed, at)
    return state if after is known else replace(state, forecasts=after)


def _task_closed(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    outcome = closed.outcome
    if outcome is Outcome.DONE:
        errors = state.errors if state.is_braked else 0
        return _verified(replace(state, errors=errors), task, closed)
    errors = state.errors + (outcome in FAILURES)
    if outcome is Outcome.CRASHED:
        task = replace(task, retries=task.retries + 1)
    task = replace(task, status=_STATUS[outcome], held=outcome is Outcome.ABORTED)
    failure = closed.facts.get(board_specs.TARGET_FAILS, "") or state.target_failure
    board = graph.put(state.board, task)
    return replace(state, board=board, errors=errors, target_failure=failure)


def _review_mode(state: BoardState, task: Task) -> board_specs.ReviewMode:
    mode = state.spec.review_of(task.tags)
    if state.sprint is not None and task.id in state.sprint.open:
        return state.sprint.review_of(mode)
    return mode


def _is_unreviewed(state: BoardState, task: Task) -> bool:
    """Gates of boards from before verdicts don't tell, so that their records replay."""
    is_skipped = _review_mode(state, task) is board_specs.ReviewMode.SKIP
    return is_skipped and state.spec.gate.integrity is not None


def _verified(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    """The work passed the gate: it waits for review, or is merged."""
    tree, mark = closed.facts.get("tree", ""), closed.facts.get("gate", "")
    task = replace(
        task,
        verified=tree,
        verified_by=mark,
        onto="",
        news="",
        findings=closed.facts.get("findings", ""),
        unverified=closed.facts.get("unverified") == "yes",
    )
    mode = _review_mode(state, task)
    board = graph.put(state.board, replace(task, status=Status.REVIEW))
    was_blocked = any(attempt.outcome is Outcome.BLOCKED for attempt in task.attempts)
    is_clean = closed.facts.get("clean") == "yes" and not was_blocked
    is_asked = bool(closed.facts.get("asks"))
    if (mode is board_specs.ReviewMode.SKIP and not is_asked) or (
        mode is board_specs.ReviewMode.AUTO and is_clean
    ):
        board = task_commands.approved(board, board[task.id], closed.at, merge=state.spec.merge)
    return replace(state, board=board)


# --- commands ---------------------------------------------------------------------------------


def _commanded(state: BoardState, event: Commanded) -> BoardState:
    match event.command:
        case Equip(spec=spec, anew=anew):
            if not anew:
                return replace(state, spec=spec)
            named = None if spec.only is None else frozenset(spec.only)
            counts = {"started": 0, "errors": 0, "target_failure": ""}
            rests = state.rests and named is not None
            return replace(state, spec=spec, named=named, rests=rests, **counts)
        case RecordForecast() as made:
            kept = forecast_record.recorded(state.forecasts, made, state.board, event.at)
            return replace(state, forecasts=kept)
        case SetMode(mode=mode):
            spec = replace(state.spec.in_mode(mode), only=None)
            return replace(state, spec=spec, named=None, chosen=mode, rests=False)
        case command if isinstance(command, SprintCommand):
            return sprint_events.commanded(state, command, event.at)
        case Resume():  # the child runs get it as well
            limited = {ref: until for ref, until in state.resting.items() if until is not None}
            return replace(state, errors=0, target_failure="", resting=limited)
        case command if isinstance(command, TaskCommand):
            merge, assign = state.spec.merge, state.spec.retries_first
            again = {command.task} if isinstance(command, Retry | Give) and not assign else ()
            board = task_commands.carried_out(
                state.board, command, event.at, merge=merge, assign=assign
            )
            named = state.named
            if named is not None and isinstance(command, NAMING):
                named |= {command.task}
            if board is not state.board:  # it was not refused
                state = sprint_events.with_decision(state, command)
            return replace(state, board=board, retried=state.retried.union(again), named=named)
        case _:
            return state
