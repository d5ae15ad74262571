"""Every address of the API: the one table that requests are answered by and described from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Union

from allstop.app.actions import Action, Done
from allstop.app.board.overview import TaskView
from allstop.app.runs.daily_budget import More, Today
from allstop.app.start_requests import StartRequest
from allstop.app.stop.allstop import Stopped
from allstop.app.supervisor import RunKinds
from allstop.app.usage import UsageReport
from allstop.board.statistics import Statistics
from allstop.server import wire_types
from allstop.server.app_state import Desk
from allstop.server.routes import actions, board, history, path_parameters, runs

BASE = "/api/v1"


class Route(NamedTuple):
    method: str
    path: str  # after BASE; what stands in braces is a field of `takes`
    summary: str
    takes: type[path_parameters.Nothing]
    answers: Any  # the type of its answer
    do: Callable[[Desk, Any], Awaitable[Any]]

    @property
    def refuses(self) -> tuple[int, ...]:
        """With which numbers, beside those that every answer can have."""
        return (404, 409) if "{" in self.path or "before" in self.takes.__struct_fields__ else ()


class Change(NamedTuple):
    path: str
    summary: str
    takes: type[path_parameters.Nothing]
    body: Any  # the type of what is sent
    answers: Any
    do: Callable[[Desk, Any, Any], Awaitable[Any]]

    @property
    def refuses(self) -> tuple[int, ...]:
        return (404,)


def _get(
    path: str,
    summary: str,
    takes: type[path_parameters.Nothing],
    answers: Any,
    do: Callable[[Desk, Any], Awaitable[Any]],
) -> Route:
    return Route("GET", path, summary, takes, answers, do)


READING = (
    _get("/healthz", "That it is there, and what it serves.", path_parameters.Nothing, wire_types.Health, runs.health),
    _get("/hold", "What has been said to all runs at once.", path_parameters.Nothing, wire_types.HoldView, runs.hold),
    _get("/day", "What all runs have used today, and what they may use.", path_parameters.Nothing, Today, runs.day),
    _get("/usage", "What was used, by agent, model, task, run or day.", path_parameters.Usage, UsageReport, runs.usage),
    _get("/notes", "What people should know before work begins.", path_parameters.Nothing, wire_types.NoteList, runs.notes),
    _get("/runs", "Runs, the newest first.", path_parameters.Runs, wire_types.RunList, runs.runs),
    _get("/runs/{run}/events", "The record of a run.", path_parameters.RunEvents, wire_types.RecordList, runs.run_events),
    _get("/runs/{run}/at", "A run as it stood at a moment of its record.", path_parameters.Moment, wire_types.MomentView, history.at),
    _get("/runs/{run}/replay", "Every decision of a run made again from its record.", path_parameters.OneRun, wire_types.Replayed, history.replay),
    _get("/runs/{run}/diff", "What a thread's work changes.", path_parameters.OneRun, wire_types.Diff, history.diff),
    _get("/runs/{run}/live", "What has been said in the turn that is under way.", path_parameters.OneRun, wire_types.LiveList, history.live),
    _get("/runs/{run}/remarks", "What people said of lines of a thread's work.", path_parameters.OneRun, wire_types.ReviewList, history.remarks),
    _get("/runs/{run}", "Where a run stands, and what is below it.", path_parameters.OneRun, wire_types.RunDetail, runs.run),
    _get("/receipts/{run}", "Every decision of a run, and why.", path_parameters.OneRun, wire_types.ReceiptList, runs.receipts),
    _get("/board", "The board and its tasks.", path_parameters.Tasks, wire_types.BoardPage, board.board),
    _get("/tasks/{task}/diff", "What a task's work changes.", path_parameters.OneTask, wire_types.Diff, board.diff),
    _get("/tasks/{task}/remarks", "What people said of lines of a task's work.", path_parameters.OneTask, wire_types.ReviewList, board.remarks),
    _get("/tasks/{task}", "Everything known of a task.", path_parameters.OneTask, TaskView, board.task),
    _get("/stats", "What the board has done, in numbers.", path_parameters.Nothing, Statistics, board.stats),
    _get("/rooms", "Every room, the newest first.", path_parameters.Nothing, wire_types.RoomList, runs.rooms),
    _get("/rooms/{thread}/events", "What was said in a room.", path_parameters.RoomEvents, wire_types.RoomEvents, runs.room_events),
    _get("/inbox", "What waits for a person, the oldest first.", path_parameters.Nothing, wire_types.Inbox, runs.inbox),
    _get("/agents", "The configured agents, and whether they are ready.", path_parameters.Nothing, wire_types.AgentList, runs.agents),
    _get("/settings", "Every setting in force and where it comes from.", path_parameters.Nothing, wire_types.SettingList, runs.settings),
    _get("/checkup", "What is here to work with, found out by trying.", path_parameters.Nothing, wire_types.Checkup, runs.checkup),
    _get("/machines", "Who drives runs of this store.", path_parameters.Nothing, wire_types.MachineList, runs.machines),
)  # fmt: skip

CHANGING = (
    Change("/runs", "Start a run.", path_parameters.Nothing, StartRequest, wire_types.Opened, actions.open_run),
    Change("/runs/{run}/commands", "Tell a run, a task, or all of them to do something.", path_parameters.Commanded, Action, Done, actions.command),
    Change("/allstop", "Everything ends now.", path_parameters.Nothing, actions.StopOrder, Stopped, actions.allstop),
    Change("/day", "Allow all runs more, until midnight.", path_parameters.Nothing, More, Today, actions.allow_today),
    Change("/settings", "Change one setting in the checkout's allstop.toml.", path_parameters.Nothing, actions.SettingOrder, wire_types.SettingList, actions.change_setting),
    Change("/setup", "Write the first allstop.toml, or add the scripted agent to it.", path_parameters.Nothing, actions.SetupOrder, wire_types.Checkup, actions.set_up),
    Change("/keys", "A link that lets a browser in, once.", path_parameters.Nothing, actions.NoOrder, wire_types.Link, actions.new_link),
)  # fmt: skip


def body_of(route: Change, kinds: RunKinds) -> Any:
    """The type of a route's body: a start request is one of those that the kinds have."""
    return Union[*kinds.requests()] if route.body is StartRequest else route.body
