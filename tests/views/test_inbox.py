"""F5, B11, B20: the inbox lists everything that waits for a person."""

import anyio
import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from allstop.auto.state import EDITION, AutoSpec
from allstop.core import helm as helms
from allstop.core import run
from allstop.core.asks import Ask, Option, Question
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import AddTasks, Allstop, StartSession
from allstop.core.ids import BOARD, HELM
from allstop.core.moves import Failed, FailureKind, Outcome
from allstop.core.retries import LimitPatience
from allstop.core.tasks import Attempt, NewTask, Status, Task
from allstop.kinds import KINDS, PILOTS
from allstop.testing.virtual_clock import EPOCH, LoopClock
from allstop.views.failure_reasons import FAILURE_REASONS
from allstop.views.inbox import Kind, OpenRun, inbox
from support.board_runs import board_spec
from support.in_memory_world import DONE, InMemoryWorld, task
from support.room_runs import session_spec

RED = Question(text="Which colour?", options=(Option(label="Red"), Option(label="Blue")))
COLOUR = Ask(id="q1", kind="question", text=RED.text, questions=(RED,))
INSTALL = Ask(id="c1", argv=("make", "install"), text="make install")


async def found(world, *, driven=True):
    """What an onlooker finds in the journal."""
    sights = []
    for head in await world.journal.heads():
        events = [record.event for record in await world.journal.read(head.run)]
        pilot = PILOTS[head.kind]
        state = run.fold(pilot, events)
        idle = head.run == BOARD and not state.pilot.is_braked
        sights.append(OpenRun(head.run, KINDS[head.kind], state, events[-1].at, driven, idle))
    helm = helms.fold([record.event for record in await world.journal.read(HELM)])
    board = next((each.state.pilot.board for each in sights if each.run == BOARD), None)
    tasks = board.tasks() if board else ()
    return inbox(sights, tasks, LoopClock().now(), helm)


async def test_f5_what_agents_ask_within_a_turn_waits_with_its_options():
    """F5: leave and questions, each with its name, the oldest first."""
    world = InMemoryWorld()
    world.agent("cli", INSTALL, DONE)
    world.agent("other", COLOUR, DONE)
    async with world.running() as engine:
        await engine.open("a", "task", task(), title="One")
        await anyio.sleep(5)
        await engine.open("b", "task", task(agents=["other"]))
        await anyio.sleep(60)
        leave, question = await found(world)

    assert (leave.id, leave.run, leave.kind, leave.text) == ("a:c1", "a", "leave", "make install")
    assert (leave.options, leave.do) == (("allow", "session", "deny"), "allstop allow a:c1")
    assert leave.title == "One"
    assert (question.id, question.kind, question.text) == ("b:q1", Kind.QUESTION, "Which colour?")
    assert (question.options, question.questions) == (("Red", "Blue"), (RED,))
    assert (question.since - leave.since).total_seconds() == pytest.approx(5, abs=0.1)


async def test_b11_a_question_at_the_end_of_a_turn_waits():
    world = InMemoryWorld()
    world.agent("cli", "<promise>PENDING: which one?</promise>", DONE)
    async with world.running() as engine:
        await engine.open("a", "task", task())
        await anyio.sleep(60)
        (waiting,) = await found(world)

    assert (waiting.kind, waiting.text) == (Kind.PENDING, "which one?")
    assert waiting.do == 'allstop answer a "…"'


async def test_k1_a_limit_that_pauses_waits_for_a_person():
    """K1: it says which limit."""
    world = InMemoryWorld()
    world.agent("cli", then=lambda turn: "on we go")
    async with world.running() as engine:
        limits = Limits(turns=2, at_limit=AtLimit.PAUSE)
        await engine.open("a", "task", task(), limits=limits)
        await anyio.sleep(60)
        (waiting,) = await found(world)

    assert (waiting.kind, waiting.text) == (Kind.LIMIT, "limit reached: turns: 2 of 2")


@pytest.mark.parametrize("kind", ["auto", "room"])
async def test_k13_what_gave_up_waiting_for_a_provider_says_what_helps(kind):
    """K13, R17: the reason is the provider's, the hint is ours."""
    world = InMemoryWorld()
    world.agent("cli", Failed(kind=FailureKind.USAGE_LIMITED, message="no more"), DONE)
    at_once = LimitPatience(most_s=0.0)
    async with world.running() as engine:
        if kind == "auto":
            thread = AutoSpec(goal="x", agent="cli", endurance=at_once, edition=EDITION)
            await engine.open("a", kind, to_builtins(thread))
        else:
            await engine.open("a", kind, {"thread": "a"})
            spec = session_spec(agents=("cli",), endurance=at_once)
            await engine.command("a", StartSession(session=spec))
        await anyio.sleep(60)
        (waiting,) = await found(world)

    assert waiting.kind is Kind.PAUSED
    assert "usage limited: no more" in waiting.text
    assert waiting.hint == FAILURE_REASONS[FailureKind.USAGE_LIMITED].person


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (FailureKind.OUT_OF_BUDGET, ("limit", "resume", "abort")),
        (FailureKind.OUT_OF_ROOM, ("resume", "abort")),
        (FailureKind.OUT_OF_MEMORY, ("resume", "abort")),
    ],
)
async def test_k1_no_limit_is_offered_that_does_not_help(kind, options):
    """K1: against a full disk or memory no turns, tokens or money help."""
    world = InMemoryWorld()
    world.agent("cli", Failed(kind=kind, message="no more"), DONE)
    async with world.running() as engine:
        await engine.open("a", "task", task(), limits=Limits(turns=9, at_limit=AtLimit.PAUSE))
        await anyio.sleep(60)
        (waiting,) = await found(world)

    assert (waiting.kind, waiting.options) == (Kind.LIMIT, options)


