"""The table of the API's routes, used for dispatch and for the OpenAPI description."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Union

from allstop.app.actions import Body, Done
from allstop.app.board.overview import TaskView
from allstop.app.board.statistics import StatisticsReport
from allstop.app.call_list import CallReport
from allstop.app.runs.daily_budget import More, Today
from allstop.app.start_requests import SprintRequest, StartRequest
from allstop.app.stop.receipts import Stopped
from allstop.app.supervisor import RunKinds
from allstop.app.usage import UsageReport
from allstop.board.forecast import Forecast, NoForecast
from allstop.gate.receipt import GateReceipt
from allstop.plans.plan import Plan
from allstop.server import wire_types
from allstop.server.app_state import AppState
from allstop.server.routes import actions, board, fleet, history, path_parameters, runs
from allstop.views.evidence import Evidence
from allstop.views.merge_queue import MergeQueueView
from allstop.views.sprints import SprintView

BASE = "/api/v1"


class Route(NamedTuple):
    """A GET route."""

    path: str  # after BASE; names in braces are fields of `parameters`
    summary: str
    parameters: type[path_parameters.NoParameters]
    response: Any  # the type of the response
    handler: Callable[[AppState, Any], Awaitable[Any]]

    @property
    def error_statuses(self) -> tuple[int, ...]:
        """The statuses that only this route can have, besides those of all routes."""
        by_name = "{" in self.path or "before" in self.parameters.__struct_fields__
        return (404, 409) if by_name else ()


class WriteRoute(NamedTuple):
    """A POST route."""

    path: str
    summary: str
    parameters: type[path_parameters.NoParameters]
    body: Any  # the type of the request body
    response: Any
    handler: Callable[[AppState, Any, Any], Awaitable[Any]]

    @property
    def error_statuses(self) -> tuple[int, ...]:
        return (404,)


READ_ROUTES = (
    Route("/healthz", "The server's version, repository and state.", path_parameters.NoParameters, wire_types.Health, runs.health),
    Route("/hold", "Whether all runs are paused, frozen or stopped.", path_parameters.NoParameters, wire_types.HoldView, runs.hold),
    Route("/day", "The budget of all runs together: used and allowed today.", path_parameters.NoParameters, Today, runs.day),
    Route("/usage", "Turns, tokens and cost, by agent, model, task, run, day or sprint.", path_parameters.Usage, UsageReport, runs.usage),
    Route("/calls", "Model calls that went through the gateway, the newest first.", path_parameters.Calls, CallReport, runs.calls),
    Route("/notes", "Warnings about the settings and the repository.", path_parameters.NoParameters, wire_types.NoteList, runs.notes),
    Route("/runs", "Runs, the newest first.", path_parameters.Runs, wire_types.RunList, runs.runs),
    Route("/runs/{run}/events", "The events of a run.", path_parameters.RunEvents, wire_types.RecordList, runs.run_events),
    Route("/runs/{run}/at", "The state of a run after one of its events.", path_parameters.Moment, wire_types.MomentView, history.at),
    Route("/runs/{run}/replay", "Repeat every decision of a run and list the differences.", path_parameters.OneRun, wire_types.Replayed, history.replay),
    Route("/runs/{run}/diff", "The changes of a thread's work.", path_parameters.OneRun, wire_types.Diff, history.diff),
    Route("/runs/{run}/live", "The text of the running turn so far.", path_parameters.OneRun, wire_types.LiveList, history.live),
    Route("/runs/{run}/remarks", "The review comments on a thread's work.", path_parameters.OneRun, wire_types.ReviewList, history.remarks),
    Route("/runs/{run}", "A run with its child runs.", path_parameters.OneRun, wire_types.RunDetail, runs.run),
    Route("/receipts/{run}", "Every decision of a run with its reasons.", path_parameters.OneRun, wire_types.ReceiptList, runs.receipts),
    Route("/board", "The board and its tasks.", path_parameters.Tasks, wire_types.BoardPage, board.board),
    Route("/tasks/{task}/diff", "The changes of a task's work.", path_parameters.OneTask, wire_types.Diff, board.diff),
    Route("/tasks/{task}/receipt", "The receipt of a task's verified tree.", path_parameters.OneTask, GateReceipt, board.receipt),
    Route("/tasks/{task}/evidence", "The evidence for a decision about a task's work.", path_parameters.OneTask, Evidence, board.evidence),
    Route("/review", "The tasks that wait for a decision, the worst finding first.", path_parameters.NoParameters, wire_types.ReviewQueue, board.review),
    Route("/queue", "The merge queue: what is merged now, what waits, and what was thrown out.", path_parameters.NoParameters, MergeQueueView, board.merge_queue),
    Route("/flaky", "The tests that failed and passed on one tree.", path_parameters.NoParameters, wire_types.FlakyTests, board.flaky),
    Route("/tasks/{task}/remarks", "The review comments on a task's work.", path_parameters.OneTask, wire_types.ReviewList, board.remarks),
    Route("/tasks/{task}", "A task with its attempts.", path_parameters.OneTask, TaskView, board.task),
    Route("/stats", "Statistics of the board, by agent, model, tag, operation or day.", path_parameters.Stats, StatisticsReport, board.stats),
    Route("/forecast", "When the board's tasks end and what they cost, as P10, P50 and P90, or why there is no forecast.", path_parameters.Forecast, Forecast | NoForecast, board.forecast),
    Route("/sprints", "The sprints of the board, the newest first.", path_parameters.NoParameters, wire_types.SprintList, board.sprints),
    Route("/sprints/{sprint}/stats", "Statistics of a sprint.", path_parameters.OneSprint, StatisticsReport, board.sprint_stats),
    Route("/sprints/{sprint}", "A sprint with its tasks.", path_parameters.OneSprint, SprintView, board.sprint),
    Route("/checkpoints", "The checkpoints made before sprints, the newest first.", path_parameters.NoParameters, wire_types.CheckpointList, board.checkpoints),
    Route("/rooms", "Every room, the newest first.", path_parameters.NoParameters, wire_types.RoomList, runs.rooms),
    Route("/rooms/{thread}/events", "The messages of a room.", path_parameters.RoomEvents, wire_types.RoomEvents, runs.room_events),
    Route("/plans/{run}/events", "The events of a plan, with the names of document 004.", path_parameters.PlanEvents, wire_types.PlanEvents, runs.plan_events),
    Route("/plans/{run}", "A plan as it was started: its phases and steps; none for a run of another kind.", path_parameters.OnePlan, Plan, runs.plan),
    Route("/plans", "Every plan and its state, the newest first.", path_parameters.NoParameters, wire_types.PlanList, runs.plans),
    Route("/failures", "The reasons why a turn can fail: what happens by itself, and what a person can do.", path_parameters.NoParameters, wire_types.FailureList, runs.failures),
    Route("/inbox", "Everything that waits for a person, the oldest first.", path_parameters.NoParameters, wire_types.Inbox, runs.inbox),
    Route("/agents", "The configured agents, and whether they are ready.", path_parameters.NoParameters, wire_types.AgentList, runs.agents),
    Route("/accounts", "The accounts of the agents: until when they are held, and their windows.", path_parameters.NoParameters, wire_types.AccountList, runs.accounts),
    Route("/settings", "Every setting in force and where it comes from.", path_parameters.NoParameters, wire_types.SettingList, runs.settings),
    Route("/checkup", "The results of `allstop doctor`, and the settings that `allstop init` would write.", path_parameters.NoParameters, wire_types.Checkup, runs.checkup),
    Route("/machines", "The machines that work on this board: their slots, work, load and last sign of life.", path_parameters.NoParameters, wire_types.MachineList, fleet.machines),
)  # fmt: skip

WRITE_ROUTES = (
    WriteRoute("/runs", "Start a run.", path_parameters.NoParameters, StartRequest, wire_types.Opened, actions.open_run),
    WriteRoute("/runs/{run}/commands", "Send a command to a run, a task, or all runs.", path_parameters.CommandTarget, Body, Done, actions.command),
    WriteRoute("/forecast", "Forecast a sprint without starting it.", path_parameters.NoParameters, SprintRequest, Forecast | NoForecast, board.forecast_sprint),
    WriteRoute("/plans/check", "Check the text of a plan without starting it.", path_parameters.NoParameters, actions.PlanText, wire_types.PlanCheck, actions.check_plan),
    WriteRoute("/allstop", "Stop everything at once.", path_parameters.NoParameters, actions.StopOrder, Stopped, actions.allstop),
    WriteRoute("/day", "Raise today's budget of all runs.", path_parameters.NoParameters, More, Today, actions.allow_today),
    WriteRoute("/machines/{process}/drain", "Let a worker finish its work and take no more, or take work again.", path_parameters.OneProcess, fleet.DrainOrder, wire_types.MachineList, fleet.drain),
    WriteRoute("/settings", "Change one setting in the checkout's allstop.toml.", path_parameters.NoParameters, actions.SettingOrder, wire_types.SettingList, actions.change_setting),
    WriteRoute("/setup", "Write the first allstop.toml, or add the scripted agent to it.", path_parameters.NoParameters, actions.SetupOrder, wire_types.Checkup, actions.set_up),
    WriteRoute("/keys", "Create a sign-in link that works once.", path_parameters.NoParameters, actions.NoOrder, wire_types.Link, actions.new_link),
)  # fmt: skip


def body_of(route: WriteRoute, kinds: RunKinds) -> Any:
    """Return the type of a route's body; a start request is the union of all kinds' requests."""
    return Union[*kinds.requests()] if route.body is StartRequest else route.body
