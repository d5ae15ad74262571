"""Notification channels by the settings, and a test of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import anyio
from msgspec import Struct

from allstop.adapters.notify import Bell, Service, Webhook, deliver, find_desktop
from allstop.adapters.notify.apprise_services import MISSING, is_installed
from allstop.core.ids import HELM
from allstop.ports import Channel
from allstop.views import quiet_hours as quiet
from allstop.views.alerts import Alert, Level
from allstop.views.quiet_hours import QuietHours

if TYPE_CHECKING:
    from allstop.app.project import Project


def channels(project: Project) -> list[Channel]:
    """The channels that the settings and this machine allow."""
    notify = project.settings.notify
    found: list[Channel] = []
    terminal = sys.__stdout__  # sys.stdout may be a drawn screen
    if notify.sounds and terminal is not None and terminal.isatty():
        found.append(Bell(terminal))
    desktop = find_desktop(project.environment.variables)
    if notify.desktop and desktop is not None:
        found.append(desktop)
    for url in notify.urls:
        kind = Webhook if url.lower().startswith(("http://", "https://")) else Service
        found.append(kind(url, private=notify.private))
    return found


class CurrentChannels:
    """Returns the channels by the settings in force; the same list until [notify] changes."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._notify = project.settings.notify
        self._found = channels(project)

    def __call__(self) -> list[Channel]:
        notify = self._project.settings.notify
        if notify != self._notify:
            self._notify, self._found = notify, channels(self._project)
        return self._found


def quiet_hours(project: Project) -> QuietHours | None:
    """The quiet hours by the settings in force."""
    notify = project.settings.notify
    if notify.quiet is None:
        return None
    return quiet.parse(notify.quiet, ZoneInfo(notify.zone) if notify.zone else None)


def notes(project: Project) -> list[str]:
    """A note if a configured channel needs a package that is not installed."""
    if is_installed() or not any(isinstance(each, Service) for each in channels(project)):
        return []
    return [MISSING]


class ChannelTrial(Struct, frozen=True, kw_only=True):
    name: str
    why: str  # the message was not delivered; "" if it was


async def try_channels(project: Project) -> list[ChannelTrial]:
    """Send a test message to all channels at once."""
    alert = Alert(
        level=Level.DONE,
        title="Allstop can reach you",
        text="This is what `allstop notify test` sends.",
        run=HELM,
        at=project.clock.now(),
    )
    found = channels(project)
    tried: dict[int, ChannelTrial] = {}

    async def attempt(index: int, channel: Channel) -> None:
        tried[index] = ChannelTrial(name=channel.name, why=await deliver(channel, alert))

    async with anyio.create_task_group() as group:
        for index, channel in enumerate(found):
            group.start_soon(attempt, index, channel)
    return [tried[index] for index in sorted(tried)]