async def test_b20_a_run_that_nobody_drives_waits_unless_everything_is_stopped():
    """B20: after an Allstop there is one thing to do, and it is not in the list."""
    world = InMemoryWorld()
    world.agent("cli", 1000.0)
    async with world.running() as engine:
        await engine.open("a", "task", task())
        await anyio.sleep(5)
        at_work = await found(world)
    interrupted = await found(world, driven=False)
    async with world.running() as engine:
        await engine.command(HELM, Allstop())

    assert at_work == []
    assert [(each.kind, each.do) for each in interrupted] == [
        (Kind.INTERRUPTED, "allstop resume a")
    ]
    assert await found(world, driven=False) == []


async def test_b11_the_tasks_of_a_board_wait_and_none_is_told_twice():
    """B11, B21: what is asked, what is blocked, what failed, what waits for review."""
    world = InMemoryWorld()
    answers = {
        "ask": "<promise>PENDING: which one?</promise>",
        "blocked": "<promise>BLOCKED: no access</promise>",
        "broken": Failed(kind=FailureKind.BAD_REQUEST, message="no model"),
        "good": DONE,
    }
    for name, entry in answers.items():
        world.agent(name, entry)
    spec = board_spec(slots=4, review="per-task")
    async with world.running() as engine:
        await engine.open(BOARD, "board", spec)
        tasks = tuple(NewTask(id=name, title=name, agent=name) for name in answers)
        await engine.command(BOARD, AddTasks(tasks=tasks))
        await anyio.sleep(60)
        waiting = await found(world)

    assert {each.task: (each.kind, each.do) for each in waiting} == {
        "ask": (Kind.PENDING, 'allstop answer ask "…"'),
        "blocked": (Kind.BLOCKED, "allstop retry blocked"),
        "broken": (Kind.FAILED, "allstop edit broken"),
        "good": (Kind.REVIEW, "allstop approve good"),
    }
    assert len(waiting) == 4
    assert next(each.options for each in waiting if each.task == "good") == (
        "approve",
        "redo",
        "reject",
    )
    assert next(each.text for each in waiting if each.task == "blocked") == "no access"
    broken = next(each for each in waiting if each.task == "broken")
    assert broken.options == ("edit", "retry", "rollback", "split", "skip")
    assert broken.hint.startswith("A retry would fail in the same way")


def test_b17_work_that_could_not_be_merged_waits_with_what_helps():
    """B17: a merge that failed is tried again as it is; what does not fit goes to the agent first."""
    begun = Task(id="a", title="A", number=1, status=Status.WAITING, changed_at=EPOCH)
    failed, unfit = replace(begun, verified="tree"), replace(begun, id="b")

    waiting = inbox((), [failed, unfit], EPOCH, helms.fold([]))

    stalled = ("retry", "edit", "rollback", "split", "skip")
    assert [(each.kind, each.do, each.options) for each in waiting] == [
        (Kind.MERGE, "allstop approve a", ("approve", *stalled)),
        (Kind.MERGE, "allstop retry b", stalled),
    ]


def test_b8_a_task_whose_agent_crashed_waits_with_what_can_be_done():
    """B8: pending, and offered, until somebody has said what is to become of it."""
    died = Attempt(run="board/a.1", began_at=EPOCH, ended_at=EPOCH, outcome=Outcome.CRASHED)
    crashed = Task(id="a", title="A", number=1, attempts=(died,), note="signal 9", changed_at=EPOCH)
    others = [
        replace(crashed, note=""),
        replace(crashed, assigned=True),
        replace(crashed, attempts=()),
    ]

    (waiting,) = inbox((), [crashed], EPOCH, helms.fold([]))

    assert (waiting.kind, waiting.do, waiting.text) == (Kind.FAILED, "allstop run a", "signal 9")
    assert waiting.options == ("retry", "edit", "rollback", "split", "skip")
    assert "`allstop diff a`" in waiting.hint
    assert inbox((), others, EPOCH, helms.fold([])) == []


def test_b11_what_is_stopped_shows_its_question_as_before_and_asks_nothing_at_a_limit():
    """While all stand still only the board's tasks are told."""
    waits = Task(
        id="a",
        title="A",
        number=1,
        status=Status.WAITING,
        open="T1.1",
        note="asks: which one?",
        changed_at=EPOCH,
    )
    limited = replace(waits, id="b", note="limit reached: turns: 2 of 2")

    waiting = inbox((), [waits, limited], EPOCH, helms.fold([]))

    assert [(each.kind, each.text, each.options, each.do) for each in waiting] == [
        (Kind.PENDING, "which one?", ("answer",), 'allstop answer a "…"'),
        (Kind.PAUSED, "limit reached: turns: 2 of 2", (), "allstop limit b --times 2"),
    ]
