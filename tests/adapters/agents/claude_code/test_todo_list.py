"""F2: Claude Code's task list is shown as a whole plan, with each of its tools."""

import pytest

from adapters.agents.claude_code.launch_claude import came_back
from allstop.adapters.agents.claude_code.messages import Block
from allstop.adapters.agents.claude_code.todo_list import MAX_TASKS, Plan
from allstop.core.moves import Item, TurnDone
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Call, Say


def use(name, **arguments):
    return Say(text="", calls=(Call(name=name, arguments=arguments),))


def create(subject):
    return use("TaskCreate", subject=subject, description=subject)


def update(number, status):
    return use("TaskUpdate", taskId=str(number), status=status)


def plans(watch):
    return [item for item in watch.items if item.kind == "plan"]


async def test_f2_the_real_agent_plans_by_its_tasks_over_two_turns(bench):
    """F2: each change shows the whole plan; what a turn before has told is still known.

    Which models have these tools unasked, it decides by their names.
    """
    steps = (create("read"), create("write"), update(1, "in_progress"), "so far")
    more = (update(1, "completed"), update(2, "in_progress"), use("TaskList"), "done")

    def answer(asked):
        done = len(came_back(asked))
        return more[done - 3] if "go on" in asked.user else steps[done]

    agent = await bench.agent(answer, env={"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"})
    watch = RecordingWatch()

    first = await bench.turn(agent, watch)
    await bench.turn(agent, watch, text="go on", thread=first.thread)

    assert isinstance(first, TurnDone), first
    assert plans(watch) == [
        Item(kind="plan", text="[pending] read"),
        Item(kind="plan", text="[pending] read\n[pending] write"),
        Item(kind="plan", text="[in_progress] read\n[pending] write"),
        Item(kind="plan", text="[completed] read\n[pending] write"),
        Item(kind="plan", text="[completed] read\n[in_progress] write"),
        Item(kind="plan", text="[completed] read\n[in_progress] write"),
    ]


CREATED = "Task #{} created successfully: {}"


def after(plan, name, said="", **given):
    return plan.apply(Block(type="tool_use", name=name, input=given), said)


def test_f2_a_task_that_is_taken_back_is_gone_and_one_that_was_renamed_has_its_new_name():
    plan = Plan()
    after(plan, "TaskCreate", CREATED.format("a", "read"), subject="read")
    after(plan, "TaskCreate", CREATED.format("b", "write"), subject="write")

    renamed = after(plan, "TaskUpdate", "ok", taskId="b", subject="write more")
    left = after(plan, "TaskUpdate", "ok", taskId="a", status="deleted")

    assert renamed == "[pending] read\n[pending] write more"
    assert left == "[pending] write more"


@pytest.mark.parametrize(
    ("name", "said", "given", "shown"),
    [
        ("TaskUpdate", "ok", {"taskId": "7", "status": "completed"}, "[completed] task 7"),
        ("TaskUpdate", "ok", {}, ""),
        ("TaskUpdate", "ok", {"taskId": ["x"], "status": {"y": 1}}, "[{'y': 1}] task ['x']"),
        ("TaskCreate", "it went otherwise", {"subject": "read"}, ""),
        ("TaskList", "No tasks found", {}, ""),
        ("TaskList", "#1 [pending] read\n#2 [completed] write [blocked by #1]", {},
         "[pending] read\n[completed] write [blocked by #1]"),
    ],
)  # fmt: skip
def test_f2_of_a_plan_whose_beginning_nobody_saw_what_is_told_is_shown(name, said, given, shown):
    """F2: after a restart, or with unexpected output."""
    assert after(Plan(), name, said, **given) == shown


def test_k12_a_plan_without_an_end_is_kept_within_bounds():
    plan = Plan()
    for number in range(MAX_TASKS + 50):
        shown = after(plan, "TaskCreate", CREATED.format(number, "x"), subject="x" * 10_000)

    assert shown.count("x" * 200) <= MAX_TASKS
    assert len(shown) < 20_000
