"""Boards in the simulation: random commands, invariants, and commands that finish a board."""

from msgspec.structs import replace

from allstop.board import graph
from allstop.board.board_pilot import BoardPilot, limited_agents
from allstop.board.sprint_states import Phase
from allstop.core.board_specs import Mode, TargetKind
from allstop.core.commands import (
    Abort,
    AddTasks,
    Approve,
    Assign,
    CancelSprint,
    Equip,
    Range,
    RecordForecast,
    ResumeSprint,
    Retry,
    RollBack,
    SetMode,
    Skip,
)
from allstop.core.events import MoveStarted
from allstop.core.helm import Hold
from allstop.core.moves import EndSprint, MakeCheckpoint, Outcome, Spawn, Wait
from allstop.core.run import expected_move
from allstop.core.tasks import OVER, STALLED, Status
from board import random_boards
from simulation.auditor import rule

PILOT = BoardPilot()
MOST_ATTEMPTS = 4
AT_WORK = (Status.ACTIVE, Status.WAITING, Status.MERGING)


def ids_of(run):
    return [f"{run}.t{number}" for number in range(6)]


# --- commands ---


def first_tasks(chance, run):
    ids = ids_of(run)
    count = chance.randint(1, 4)
    return AddTasks(
        tasks=tuple(random_boards.some_task(chance, ids[n], ids[:n]) for n in range(count))
    )


def some_command(chance, run, state, now):
    """A random command that usually fits the board."""
    spec = state.pilot.spec
    if chance.random() < 0.15:
        return random_boards.some_sprint_command(chance, now)
    if chance.random() < 0.2:
        return chance.choice(
            [
                SetMode(mode=chance.choice(list(Mode))),
                Equip(
                    spec=replace(spec, slots=chance.randint(1, 3), errors=3, retries_first=False)
                ),
                Equip(spec=replace(spec, count=chance.choice([None, 1, 4]))),
                some_forecast(chance, run),
            ]
        )
    return random_boards.some_command(chance, state.pilot.board, ids_of(run))


def some_forecast(chance, run):
    """A forecast of some tasks; not all of them exist."""
    some = Range(p10=1.0, p50=2.0, p90=chance.random() * 1000)
    return RecordForecast(
        tasks=tuple(chance.sample(ids_of(run), 3)),
        seconds=some,
        finished=some,
        count=chance.choice([None, 1, 2]),
    )


def finishing(run, state):
    """The next command that brings the board to its end."""
    board, spec = state.pilot.board, state.pilot.spec
    if board.count(*OVER) == len(board.nodes):
        regretted = [t for t in board.tasks() if t.merged and len(t.attempts) == 1]
        return [RollBack(task=task.id) for task in regretted] or [Abort()]
    said = [Equip(spec=replace(spec, mode=Mode.AUTOPILOT, count=None, until=None, errors=0))]
    if (sprint := state.pilot.sprint) is not None:
        # a sprint of filters may leave tasks, and a count waits for those that ask
        said = [ResumeSprint()] if sprint.phase is Phase.PAUSED else [CancelSprint(), *said]
    for task in board.tasks():
        if task.status is Status.REVIEW:
            said.append(Approve(task=task.id))
        elif task.status in STALLED and not task.open:
            tired = len(task.attempts) >= MOST_ATTEMPTS
            said.append(Skip(task=task.id) if tired else Retry(task=task.id))
        elif task.status is Status.PENDING and task.held:
            said.append(Skip(task=task.id) if board_waits(board, task) else Assign(task=task.id))
        elif task.status is Status.PENDING and for_ever(board, task):
            said.append(Skip(task=task.id))
    return said


def board_waits(board, task):
    return bool(graph.waits_for(board, task))


def for_ever(board, task):
    """Whether the task can never start."""
    return any(need.status is Status.CANCELLED for need in graph.waits_for(board, task))


# --- invariants ---


def check_start(run, state, event):
    """Before folding: a task starts only if it is ready and a slot is free."""
    if not isinstance(event, MoveStarted):
        return
    sprint = state.pilot.sprint
    if isinstance(event.move, MakeCheckpoint | EndSprint):
        rule(sprint is not None, "only a sprint has a checkpoint and an end", run, event)
        rule(not sprint.open, "a checkpoint and an end have no task at work", run, event)
        return
    board, spec = state.pilot.board, state.pilot.spec
    task = board[event.move.spec["task"]]
    rule(not task.open, "one run for a task at a time", run, task)
    if event.move.kind == "merge":
        rule(not state.pilot.merging, "one merge at a time", run, task)
        rule(task.status is Status.MERGING, "a merge starts only for a task in merging", run, task)
        return
    rule(state.pilot.at_work(event.at) < spec.slots, "no more tasks than slots", run)
    free = somebody_is_free_for(random_boards.in_order(board), state.pilot, event.at)
    wanted = free if picks_itself(state.pilot, event.at) else chosen_by_people(free, state.pilot)
    if sprint is not None:
        wanted = of_sprint(wanted, state.pilot) or chosen_by_people(free, state.pilot)
    rule(task == wanted[0], "the best ready task starts", run, task, wanted[0])


