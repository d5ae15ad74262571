"""Path and query parameters of the routes: one class for each set of parameters."""

from typing import Annotated

from msgspec import Meta, Struct

from allstop.board import statistics_groups
from allstop.views.usage import By

DEFAULT_LIMIT = 200
MAX_LIMIT = 1000
MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON parser reads exactly."""

After = Annotated[int, Meta(ge=0, le=MAX_INTEGER, description="Only events after this number.")]
Limit = Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="The maximum number of results.")]
RunName = Annotated[
    str, Meta(min_length=1, max_length=300, description="A run, or a task for its latest run.")
]
PlanRun = Annotated[str, Meta(min_length=1, max_length=300, description="The run of a plan.")]
TaskName = Annotated[str, Meta(min_length=1, max_length=64, description="A task's id.")]
Thread = Annotated[str, Meta(min_length=1, max_length=64, description="The thread of a room.")]


ProcessName = Annotated[
    str,
    Meta(min_length=1, max_length=100, description="A worker's name, or the id of its process."),
]


class NoParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Runs(NoParameters, frozen=True):
    kind: Annotated[str, Meta(description="Only runs of this kind, such as room or auto.")] = ""
    open: Annotated[bool, Meta(description="Only runs that have not ended.")] = False
    before: Annotated[str, Meta(description="Only runs older than this one.")] = ""
    limit: Limit = DEFAULT_LIMIT


class Usage(NoParameters, frozen=True):
    by: Annotated[By, Meta(description="How to group the turns.")] = By.AGENT
    days: Annotated[int, Meta(ge=1, le=3660, description="Turns of this many past days.")] = 30
    agent: Annotated[str, Meta(max_length=64, description="Only turns of this agent.")] = ""


class Calls(NoParameters, frozen=True):
    days: Annotated[int, Meta(ge=1, le=3660, description="Calls of this many past days.")] = 30
    agent: Annotated[str, Meta(max_length=64, description="Only calls of this agent.")] = ""
    limit: Limit = DEFAULT_LIMIT


class Stats(NoParameters, frozen=True):
    by: Annotated[statistics_groups.GroupBy, Meta(description="How to group the tasks.")] = (
        statistics_groups.GroupBy.AGENT
    )
    days: Annotated[int, Meta(ge=1, le=3660, description="The past days to look at.")] = 30


Names = Annotated[str, Meta(description="Names, separated by commas.")]


class Forecast(NoParameters, frozen=True):
    operations: Names = ""
    not_operations: Names = ""
    tags: Names = ""
    not_tags: Names = ""
    slots: Annotated[
        int, Meta(ge=0, le=1000, description="With this many slots; 0: those of the board.")
    ] = 0
    count: Annotated[
        int, Meta(ge=0, le=MAX_INTEGER, description="Until this many have finished; 0: all.")
    ] = 0
    hours: Annotated[
        float, Meta(ge=0, le=87_600, description="No task starts after these hours; 0: no limit.")
    ] = 0


class OneRun(NoParameters, frozen=True):
    run: RunName


class Moment(NoParameters, frozen=True):
    run: RunName
    seq: Annotated[int, Meta(ge=1, le=MAX_INTEGER, description="The number of the event.")]


class CommandTarget(NoParameters, frozen=True):
    run: Annotated[
        str, Meta(min_length=1, max_length=300, description="A run's id, a task's id, or all.")
    ]


class RunEvents(NoParameters, frozen=True):
    run: RunName
    after: After = 0
    limit: Limit = DEFAULT_LIMIT


class Tasks(NoParameters, frozen=True):
    status: Annotated[str, Meta(description="Only tasks with this status.")] = ""
    operation: Annotated[str, Meta(description="Only tasks of this operation.")] = ""
    after: Annotated[int, Meta(ge=0, le=MAX_INTEGER, description="Skip this many tasks.")] = 0
    limit: Limit = MAX_LIMIT


class OneTask(NoParameters, frozen=True):
    task: TaskName


class RoomEvents(NoParameters, frozen=True):
    thread: Thread
    after: After = 0
    limit: Limit = MAX_LIMIT


class OnePlan(NoParameters, frozen=True):
    run: PlanRun


class OneSprint(NoParameters, frozen=True):
    sprint: Annotated[str, Meta(min_length=1, max_length=64, description="Such as sprint3.")]


class PlanEvents(NoParameters, frozen=True):
    run: PlanRun
    after: After = 0
    limit: Limit = MAX_LIMIT


class Stream(NoParameters, frozen=True):
    run: Annotated[str, Meta(description="Only events of this run and its child runs.")] = ""
    kinds: Annotated[str, Meta(description="Only these kinds of events, separated by commas.")] = ""
    after: Annotated[str, Meta(description="The same as the header Last-Event-ID.")] = ""


class OneProcess(NoParameters, frozen=True):
    process: ProcessName
