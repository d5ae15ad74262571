"""S7: the question that a forecast answers: tasks, filters, slots, or a sprint."""

import pytest
from msgspec.structs import replace

from allstop.app.board.forecast import Question, make_forecast, sprint_question
from allstop.core.board_specs import Filters, ReviewMode, SprintSpec, Target, TargetKind
from allstop.core.commands import CancelSprint, StartSprint
from allstop.core.errors import NotFoundError
from allstop.core.tasks import NewTask
from support.simulated_boards import SimulatedBoard

COUNT = SprintSpec(
    target=Target(type=TargetKind.COUNT, value=3), filters=Filters(include_tags=("api",))
)


@pytest.fixture(scope="module")
def board():
    """Sixty finished tasks, and eight to come: half are tagged api."""
    made = SimulatedBoard(4)
    made.tasks(1, 60, needs=0)
    made.work()
    made.plan(
        *(
            NewTask(id=f"n{n}", title="x", agent="fast", tags=("api" if n % 2 else "docs",))
            for n in range(8)
        )
    )
    return made


async def ask(board, question, state=None):
    return await make_forecast(state or board.state.pilot, {}, question, board.now)


async def test_s7_filters_choose_the_tasks_and_slots_their_pace(board):
    every = await ask(board, Question())
    api = await ask(board, Question(filters=Filters(include_tags=("api",))))
    out = await ask(board, Question(filters=Filters(exclude_tags=("api",)), slots=1))
    one = await ask(board, Question(tasks=("n1",)))

    assert [each.tasks for each in (every, api, out, one)] == [8, 4, 4, 1]
    assert (every.slots, out.slots) == (4, 1)
    with pytest.raises(NotFoundError):
        await ask(board, Question(tasks=("n99",)))


async def test_s7_a_sprint_is_forecast_before_it_starts_by_its_filters_and_its_count(board):
    found = await ask(board, sprint_question(board.state.pilot, COUNT, board.now))

    assert found.tasks == 4
    assert (found.finished.p10, found.finished.p90) == (3, 3), "not one more, in four slots"


async def test_s7_a_running_sprint_is_forecast_as_what_is_left_of_it(board):
    running = SimulatedBoard(4)
    running.tasks(1, 60, needs=0)
    running.work()
    running.plan(*(NewTask(id=f"n{n}", title="x", agent="fast", tags=("api",)) for n in range(8)))
    running.command(StartSprint(sprint=COUNT))
    while running.state.pilot.sprint.completed < 1:
        running.work(most=1)

    found = await make_forecast(running.state.pilot, running.under_way(), Question(), running.now)
    running.tell(CancelSprint())
    without = await ask(running, Question())

    assert (found.finished.p10, found.finished.p90) == (2, 2)
    assert without.finished.p90 > 2, "the board's own tasks again"


async def test_s7_a_batch_review_at_the_end_releases_no_task_before(board):
    chain = SimulatedBoard(4)
    chain.tasks(1, 60, needs=0)
    chain.work()
    chain.plan(NewTask(id="a", title="x"), NewTask(id="b", title="x", needs=("a",)))
    state = chain.state.pilot
    assert state.spec.review is ReviewMode.SKIP

    free = await ask(chain, sprint_question(state, SprintSpec(), chain.now))
    batch = await ask(chain, sprint_question(state, SprintSpec(batch_review=True), chain.now))
    given = replace(state, spec=replace(state.spec, review=ReviewMode.PER_TASK))
    strict = await ask(chain, sprint_question(given, SprintSpec(), chain.now), given)

    assert [each.left_out for each in (free, batch, strict)] == [0, 1, 1]
