"""Who can be told here, and whether that works."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import anyio
from msgspec import Struct

from allstop.adapters.notify import Bell, Service, Webhook, deliver, find_desktop
from allstop.adapters.notify.apprise_services import MISSING, is_installed
from allstop.core.ids import HELM
from allstop.ports import Teller
from allstop.views import quiet_hours as quiet
from allstop.views.alerts import Alert, Level
from allstop.views.quiet_hours import Quiet

if TYPE_CHECKING:
    from allstop.app.project import House


def tellers(house: House) -> list[Teller]:
    """Everything that can be told here."""
    notify = house.settings.notify
    found: list[Teller] = []
    terminal = sys.__stdout__  # a screen that is drawn stands before the other one
    if notify.sounds and terminal is not None and terminal.isatty():
        found.append(Bell(terminal))
    desktop = find_desktop(house.environment.variables)
    if notify.desktop and desktop is not None:
        found.append(desktop)
    for url in notify.urls:
        kind = Webhook if url.lower().startswith(("http://", "https://")) else Service
        found.append(kind(url, private=notify.private))
    return found


class Roster:
    """Everybody who can be told here by the settings in force: the same list until these change."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._notify = house.settings.notify
        self._found = tellers(house)

    def __call__(self) -> list[Teller]:
        notify = self._house.settings.notify
        if notify != self._notify:
            self._notify, self._found = notify, tellers(self._house)
        return self._found


def quiet_hours(house: House) -> Quiet | None:
    """As the settings have them now."""
    notify = house.settings.notify
    if notify.quiet is None:
        return None
    return quiet.read(notify.quiet, ZoneInfo(notify.zone) if notify.zone else None)


def notes(house: House) -> list[str]:
    """What should be known before anything is to be told."""
    if is_installed() or not any(isinstance(each, Service) for each in tellers(house)):
        return []
    return [MISSING]


class Tried(Struct, frozen=True, kw_only=True):
    name: str
    why: str  # it could not be told; "" where it was


async def try_tellers(house: House) -> list[Tried]:
    """One message to each, all at once."""
    alert = Alert(
        level=Level.DONE,
        title="Allstop can reach you",
        text="This is what `allstop notify test` sends.",
        run=HELM,
        at=house.clock.now(),
    )
    found = tellers(house)
    tried: dict[int, Tried] = {}

    async def attempt(place: int, teller: Teller) -> None:
        tried[place] = Tried(name=teller.name, why=await deliver(teller, alert))

    async with anyio.create_task_group() as group:
        for place, teller in enumerate(found):
            group.start_soon(attempt, place, teller)
    return [tried[place] for place in sorted(tried)]