def picks_itself(pilot, now):
    has_enough = pilot.spec.count is not None and pilot.started >= pilot.spec.count
    sprint = pilot.sprint
    if pilot.rests or (sprint is not None and is_enough(sprint, now)):
        return False
    return pilot.spec.mode is Mode.AUTOPILOT and not has_enough


def is_enough(sprint, now):
    """Whether the sprint starts no more tasks by itself."""
    spec, known = sprint.spec, {*sprint.finished, *sprint.open}
    full = spec.target.type is TargetKind.COUNT and len(known) >= spec.target.value
    late = spec.ends_at is not None and now >= spec.ends_at
    return sprint.phase is not Phase.RUNNING or full or late


def of_sprint(tasks, pilot):
    """The tasks that the running sprint takes, and those that a person assigned."""
    sprint = pilot.sprint
    return [task for task in tasks if task.assigned or sprint is None or sprint.takes(task)]


def chosen_by_people(tasks, pilot):
    """Assigned tasks, then tasks to retry."""
    return [task for task in tasks if task.assigned or task.id in pilot.retried]


def somebody_is_free_for(tasks, pilot, now):
    """Tasks that don't have to wait for a rate limit."""
    limited = limited_agents(pilot, now)
    agents_for = pilot.spec.agents_for
    return [task for task in tasks if not limited or not limited.issuperset(agents_for(task.agent))]


def check_after(run, state):
    """After each event: every task has one status, and active tasks have a run."""
    pilot, tasks = state.pilot, state.pilot.board.tasks()
    counted = random_boards.counts(pilot.board)
    for status in Status:
        rule(pilot.board.count(status) == counted[status], "counts are right", run, status)
    for ref, name in pilot.refs.items():
        task = pilot.board[name]
        rule(task.open == ref, "an open run is known to its task", run, ref, task)
        rule(task.status in AT_WORK, "a task with an open run is at work", run, task)
    rule(len(set(pilot.refs.values())) == len(pilot.refs), "a task has one run", run)
    check_sprints(run, pilot)
    for task in tasks:
        rule(task.status is not Status.ACTIVE or task.open, "an active task has a run", run, task)
        rule(
            not task.open or task.open in pilot.refs,
            "a closed run is removed from its task",
            run,
            task,
        )


def check_sprints(run, pilot):
    """Sprints end one after the other, and count only tasks that have finished."""
    known = [*pilot.sprints, *filter(None, [pilot.sprint])]
    ids = [sprint.id for sprint in known]
    rule(ids == [f"sprint{n + 1}" for n in range(len(known))], "sprints have numbers", run, ids)
    for sprint in pilot.sprints:
        rule(sprint.ended_at is not None and not sprint.open, "an ended sprint is over", run)
        rule(sprint.phase is Phase.IDLE, "an ended sprint is idle", run, sprint)
    for sprint in known:
        rule({*sprint.finished, *sprint.open} <= {*sprint.taken}, "tasks are taken first", run)
    if pilot.sprint is not None:
        at_work = set(pilot.refs.values())
        rule(pilot.sprint.open <= at_work, "tasks of a sprint are at work", run, pilot.sprint)


def check_at_rest(run, state, now):
    """After all events are read: no ready task is left while a slot is free."""
    if state.closed or state.aborting or state.hold is not Hold.NONE or state.open_move:
        return
    pilot = state.pilot
    may = picks_itself(pilot, now) and pilot.spec.count is None and not pilot.is_braked
    has_room = pilot.at_work(now) < pilot.spec.slots
    ready = of_sprint(somebody_is_free_for(random_boards.ready(pilot.board), pilot, now), pilot)
    move = expected_move(PILOT, state, now)
    is_braked = isinstance(move, Wait) and move.reason.startswith("limit reached")
    left = may and has_room and ready and not is_braked
    rule(not left, "no slot is idle while a task is ready", run, ready)
    rule(isinstance(move, Wait), "no possible move is left", run, move)


def check_history(run, events, states, repository):
    """At the end: each task was merged once, regardless of its attempts."""
    state = states[run]
    for task in state.pilot.board.tasks():
        merges = [
            other.closed.outcome
            for name, other in states.items()
            if name.startswith(f"{run}/{task.id}.merge") and other.closed is not None
        ]
        broken = sum(outcome in (Outcome.ABORTED, Outcome.FAILED) for outcome in merges)
        times = repository.merged[task.id] - repository.reverted[task.id]
        rule(times <= 1 + broken, "work is merged once", run, task, times)
        if task.status is Status.DONE and task.attempts and state.pilot.spec.merge:
            rule(times >= 1, "a done task is merged", run, task)
    refs = [e.move.ref for e in events if isinstance(e, MoveStarted) and isinstance(e.move, Spawn)]
    rule(len(refs) == len(set(refs)), "no run is started twice", run)
