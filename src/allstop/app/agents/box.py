"""The box of an agent, as [sandbox] and [limits] configure it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.ports import Box, Caps, Network
from allstop.settings.model import Network as NetworkSetting

if TYPE_CHECKING:
    from allstop.app.project import Project


def box(project: Project) -> Box:
    """A box without a home and a workspace."""
    settings = project.settings
    limits = settings.limits
    return Box(
        home="",
        read=tuple(os.path.expanduser(path) for path in settings.sandbox.read),  # noqa: PTH111
        network=Network.FULL if settings.sandbox.network is NetworkSetting.FULL else Network.NONE,
        caps=Caps(
            processes=limits.processes or Caps().processes,
            memory_mb=limits.memory_mb,
            file_mb=limits.file_mb,
        ),
    )


def own_box(project: Project, home: Path) -> Box:
    """A box with a home but no workspace."""
    project.make_folder()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return replace(box(project), home=str(home))
