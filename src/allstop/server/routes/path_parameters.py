"""What a request names in its address: each class has the parts of one kind of address."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from allstop.views.usage import By

PAGE = 200
MOST = 1000
LAST = 2**53 - 1
"""The largest number that every reader of JSON takes for what it is; no record is so long."""

After = Annotated[int, Meta(ge=0, le=LAST, description="Only what comes after this number.")]
Limit = Annotated[int, Meta(ge=1, le=MOST, description="No more than so many.")]
RunName = Annotated[
    str, Meta(min_length=1, max_length=300, description="A run's id, or a task's for its latest.")
]
TaskName = Annotated[str, Meta(min_length=1, max_length=64, description="A task's id.")]
Thread = Annotated[str, Meta(min_length=1, max_length=64, description="A room's thread.")]


class Nothing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Runs(Nothing, frozen=True):
    kind: Annotated[str, Meta(description="Only this kind, e.g. room or auto.")] = ""
    open: Annotated[bool, Meta(description="Only those that are not over.")] = False
    before: Annotated[str, Meta(description="Only those older than this run.")] = ""
    limit: Limit = PAGE


class Usage(Nothing, frozen=True):
    by: Annotated[By, Meta(description="What turns are put together by.")] = By.AGENT
    days: Annotated[int, Meta(ge=1, le=3660, description="Turns of the last so many days.")] = 30
    agent: Annotated[str, Meta(max_length=64, description="Only turns of this agent.")] = ""


class OneRun(Nothing, frozen=True):
    run: RunName


class Moment(Nothing, frozen=True):
    run: RunName
    seq: Annotated[
        int, Meta(ge=1, le=LAST, description="As it stood after this event of its record.")
    ]


class Commanded(Nothing, frozen=True):
    run: Annotated[
        str, Meta(min_length=1, max_length=300, description="A run's id, a task's, or all.")
    ]


class RunEvents(Nothing, frozen=True):
    run: RunName
    after: After = 0
    limit: Limit = PAGE


class Tasks(Nothing, frozen=True):
    status: Annotated[str, Meta(description="Only tasks with this status.")] = ""
    operation: Annotated[str, Meta(description="Only tasks of this operation.")] = ""
    after: Annotated[int, Meta(ge=0, le=LAST, description="Leave so many out.")] = 0
    limit: Limit = MOST


class OneTask(Nothing, frozen=True):
    task: TaskName


class RoomEvents(Nothing, frozen=True):
    thread: Thread
    after: After = 0
    limit: Limit = MOST


class Stream(Nothing, frozen=True):
    run: Annotated[str, Meta(description="Only of this run and of those below it.")] = ""
    kinds: Annotated[str, Meta(description="Only these kinds of events, with commas.")] = ""
    after: Annotated[str, Meta(description="In place of Last-Event-ID.")] = ""
