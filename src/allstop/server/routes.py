"""Every address of the API: the one table that requests are answered by and described from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from allstop.app.doing import Deed, Done
from allstop.app.opening import Order
from allstop.app.overview import TaskView
from allstop.app.stopping import Stopped
from allstop.app.today import More, Today
from allstop.app.usage import UsageReport
from allstop.core.statistics import Statistics
from allstop.server import asked, changing, reading, reading_back, reading_board, shapes
from allstop.server.desk import Desk

BASE = "/api/v1"


class Route(NamedTuple):
    method: str
    path: str  # after BASE; what stands in braces is a field of `takes`
    summary: str
    takes: type[asked.Nothing]
    answers: Any  # the type of its answer
    do: Callable[[Desk, Any], Awaitable[Any]]

    @property
    def refuses(self) -> tuple[int, ...]:
        """With which numbers, beside those that every answer can have."""
        return (404, 409) if "{" in self.path or "before" in self.takes.__struct_fields__ else ()


class Change(NamedTuple):
    path: str
    summary: str
    takes: type[asked.Nothing]
    body: Any  # the type of what is sent
    answers: Any
    do: Callable[[Desk, Any, Any], Awaitable[Any]]

    @property
    def refuses(self) -> tuple[int, ...]:
        return (404,)


def _get(
    path: str,
    summary: str,
    takes: type[asked.Nothing],
    answers: Any,
    do: Callable[[Desk, Any], Awaitable[Any]],
) -> Route:
    return Route("GET", path, summary, takes, answers, do)


READING = (
    _get("/healthz", "That it is there, and what it serves.", asked.Nothing, shapes.Health, reading.health),
    _get("/hold", "What has been said to all runs at once.", asked.Nothing, shapes.HoldView, reading.hold),
    _get("/day", "What all runs have used today, and what they may use.", asked.Nothing, Today, reading.day),
    _get("/usage", "What was used, by agent, model, task, run or day.", asked.Usage, UsageReport, reading.usage),
    _get("/notes", "What people should know before work begins.", asked.Nothing, shapes.NoteList, reading.notes),
    _get("/runs", "Runs, the newest first.", asked.Runs, shapes.RunList, reading.runs),
    _get("/runs/{run}/events", "The record of a run.", asked.RunEvents, shapes.RecordList, reading.run_events),
    _get("/runs/{run}/at", "A run as it stood at a moment of its record.", asked.Moment, shapes.MomentView, reading_back.at),
    _get("/runs/{run}/replay", "Every decision of a run made again from its record.", asked.OneRun, shapes.Replayed, reading_back.replay),
    _get("/runs/{run}/diff", "What a thread's work changes.", asked.OneRun, shapes.Diff, reading_back.diff),
    _get("/runs/{run}/live", "What has been said in the turn that is under way.", asked.OneRun, shapes.LiveList, reading_back.live),
    _get("/runs/{run}/remarks", "What people said of lines of a thread's work.", asked.OneRun, shapes.ReviewList, reading_back.remarks),
    _get("/runs/{run}", "Where a run stands, and what is below it.", asked.OneRun, shapes.RunDetail, reading.run),
    _get("/receipts/{run}", "Every decision of a run, and why.", asked.OneRun, shapes.ReceiptList, reading.receipts),
    _get("/board", "The board and its tasks.", asked.Tasks, shapes.BoardPage, reading_board.board),
    _get("/tasks/{task}/diff", "What a task's work changes.", asked.OneTask, shapes.Diff, reading_board.diff),
    _get("/tasks/{task}/remarks", "What people said of lines of a task's work.", asked.OneTask, shapes.ReviewList, reading_board.remarks),
    _get("/tasks/{task}", "Everything known of a task.", asked.OneTask, TaskView, reading_board.task),
    _get("/stats", "What the board has done, in numbers.", asked.Nothing, Statistics, reading_board.stats),
    _get("/rooms", "Every room, the newest first.", asked.Nothing, shapes.RoomList, reading.rooms),
    _get("/rooms/{thread}/events", "What was said in a room.", asked.RoomEvents, shapes.RoomEvents, reading.room_events),
    _get("/inbox", "What waits for a person, the oldest first.", asked.Nothing, shapes.Inbox, reading.inbox),
    _get("/agents", "The configured agents, and whether they are ready.", asked.Nothing, shapes.AgentList, reading.agents),
    _get("/settings", "Every setting in force and where it comes from.", asked.Nothing, shapes.SettingList, reading.settings),
    _get("/checkup", "What is here to work with, found out by trying.", asked.Nothing, shapes.Checkup, reading.checkup),
    _get("/machines", "Who drives runs of this store.", asked.Nothing, shapes.MachineList, reading.machines),
)  # fmt: skip

CHANGING = (
    Change("/runs", "Begin work on the board, a task, a talk, or a thread of full auto.", asked.Nothing, Order, shapes.Opened, changing.open_run),
    Change("/runs/{run}/commands", "Tell a run, a task, or all of them to do something.", asked.Commanded, Deed, Done, changing.command),
    Change("/allstop", "Everything ends now.", asked.Nothing, changing.StopOrder, Stopped, changing.allstop),
    Change("/day", "Allow all runs more, until midnight.", asked.Nothing, More, Today, changing.allow_today),
    Change("/settings", "Change one setting in the checkout's allstop.toml.", asked.Nothing, changing.SettingOrder, shapes.SettingList, changing.change_setting),
    Change("/setup", "Write the first allstop.toml, or add the scripted agent to it.", asked.Nothing, changing.SetupOrder, shapes.Checkup, changing.set_up),
    Change("/keys", "A link that lets a browser in, once.", asked.Nothing, changing.NoOrder, shapes.Link, changing.new_link),
)  # fmt: skip
