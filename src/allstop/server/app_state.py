"""What every answer is made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from allstop.app.live_runs import Watcher
    from allstop.app.project import House
    from allstop.app.runs.rewind import Rewinder
    from allstop.app.supervisor import Station
    from allstop.app.usage import Turns
    from allstop.server.access.credentials import OneTimeKeys
    from allstop.server.settings_reload import SettingsKeeper
    from allstop.server.stream.broadcast import Hub


class Desk(NamedTuple):
    house: House
    station: Station
    watcher: Watcher
    hub: Hub
    keys: OneTimeKeys
    settings: SettingsKeeper
    rewinder: Rewinder
    turns: Turns
