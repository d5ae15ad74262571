"""The state of the server that all routes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns
    from allstop.app.project import Project
    from allstop.app.runs.rewind import Rewinder
    from allstop.app.supervisor import Supervisor
    from allstop.app.turns import TurnReader
    from allstop.server.access.credentials import OneTimeKeys
    from allstop.server.settings_reload import SettingsReloader
    from allstop.server.stream.broadcast import Broadcast
    from allstop.views.model_calls import CallTotals


class AppState(NamedTuple):
    project: Project
    supervisor: Supervisor
    live_runs: LiveRuns
    broadcast: Broadcast
    keys: OneTimeKeys
    settings: SettingsReloader
    rewinder: Rewinder
    turns: TurnReader
    call_totals: CallTotals
