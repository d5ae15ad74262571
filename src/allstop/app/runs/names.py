"""Names of new runs: the kind and a number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from allstop.core.ids import RunId, label_of
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.app.project import Project


async def open_under_free_name(
    project: Project, kind: str, opened: Callable[[RunId], Awaitable[bool]]
) -> RunId:
    """Open a run under the first free name; retries if another process takes that name first."""
    while True:
        name = await _free_name(project, kind)
        with suppress(HeldError):
            if await opened(name):
                return name


async def _free_name(project: Project, kind: str) -> RunId:
    """The kind with the first number that no run has: plan1, plan2 …"""
    heads = await project.journal.heads()
    taken = {head.run for head in heads} | {label_of(head.run) for head in heads}
    taken |= set(project.journal.holders())
    number = 1
    while f"{kind}{number}" in taken:
        number += 1
    return RunId(f"{kind}{number}")
