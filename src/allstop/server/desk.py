"""What every answer is made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from allstop.app.house import House
    from allstop.app.rewinding import Rewinder
    from allstop.app.station import Station
    from allstop.app.usage import Turns
    from allstop.app.watching import Watcher
    from allstop.server.hub import Hub
    from allstop.server.keys import OneTimeKeys
    from allstop.server.upkeep import SettingsKeeper


class Desk(NamedTuple):
    house: House
    station: Station
    watcher: Watcher
    hub: Hub
    keys: OneTimeKeys
    settings: SettingsKeeper
    rewinder: Rewinder
    turns: Turns
